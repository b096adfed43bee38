/**
 * Stores jobs of which each is new, has a free key, and finds room; nothing if any does not: then the core decides.
 * Answers the time, the wake-ups, the number before the first transition and the time of the enqueue; or the time and
 * `generic`.
 */
import { enqueueCounted } from '../../../core/activity.ts'
import { bornReady, bornTimed } from '../../../core/insert.ts'
import { figureAt } from '../figures.ts'
import { grownMark } from '../grown.ts'
import { dataLetters, flagLetters, inlineLetters } from '../row-text.ts'
import { at, type LuaScript } from './lua.ts'

/**
 * What a job passes: id, input, and, unless it is as the one before it, more: the index of its row among those that
 * jobs have in common, a space, when it is due, the name of its unique key, meta; a line break before the last two.
 */
const insertArgs = 3

export const insertScript: LuaScript = {
  stores: true,
  typed: true,
  definitions: `
local terms
local function isNone(list) for _, value in ipairs(list) do if value then return false end end return true end
local function hasRoom()
  if terms.room and backlog() > terms.room then return false end
  for _, limit in ipairs(terms.queueRooms or {}) do if backlog(limit[1]) > limit[2] then return false end end
  return true
end

-- When a job is due, if that is later; as an amount of time it begins with a sign.
local function timeOf(text)
  if text == '' then return nil end
  local due = math.ceil(text:sub(1, 1) == '+' and nowMs + tonumber(text:sub(2)) or tonumber(text))
  return due > nowMs and int(due) or nil
end

-- The list of members and scores of a queue in which jobs without a key stand; nil if the row is of a job with one, or
-- keys share the claims. Rows of such jobs grow, unless something of them is kept apart.
local function plainQueue(row)
  local type, priority, has = row[${at.type}], row[${at.priority}], row[${at.has}]
  local share = shareOf(type)
  if row[${at.concurrencyKey}] ~= '' or share.on or share.clock or figuresOf(type)[${figureAt.limited}] == 1 then return nil end
  local grows = has == '' or has == '${flagLetters.pinned}'
  return { key = P .. 'queue:' .. type, score = negative(priority ~= '' and priority or '0'), isLast = priority == '', grows = grows, count = 0 }
end

`,
  call: `
terms = cjson.decode(ARGV[5])
local common, base, ids = tonumber(ARGV[6]), seqNow, {}
local numbered, rowOf, dueOf, names, holders, metas = {}, {}, {}, {}, {}, {}
for i = 7 + common, #ARGV, ${insertArgs} do
  local id, more, n = ARGV[i], ARGV[i + 2], #numbered
  numbered[n + 1] = int(base + n / 2 + 1)
  numbered[n + 2] = id
  ids[#ids + 1] = id
  if more ~= '' then
    local which, due, name, meta = more:match('^(%d+) (.-)\\n(.-)\\n(.*)$')
    rowOf[n + 2], dueOf[n + 2] = tonumber(which), timeOf(due)
    if name ~= '' then
      names[#names + 1] = name
      holders[#holders + 1] = name
      holders[#holders + 1] = id
    end
    if meta ~= '' then
      metas[#metas + 1] = id
      metas[#metas + 1] = meta
    end
  end
end
local given = #numbered / 2
if not (isNone(values(P .. 'holders', names)) and isNone(values(P .. 'predecessors', names)) and hasRoom() and isNone(values(JOBS, ids))) then
  return { stamp(), 'generic' }
end

advance(given)
local READY = ',' .. now .. ',"ENQUEUE",null,"${bornReady}",0]'
local LATER = ',' .. now .. ',"ENQUEUE",null,"${bornTimed}",0]'
-- What jobs have in common: the row from its attempt on, the parsed row, in which each has what is its own in turn, how
-- many there are, and the list of the queue of those that differ in nothing but their number and id.
local texts, parsed, amounts, queued = {}, {}, {}, {}
for i = 1, common do
  texts[i] = '\\0' .. ARGV[6 + i]
  parsed[i] = parse('1\\0\\0\\0\\0\\0\\0${bornReady}' .. texts[i])
  amounts[i] = 0
  queued[i] = plainQueue(parsed[i])
end
-- Entries of lists, by type.
local lists = {}
local rows, inputs = {}, {}
local AT, NOW = '\\0' .. now .. '\\0\\0\\0', '\\0' .. now .. '\\0\\0\\0\\0${bornReady}'
local GROWS = '${grownMark}' .. pad(now) .. '1\\0'
-- Transitions that follow each other and differ in nothing but the job.
local same, sameFrom, sameRow, sameText = {}, nil, nil, nil
local function logSame()
  if #same > 0 then logAll(same, sameRow[${at.type}], sameFrom, sameText) end
  same = {}
end

local which, first = nil, 5 + common
for i = 2, 2 * given, 2 do
  local seq, id, due, input = numbered[i - 1], numbered[i], dueOf[i], ARGV[first + ${insertArgs} / 2 * i]
  which = rowOf[i] or which
  local row, queue = parsed[which], queued[which]
  amounts[which] = amounts[which] + 1
  rows[i - 1] = id
  local text = due and LATER or READY
  if row ~= sameRow or text ~= sameText then
    logSame()
    sameFrom, sameRow, sameText = base + i / 2, row, text
  end
  same[#same + 1] = id
  if input ~= '' and row[${at.has}]:find('${dataLetters.input}', 1, true) then
    inputs[#inputs + 1] = id
    inputs[#inputs + 1] = input
    input = ''
  elseif input ~= '' then
    input = '\\0${inlineLetters.input}' .. input
  end
  if queue and not due then
    local n = #queue
    queue.count = queue.count + 1
    if queue.isLast then
      local list = lists[row[${at.type}]] or {}
      list[#list + 1] = seq .. ' ' .. id
      lists[row[${at.type}]] = list
    else
      queue[n + 1] = queue.score
      queue[n + 2] = pad(seq) .. id
    end
    rows[i] = (queue.grows and GROWS .. seq .. '\\0\\0\\0\\0\\0${bornReady}' or '1\\0' .. seq .. NOW) .. texts[which] .. input
  else
    local wakeAt, state = due or '', due and '${bornTimed}' or '${bornReady}'
    row[${at.seq}], row[${at.wakeAt}], row[${at.state}] = seq, wakeAt, state
    index(id, row, 1)
    rows[i] = '1\\0' .. seq .. AT .. wakeAt .. '\\0' .. state .. texts[which] .. input
  end
end
logSame()
addBlock(P .. 'all', base + 1, '', ids)
for i, amount in ipairs(amounts) do
  local type, queue = parsed[i][${at.type}], queued[i]
  tally(type, ${enqueueCounted.figure}, amount)
  if queue and queue.count > 0 then
    ready[type] = true
    count('${bornReady}', type, queue.count)
    if not queue.isLast then
      each('ZADD', queue.key, queue)
      setFigure(type, ${figureAt.sorted}, 1)
    end
  end
end
for type, list in pairs(lists) do pushAll(type, list) end
each('HSET', JOBS, rows)
each('HSET', P .. 'data:input', inputs)
each('HSET', P .. 'data:meta', metas)
each('HSET', P .. 'holders', holders)
`,
  answer: 'int(base), now',
}
