/**
 * Rebuilds from the rows what follows from them: counts, queues, concurrency keys, due times, leases, ended jobs,
 * machines, failing jobs, children, holders of unique keys, the list of all, and the number of the last transition.
 * Rows and payloads that cannot be read are set aside; those that were and can be read are brought back.
 *
 * It is done in steps, each of some hundred rows, so that it does not hold up the server. From `begin` to `end` the
 * number of the last transition is marked with the token of the repair, and every other script is refused. A repair
 * that begins meanwhile, or after one that was interrupted, takes over: it clears what that has built.
 */
import { bornTimed } from '../../../core/insert.ts'
import { jobStates } from '../../../core/lifecycle.ts'
import { figureAt } from '../figures.ts'
import { finished } from '../grown.ts'
import { dataFields, flagLetters, inlineLetters } from '../row-text.ts'
import { at, fieldsOfLetters, seqName, tail, type LuaScript } from './lua.ts'
import { noteClaim } from './figures.ts'
import { restLua } from './rest.ts'
import { uniqueKeysLua } from './unique-keys.ts'

/** Rows, or members of indexes, of one step. */
const stepMax = 200

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
  'rebuild',
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

/** What is kept, by its type: a key of another one is renamed, because scripts would end at it. */
const kept = {
  hash: [
    'jobs',
    'aside',
    'workers',
    'holders',
    'predecessors',
    'paused',
    'retention',
    'schedules',
    'terms',
    'shares',
    'capped',
    'full-queues',
    ...dataFields.map((field) => `data:${field}`),
  ],
  zset: ['leases', 'leases-before', 'seen', 'looks', 'limit-looks', 'ticks', 'failures'],
  stream: ['log'],
}

/** A set of names. */
const setOf = (names: readonly string[]): string => `{${names.map((name) => `['${name}']=true`).join(',')}}`

const listOf = (names: readonly string[]): string => `{${names.map((name) => `'${name}'`).join(',')}}`

