/**
 * Queues of jobs without a concurrency key. Mostly a job is behind all others: then it stands in a list. A sorted set
 * has the others: jobs with a priority, back in their old place, or of a type with keys. Nothing is taken out of the
 * middle of the list: an entry names the place of its job, and a row tells whether the job still has it.
 */
import { figureAt } from '../figures.ts'
import { timeChars } from '../grown.ts'
import { at, claimableState, type LuaScript } from './lua.ts'

/** Where the number stands in a row that grows: behind mark, time, first revision and a zero byte. */
export const seqAt = timeChars + 4
/** Entries that are looked at to find the first one. */
const lookMax = 200

export const queuesLua = `
local function listOf(type) return P .. 'list:' .. type end
-- Entries of lists are written together.
local function push(type, place, id)
  local list = pushes[type] or {}
  list[#list + 1] = { tonumber(place), id }
  pushes[type] = list
end
local function pushAll(type, entries)
  local ofType = figuresOf(type)
  setFigure(type, ${figureAt.listed}, ofType[${figureAt.listed}] + #entries)
  each('RPUSH', listOf(type), entries)
end
local function writePushes()
  for type, list in pairs(pushes) do
    if #list > 1 then table.sort(list, function(a, b) return a[1] < b[1] end) end
    local entries = {}
    for i, entry in ipairs(list) do entries[i] = int(entry[1]) .. ' ' .. entry[2] end
    pushAll(type, entries)
  end
  pushes = {}
end

local function placeOf(row) return row[${at.place}] ~= '' and row[${at.place}] or row[${at.seq}] end
-- Is a queued job behind all others of its queue when it comes there?
local function isLast(row)
  return row[${at.priority}] == '' and placeOf(row) == (row[${at.last}] ~= '' and row[${at.last}] or row[${at.seq}])
end

-- Does a row that grows, and has not grown yet, stand at this place?
local function isFreshAt(text, place) return text:find(place, ${seqAt}, true) == ${seqAt} and text:byte(${seqAt} + #place) == 0 end

-- Is the job of a row queued at this place?
local function isQueuedAt(text, place)
  if not text then return false end
  -- What cannot be read is met by the claim.
  if text:byte() == 43 and text:byte(-1) ~= 1 then return isFreshAt(text, place) or not text:find('^%d+%z', ${seqAt}) end
  local row = parse(text)
  return not row or row[${at.state}] == '${claimableState}' and placeOf(row) == place
end

local function parseEntry(entry)
  local space = entry:find(' ', 1, true)
  return entry:sub(1, space - 1), entry:sub(space + 1)
end

local function popList(type, most)
  local ofType = figuresOf(type)
  if ofType[${figureAt.listed}] <= 0 or most <= 0 then return {} end
  local popped = call('LPOP', listOf(type), int(most)) or {}
  -- A list that is empty is there no more.
  setFigure(type, ${figureAt.listed}, #popped < most and 0 or math.max(0, ofType[${figureAt.listed}] - #popped))
  return popped
end

-- The entries at the head of a list go to the sorted set: what a claim by keys may take of it.
local function sortHead(type)
  if figuresOf(type)[${figureAt.listed}] <= 0 then return end
  writePushes()
  local ids, places, members = {}, {}, {}
  for i, entry in ipairs(popList(type, ${lookMax})) do places[i], ids[i] = parseEntry(entry) end
  for i, text in ipairs(values(JOBS, ids)) do
    if isQueuedAt(text, places[i]) then
      members[#members + 1] = '0'
      members[#members + 1] = pad(places[i]) .. ids[i]
    end
  end
  each('ZADD', P .. 'queue:' .. type, members)
  setFigure(type, ${figureAt.sorted}, 1)
end

-- The place and the id of the first job of a list, without the entries before it.
local function firstOfList(type)
  for _ = 1, ${lookMax} do
    if figuresOf(type)[${figureAt.listed}] <= 0 then return nil end
    local entry = call('LINDEX', listOf(type), 0)
    if not entry then
      setFigure(type, ${figureAt.listed}, 0)
      return nil
    end
    local place, id = parseEntry(entry)
    if isQueuedAt(call('HGET', JOBS, id), place) then return place, id end
    popList(type, 1)
  end
  return nil
end
`

/** Finds the first queued job of types. Answers its id for each; '' for none. */
export const firstScript: LuaScript = {
  typed: true,
  definitions: '',
  call: `
local found = {}
for _, type in ipairs(split(ARGV[4])) do
  local best, id = nil, ''
  local place, listed = firstOfList(type)
  if place then best, id = rank('0', pad(place)), listed end
  local first = call('ZRANGE', P .. 'queue:' .. type, 0, 0, 'WITHSCORES')
  if #first > 0 then
    local own = rank(first[2], first[1])
    if not best or own < best then best, id = own, first[1]:sub(17) end
  end
  local head = call('ZRANGE', P .. 'firsts:' .. type, 0, 0)[1]
  if head and (not best or head:sub(1, #best) < best) then
    local key = head:sub(27)
    local member = key ~= '' and call('ZRANGE', queueOf(type, key), 0, 0)[1]
    if member then id = member:sub(17) end
  end
  found[#found + 1] = id
end
`,
  answer: 'found',
}
