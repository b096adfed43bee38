/**
 * Rebuilds from the rows what follows from them: counts, queues, concurrency keys, due times, leases, ended jobs,
 * machines, failing jobs, children, holders of unique keys, the list of all, and the number of the last transition.
 * Rows and payloads that cannot be read are set aside; those that were and can be read are brought back. One script, so
 * that nothing is written meanwhile: it holds up the server. Answers how many jobs there are, the ids that were brought
 * back, those that are aside, and how many counts were wrong.
 */
import { bornTimed } from '../../../core/insert.ts'
import { figureAt } from '../figures.ts'
import { finished } from '../grown.ts'
import { flagLetters, inlineLetters } from '../row-text.ts'
import { at, fieldsOfLetters, tail, type LuaScript } from './lua.ts'
import { noteClaim } from './figures.ts'
import { restLua } from './rest.ts'
import { uniqueKeysLua } from './unique-keys.ts'

/** What is made anew. */
const singles = [
  'all',
  'tidied',
  'by-term',
  'by-term-upto',
  'by-term-tidied',
  'due',
  'leases',
  'claims',
  'leased-by',
  'unsupported',
]
/** What is made anew, by the part of its name before the colon: a type, an id, a state or a tag follows. */
const families = [
  'queue',
  'list',
  'group',
  'head',
  'heads',
  'firsts',
  'capped-keys',
  'limited',
  'unarranged',
  'unarranged-keys',
  'held',
  'ended',
  'in-order',
  'failing',
  'children',
  'machine-state',
  'machine-tag',
]

/** A set of names. */
const setOf = (names: readonly string[]): string => `{${names.map((name) => `['${name}']=true`).join(',')}}`