export const repairScript: LuaScript = {
  definitions: `
${restLua}${uniqueKeysLua}
local FIELDS = ${fieldsOfLetters}
local KEPT = {${Object.entries(kept)
    .map(([kind, names]) => `${kind}=${listOf(names)}`)
    .join(',')}}
local SINGLES, FAMILIES = ${setOf(singles)}, ${setOf(families)}
local function isJson(text) return (pcall(cjson.decode, text)) end
-- One text, or one in each line.
local function areJson(text)
  for line in (text .. '\\n'):gmatch('([^\\n]*)\\n') do if not isJson(line) then return false end end
  return true
end
-- What stands behind the rare fields: input, output and history.
local function areTailsJson(tail)
  for letter, text in tail:gmatch('%z([${inlineLetters.input}${inlineLetters.output}]?)(%Z*)') do
    if not isJson(text) then return false end
  end
  return true
end
-- Its last checkpoint and its inbox: each an object.
local function areMessagesJson(id)
  local lists = { { P .. 'checkpoints:' .. id, -1 }, { P .. 'inbox:' .. id, 0 } }
  for _, list in ipairs(lists) do
    local entries = redis.pcall('LRANGE', list[1], list[2], -1)
    if entries.err then return false end
    for _, entry in ipairs(entries) do if not decoded(entry) then return false end end
  end
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
  if not areTailsJson(row[${tail}]) then return nil end
  if row[${at.has}]:find('${flagLetters.machine}', 1, true) and not areMessagesJson(id) then return nil end
  for letter, field in pairs(FIELDS) do
    local value = row[${at.has}]:find(letter, 1, true) and call('HGET', P .. 'data:' .. field, id)
    if value and not areJson(value) then return nil end
  end
  return row, fields
end

-- The numbers of jobs by state of each type, as they are now.
local function countsNow()
  local answer = {}
  for type, list in pairs(figures) do
    answer[#answer + 1] = type
    answer[#answer + 1] = table.concat(list, ' ', 1, ${jobStates.length})
  end
  return answer
end

local function loadAllFigures()
  figuresOf('')
  local types = {}
  for _, type in ipairs(call('HKEYS', P .. 'figures')) do if type ~= SEQ then types[#types + 1] = type end end
  loadFigures(types)
end

-- The numbers of jobs by type and state, which begin at 0 again; what else is known of types by their figures follows
-- from what is kept of them. A pause that cannot be read stays one.
local function clearFigures()
  for type, list in pairs(figures) do
    for _, place in pairs(COUNT_AT) do list[place] = 0 end
    list[${figureAt.told}], list[${figureAt.listed}], changed[type] = 0, 0, true
  end
  local paused = call('HGETALL', P .. 'paused')
  for i = 1, #paused, 2 do setFigure(paused[i], ${figureAt.paused}, tonumber(paused[i + 1]) or 1) end
  for _, key in ipairs({ 'terms', 'shares' }) do
    for _, type in ipairs(call('HKEYS', P .. key)) do setFigure(type, ${figureAt.limited}, 1) end
  end
  setFigure('', ${figureAt.waits}, 1)
end

-- Registrations of workers that cannot be read: a worker that still runs registers again.
local function clearWorkers()
  local workers = P .. 'workers'
  local flat = call('HGETALL', workers)
  for i = 1, #flat, 2 do
    local id, text = flat[i], flat[i + 1]
    local record = decoded(text)
    local isRead = id == '' and text:find('^%d+$') or record and type(record.info) == 'table' and text:find('^{"number":%d')
    if not isRead then
      call('HDEL', workers, id)
      call('ZREM', P .. 'seen', id)
    end
  end
end

-- Numbers of machines by state and tag are of those that live now; those by outcome are not of jobs that are there.
local function clearMachineCounts(key)
  for _, field in ipairs(call('HKEYS', key)) do
    if not field:find('^outcome:') then call('HDEL', key, field) end
  end
end

local function clear(cursor)
  local escaped = P:gsub('[%[%]%*%?\\\\]', '\\\\%0')
  local page = call('SCAN', cursor, 'MATCH', escaped .. '*', 'COUNT', ${5 * stepMax})
  for _, key in ipairs(page[2]) do
    local name = key:sub(#P + 1)
    local family = name:match('^([%w-]+):')
    if SINGLES[name] or FAMILIES[family] then call('UNLINK', key)
    elseif family == 'machine-counts' then
      if call('TYPE', key).ok == 'hash' then clearMachineCounts(key) else call('UNLINK', key) end
    end
  end
  return page[1]
end

local found
local function bringBack(cursor)
  local page = call('HSCAN', P .. 'aside', cursor, 'COUNT', ${stepMax})
  for i = 1, #page[2], 2 do
    local id, text = page[2][i], page[2][i + 1]
    if call('HEXISTS', JOBS, id) == 0 and readable(id, text) then
      call('HSET', JOBS, id, text)
      call('HDEL', P .. 'aside', id)
      found[#found + 1] = id
    end
  end
  return page[1]
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

-- A job that has not ended holds its unique key, or has given it up. Those that wait for the end of another one are
-- found: name and id.
local function holdKey(id, row, fields)
  if not fields.key or INDEX[row[${at.state}]] == 'ended' then return end
  local kind = row[${at.has}]:find('${flagLetters.givenUp}', 1, true) and 'predecessors' or 'holders'
  local name = nameOfKey(row[${at.type}], fields.key)
  call('HSETNX', P .. kind, name, id)
  if row[${at.state}] == '${bornTimed}' and row[${at.wakeAt}] == '' then
    found[#found + 1], found[#found + 2] = name, id
  end
end
-- Keys are free if their job is not there any more, or has ended.
local function freeKeys(cursor, kind)
  local page = call('HSCAN', P .. kind, cursor, 'COUNT', ${stepMax})
  for i = 1, #page[2], 2 do if not isLive(page[2][i + 1]) then call('HDEL', P .. kind, page[2][i]) end end
  return page[1]
end
-- Who waits for the end of a job that nothing names is due.
local function releaseEach(_, ...)
  for i = 1, select('#', ...), 2 do
    local name, id = select(i, ...)
    if call('HEXISTS', P .. 'predecessors', name) == 0 then release(id) end
  end
  return '0'
end

-- Jobs that one claim has taken have one lease: that of the index before the repair.
local claims
local function writeClaims()
  for claimed, claim in pairs(claims) do
    local name, before = claimName(claimed), call('HGET', P .. 'claims', claimed)
    local ids = table.concat(claim.ids, '\\0')
    call('HSET', P .. 'claims', claimed, before and before .. '\\0' .. ids or ids)
    call('HINCRBY', P .. 'claims', name, #claim.ids)
    local leaseEnd = math.max(claim.leaseEnd, tonumber(call('ZSCORE', LEASES, name) or 0))
    call('ZADD', LEASES, call('ZSCORE', P .. 'leases-before', name) or int(leaseEnd), name)
  end
end

-- Indexes in the order of numbers are written in that order.
local function writeOrdered(_, key)
  local members = call('ZPOPMIN', P .. key, ${stepMax})
  for i = 1, #members, 2 do
    local entered, id = members[i]:match('^(%d*)%+(.*)$')
    addBlock(P .. key:sub(9), tonumber(members[i + 1]), entered, { id }, 1, 1)
  end
  return call('EXISTS', P .. key) == 1 and '1' or '0'
end

local last, seen, total, ordered
local function enterRow(id, text)
  -- A walk may come to a field twice.
  if seen[id] or call('ZSCORE', P .. 'rebuild:all', '+' .. id) then return end
  seen[id] = true
  local row, fields = readable(id, text)
  if not row then
    setAside(id, text)
    return
  end
  total = total + 1
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
end

local function enterRows(cursor)
  claims, seen = {}, {}
  local page = call('HSCAN', JOBS, cursor, 'COUNT', ${stepMax})
  for i = 1, #page[2], 2 do enterRow(page[2][i], page[2][i + 1]) end
  flush()
  writeClaims()
  return page[1]
end

-- The number of the last transition of the log, which may be above that of all jobs that are still there.
local function lastLogged()
  if call('EXISTS', P .. 'log') == 0 then return 0 end
  local info = call('XINFO', 'STREAM', P .. 'log')
  for i = 1, #info, 2 do if info[i] == 'last-generated-id' then return tonumber(info[i + 1]:match('^%d+')) end end
end

-- The leases before the repair are kept until its end, also if it is begun again.
local function beginRepair(token)
  for kind, names in pairs(KEPT) do
    for _, name in ipairs(names) do
      local is = call('TYPE', P .. name).ok
      if is ~= kind and is ~= 'none' then call('RENAME', P .. name, P .. 'wrong-type:' .. name) end
    end
  end
  loadAllFigures()
  found = countsNow()
  clearFigures()
  clearWorkers()
  call('ZUNIONSTORE', P .. 'leases-before', 2, P .. 'leases-before', LEASES, 'AGGREGATE', 'MAX')
  call('UNLINK', LEASES)
  call('HSET', P .. 'figures', SEQ, '!' .. token .. ':' .. int(math.max(seqNow, lastLogged())))
  return '0'
end

-- Whoever waits for jobs, for room, for a slot or for jobs of a type at a cap looks anew: it may have been refused by
-- what was wrong, or by the repair.
local function endRepair(_, upto)
  call('UNLINK', P .. 'leases-before')
  call('HSET', P .. 'figures', SEQ, int(math.max(seqNow, tonumber(upto))))
  loadAllFigures()
  found = countsNow()
  for type in pairs(figures) do
    setFigure(type, ${figureAt.told}, 0)
    if type ~= '' then ready[type] = true end
  end
  dueAt = tonumber(call('ZRANGE', P .. 'due', 0, 0, 'WITHSCORES')[2])
  shrunk, looksForSlots = 1, true
  for _, type in ipairs(call('HKEYS', P .. 'full-queues')) do shrunkOf[type] = 1 end
  for _, type in ipairs(call('HKEYS', P .. 'capped')) do left[type] = true end
  return '0'
end
local STEPS = {
  begin = beginRepair, back = bringBack, clear = clear, keys = freeKeys, rows = enterRows, order = writeOrdered,
  release = releaseEach, ['end'] = endRepair,
}
`,
  call: `
rebuilds, found, total, ordered, last = true, {}, 0, {}, 0
local token, step = ARGV[4], ARGV[5]
if step ~= 'begin' and not (call('HGET', P .. 'figures', ${seqName}) or ''):find('!' .. token .. ':', 1, true) then
  error({ err = 'REPAIR another repair has taken over' })
end
local cursor = STEPS[step](step == 'begin' and token or ARGV[6], unpack(ARGV, 7))
arrangeGroups()
-- Of what is found on the way nobody is told before the end.
if step ~= 'end' then ready, ended, dueAt, shrunk, shrunkOf = {}, {}, nil, 0, {} end
local names = {}
for key in pairs(ordered) do names[#names + 1] = key end
`,
  answer: `cursor, found, int(total), int(last), names`,
  duringRepair: true,
}