export const repairScript: LuaScript = {
  definitions: `
${restLua}${uniqueKeysLua}
local FIELDS = ${fieldsOfLetters}
local SINGLES, FAMILIES = ${setOf(singles)}, ${setOf(families)}
local function isJson(text) return (pcall(cjson.decode, text)) end
local function areJson(text)
  for line in text:gmatch('[^\\n]+') do if not isJson(line) then return false end end
  return true
end

local function areTexts(list)
  for _, text in ipairs(list) do if type(text) ~= 'string' then return false end end
  return true
end

-- The rare fields of a row; nil if they cannot be read.
local function rareFields(row)
  local fields = restOf(row)
  if not fields then return nil end
  local key, parent = fields.key, fields.parent or { id = '' }
  local states, tags = fields.machineStates or {}, fields.machineTags or {}
  if key ~= nil and type(key) ~= 'string' then return nil end
  if type(parent) ~= 'table' or type(parent.id) ~= 'string' then return nil end
  if type(states) ~= 'table' or type(tags) ~= 'table' or not (areTexts(states) and areTexts(tags)) then return nil end
  return { key = key, parent = parent.id, states = states, tags = tags }
end

-- The row of a job of which all can be read, and its rare fields.
local function readable(id, text)
  local row = parse(text)
  local fields = row and rareFields(row)
  if not fields then return nil end
  for _, letter in ipairs({ '${inlineLetters.input}', '${inlineLetters.output}' }) do
    local value = row[${tail}]:match('%z' .. letter .. '(%Z*)')
    if value and not isJson(value) then return nil end
  end
  for letter, field in pairs(FIELDS) do
    local value = row[${at.has}]:find(letter, 1, true) and call('HGET', P .. 'data:' .. field, id)
    if value and not areJson(value) then return nil end
  end
  return row, fields
end

-- The numbers of jobs by type and state, which begin at 0 again; what else is known of types by their figures follows
-- from what is kept of them.
local function clearFigures()
  local before = {}
  figuresOf('')
  local types = {}
  for _, type in ipairs(call('HKEYS', P .. 'figures')) do if type ~= SEQ then types[#types + 1] = type end end
  loadFigures(types)
  for type, list in pairs(figures) do
    before[type] = { unpack(list) }
    for _, place in pairs(COUNT_AT) do list[place] = 0 end
    list[${figureAt.told}], list[${figureAt.listed}], changed[type] = 0, 0, true
  end
  local paused = call('HGETALL', P .. 'paused')
  for i = 1, #paused, 2 do setFigure(paused[i], ${figureAt.paused}, tonumber(paused[i + 1])) end
  for _, key in ipairs({ 'terms', 'shares' }) do
    for _, type in ipairs(call('HKEYS', P .. key)) do setFigure(type, ${figureAt.limited}, 1) end
  end
  setFigure('', ${figureAt.waits}, 1)
  return before
end

-- How many of the numbers were wrong.
local function wrong(before)
  local n = 0
  for type, list in pairs(figures) do
    for _, place in pairs(COUNT_AT) do if list[place] ~= (before[type] and before[type][place] or 0) then n = n + 1 end end
  end
  return n
end

-- Numbers of machines by state and tag are of those that live now; those by outcome are not of jobs that are there.
local function clearMachineCounts(key)
  for _, field in ipairs(call('HKEYS', key)) do
    if not field:find('^outcome:') then call('HDEL', key, field) end
  end
end

local function clear()
  local escaped = P:gsub('[%[%]%*%?\\]', '\\%0')
  for _, key in ipairs(call('KEYS', escaped .. '*')) do
    local name = key:sub(#P + 1)
    local family = name:match('^([%w-]+):')
    if SINGLES[name] or FAMILIES[family] then call('DEL', key)
    elseif family == 'machine-counts' then clearMachineCounts(key) end
  end
end

local function bringBack()
  local flat, back = call('HGETALL', P .. 'aside'), {}
  for i = 1, #flat, 2 do
    if call('HEXISTS', JOBS, flat[i]) == 0 and readable(flat[i], flat[i + 1]) then
      call('HSET', JOBS, flat[i], flat[i + 1])
      call('HDEL', P .. 'aside', flat[i])
      back[#back + 1] = flat[i]
    end
  end
  return back
end

-- Enters a job into the indexes of machines and their children.
local function enterMachine(id, row, fields)
  local seq = row[${at.seq}]
  if fields.parent ~= '' then enter(P .. 'children:' .. fields.parent, seq, id) end
  if row[${at.unsupported}] ~= '' then enter(P .. 'unsupported', seq, id) end
  local counts = P .. 'machine-counts:' .. row[${at.type}]
  for kind, names in pairs({ state = fields.states, tag = fields.tags }) do
    for _, name in ipairs(names) do
      enter(P .. 'machine-' .. kind .. ':' .. name, seq, id)
      if INDEX[row[${at.state}]] ~= 'ended' then call('HINCRBY', counts, kind .. ':' .. name, 1) end
    end
  end
end

-- A job that has not ended holds its unique key, or has given it up.
local held, waiting
local function holdKey(id, row, fields)
  if not fields.key or INDEX[row[${at.state}]] == 'ended' then return end
  local kind = row[${at.has}]:find('${flagLetters.givenUp}', 1, true) and 'predecessors' or 'holders'
  local name = nameOfKey(row[${at.type}], fields.key)
  held[#held + 1] = { P .. kind, name, id }
  if row[${at.state}] == '${bornTimed}' and row[${at.wakeAt}] == '' then waiting[#waiting + 1] = { name, id } end
end
-- Keys are free if their job is not there any more, or has ended; who waited for its end is due.
local function writeKeys()
  for _, key in ipairs({ P .. 'holders', P .. 'predecessors' }) do
    local flat = call('HGETALL', key)
    for i = 1, #flat, 2 do if not isLive(flat[i + 1]) then call('HDEL', key, flat[i]) end end
  end
  for _, each in ipairs(held) do call('HSETNX', each[1], each[2], each[3]) end
  for _, each in ipairs(waiting) do
    if call('HEXISTS', P .. 'predecessors', each[1]) == 0 then release(each[2]) end
  end
end

-- Jobs that one claim has taken have one lease.
local claims
-- @param leaseEnds the index of leases before the repair
local function writeClaims(leaseEnds)
  local known = {}
  for i = 1, #leaseEnds, 2 do known[leaseEnds[i]] = leaseEnds[i + 1] end
  for claimed, claim in pairs(claims) do
    local name = claimName(claimed)
    call('HSET', P .. 'claims', claimed, table.concat(claim.ids, '\\0'), name, int(#claim.ids))
    call('ZADD', LEASES, known[name] or int(claim.leaseEnd), name)
  end
end

-- Indexes in the order of numbers are written in that order.
local ordered
local function writeOrdered(key)
  while true do
    local members = call('ZPOPMIN', P .. key, 500)
    for i = 1, #members, 2 do
      local entered, id = members[i]:match('^(%d*)%+(.*)$')
      addBlock(P .. key:sub(9), tonumber(members[i + 1]), entered, { id }, 1, 1)
    end
    writeBlocks()
    if #members < 1000 then return end
  end
end

local last, seen
local function enterRow(id, text)
  -- A walk may come to a field twice.
  if seen[id] then return 0 end
  seen[id] = true
  local row, fields = readable(id, text)
  if not row then
    setAside(id, text)
    return 0
  end
  enter(P .. 'rebuild:all', row[${at.seq}], '+' .. id)
  if row[${at.failure}] ~= '' then enter(P .. 'failing:' .. row[${at.failure}], row[${at.seq}], id) end
  if row[${at.has}]:find('${flagLetters.machine}', 1, true) then enterMachine(id, row, fields) end
  holdKey(id, row, fields)
  -- The dead of a group of failures are counted there already.
  row[${at.failure}] = ''
  -- A key that shares the claims of its type goes on from where it was.
  shareOf(row[${at.type}]).clock = nil
  if INDEX[row[${at.state}]] == 'ended' then
    local key = 'rebuild:ended:' .. row[${at.state}] .. ':' .. row[${at.type}]
    ordered[key] = true
    enter(P .. key, row[${at.last}], row[${at.finishedAt}] .. '+' .. id)
    if row[${at.state}] ~= '${finished}' then
      enter(P .. 'in-order:' .. row[${at.state}] .. ':' .. row[${at.type}], row[${at.seq}], id)
    end
    count(row[${at.state}], row[${at.type}], 1)
    looks[row[${at.type}]] = '0'
  else
    index(id, row, 1)
  end
  if row.claim then
    local claim = claims[row.claim] or { ids = {}, leaseEnd = 0 }
    claim.ids[#claim.ids + 1] = id
    claim.leaseEnd = math.max(claim.leaseEnd, tonumber(row[${at.wakeAt}]))
    claims[row.claim] = claim
  end
  if row[${at.attempt}] ~= '' then ${noteClaim(`row[${at.type}]`, `tonumber(row[${at.seq}])`)} end
  last = math.max(last, tonumber(row[${at.seq}]) or 0, tonumber(row[${at.last}]) or 0)
  return 1
end

-- Whoever waits for room, for a slot or for jobs of a type at a cap looks anew: it may have been refused by what was
-- wrong.
local function tellAll()
  arrangeGroups()
  shrunk, looksForSlots = 1, true
  for _, type in ipairs(call('HKEYS', P .. 'full-queues')) do shrunkOf[type] = 1 end
  for _, type in ipairs(call('HKEYS', P .. 'capped')) do left[type] = true end
end
`,
  call: `
rebuilds = true
local before, back, total, cursor = clearFigures(), bringBack(), 0, '0'
local leaseEnds = call('ZRANGE', LEASES, 0, -1, 'WITHSCORES')
claims, ordered = {}, { ['rebuild:all'] = true }
last, seen, held, waiting = seqNow, {}, {}, {}
clear()
repeat
  local page = call('HSCAN', JOBS, cursor, 'COUNT', 500)
  cursor = page[1]
  for i = 1, #page[2], 2 do total = total + enterRow(page[2][i], page[2][i + 1]) end
  flush()
until cursor == '0'
for key in pairs(ordered) do writeOrdered(key) end
writeKeys()
writeClaims(leaseEnds)
advance(last - seqNow)
tellAll()
`,
  answer: `int(total), back, call('HKEYS', P .. 'aside'), int(wrong(before))`,
}
