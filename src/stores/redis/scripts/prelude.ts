/**
 * What all scripts begin with: rows, indexes, counts, the log, wake-ups. Which states are leased, timed, ended or claimable comes from
 * the chart as data. Every script gets the namespace as its key and makes the names of all others from it, which the hash
 * tag keeps in one slot: a claim cannot know before which jobs it will touch.
 *
 * - A command costs about as much as what it does for one job. So rows are read and written many at a time, and changes of
 *   indexes are gathered and carried out together by `flush`.
 * - Numbers are passed on as texts: Lua writes 300000000 as 3e+8. Payloads are never decoded.
 */
import { activityPeriods, periodNames } from '../../../core/activity.ts'
import { caps } from '../../../core/caps.ts'
import { statesTagged, type JobState } from '../../../core/lifecycle.ts'
import { defaultKeyWeight } from '../../../core/shares.ts'
import { claimable } from '../../../core/transition.ts'
import { handOverLua } from './hand-over.ts'
import { dataFields, dataLetters, flagLetters, fullHistoryChars, headFields, type HeadField } from '../row-text.ts'

const luaSet = (states: ReadonlySet<JobState>): string => `{${[...states].map((state) => `${state}=true`).join(',')}}`

/** Where a field stands in a row, for scripts: their lists begin at 1. */
export const at = Object.fromEntries(headFields.map((name, i) => [name, i + 1])) as Readonly<Record<HeadField, number>>
/** What follows the head of a row: the rare fields and the history. An entry that becomes part of the history stands behind it. */
export const tail = headFields.length + 1

/** The fields that are kept apart by their letters, as Lua. */
const dataKeys = dataFields.map((field) => `${dataLetters[field]}='${field}'`).join(',')

/** The periods of activity, as Lua. */
const periods = periodNames
  .map((period) => `${period} = { ms = ${activityPeriods[period].ms}, kept = ${activityPeriods[period].kept} }`)
  .join(', ')

export const prelude = `
local P = KEYS[1]
local JOBS, LEASES = P .. 'jobs', P .. 'leases'
local CLAIMABLE = ${luaSet(claimable)}
local TIMED = ${luaSet(statesTagged('timed'))}
local LEASED = ${luaSet(statesTagged('leased'))}
local ENDED = ${luaSet(statesTagged('ended'))}
local BACKLOG = ${luaSet(statesTagged('backlog'))}
local DATA = {${dataKeys}}
local HEAD = '${'s'.repeat(headFields.length)}'
local PERIODS = { ${periods} }
local call = redis.call
local origin, logMax = ARGV[1], tonumber(ARGV[2])

local format = string.format
-- A whole number as text.
local function int(n) return format('%d', n) end
local ZEROS = '0000000000000000'
local function pad(text) return ZEROS:sub(#text + 1) .. text end
local function negative(text) if text:sub(1, 1) == '-' then return text:sub(2) end return '-' .. text end

local time = call('TIME')
local clock = time[1] .. string.format('%03d', math.floor(tonumber(time[2]) / 1000))
-- The time by which leases, due times and workers are judged: the server's, unless a test holds the clock.
local now = ARGV[3] ~= '' and ARGV[3] or clock

-- The number of the last transition.
local seqNow = tonumber(call('GET', P .. 'seq') or '0')
local function advance(by)
  if by == 0 then return end
  seqNow = seqNow + by
  call('SET', P .. 'seq', int(seqNow))
end

-- What each answer begins with: the server's time, and the number of its last transition, by which a process notices a rollback.
local function stamp() return clock .. ' ' .. int(seqNow) end

local counts, groups, ready, left, ended, cancelled, hints = {}, {}, {}, {}, {}, {}, {}
local dueAt, shrunk, shrunkOf = nil, 0, {}
local entering, leaving, logged = {}, {}, {}

-- Adds to the sum of a name, by type.
local function addTo(sums, type, name, by)
  local ofType = sums[type]
  if not ofType then
    ofType = {}
    sums[type] = ofType
  end
  ofType[name] = (ofType[name] or 0) + by
end

-- By how much the number of jobs of a type in a state changes.
local function count(state, type, by) addTo(counts, type, state, by) end

-- Carries out a command with a list of arguments, as many at a time as Lua's stack holds; an even number.
local function each(command, key, list)
  local n = #list
  if n <= 2000 then
    if n > 0 then call(command, key, unpack(list)) end
    return
  end
  for i = 1, n, 2000 do call(command, key, unpack(list, i, math.min(i + 1999, n))) end
end

-- The values of fields of a hash; false for those that are not there.
local function values(key, fields)
  local n = #fields
  if n == 0 then return {} end
  if n <= 2000 then return call('HMGET', key, unpack(fields)) end
  local all = {}
  for i = 1, n, 2000 do
    for _, value in ipairs(call('HMGET', key, unpack(fields, i, math.min(i + 1999, n)))) do all[#all + 1] = value end
  end
  return all
end

-- Adds to numbers in a hash: a list of fields, and of what is added to each.
local function addNumbers(key, fields, amounts)
  local sums = {}
  for i, number in ipairs(values(key, fields)) do
    sums[2 * i - 1] = fields[i]
    sums[2 * i] = int((tonumber(number) or 0) + amounts[i])
  end
  each('HSET', key, sums)
end

-- A row as a list: the fields of its head, and what follows it.
local function parse(text)
  local row = { struct.unpack(HEAD, text) }
  row[${tail}] = text:sub(row[${tail}])
  return row
end

-- A row as text, with the entry that becomes part of its history.
local function rowText(row) return table.concat(row, '\\0', 1, row[${tail + 1}] and ${tail + 1} or ${tail}) end

-- The row of a job; nil if it is not there.
local function readRow(id)
  local text = call('HGET', JOBS, id)
  return text and parse(text) or nil
end

-- Adds to the history of a job.
local function remember(row, text)
  local rest = row[${tail}]
  if row[${tail + 1}] then
    rest = rest .. '\\0' .. row[${tail + 1}]
    row[${tail}] = rest
  end
  row[${tail + 1}] = text
  if #rest < ${fullHistoryChars} then return end
  local _, entries = rest:gsub('%z', '%0')
  for _ = ${caps.history}, entries do
    local first = rest:find('%z')
    rest = rest:sub(1, first - 1) .. rest:sub(rest:find('%z', first + 1) or #rest + 1)
  end
  row[${tail}] = rest
end

local function enter(key, score, member)
  local list = entering[key]
  if not list then
    entering[key] = { score, member }
    return
  end
  local n = #list
  list[n + 1] = score
  list[n + 2] = member
end

local function leave(key, member)
  local list = leaving[key]
  if not list then leaving[key] = { member } else list[#list + 1] = member end
end

-- Carries out the changes of indexes that were gathered.
local function flush()
  for key, members in pairs(leaving) do each('ZREM', key, members) end
  for key, members in pairs(entering) do each('ZADD', key, members) end
  leaving, entering = {}, {}
end

-- Does a type share its claims among its keys by weight? See core/shares.ts.
local sharing = {}
local function isShared(type)
  if sharing[type] == nil then sharing[type] = call('HGET', P .. 'shared', type) == '1' end
  return sharing[type]
end

-- The virtual clock of such a type; false before.
local clocks = {}
local function clockOf(type)
  if clocks[type] == nil then clocks[type] = call('HGET', P .. 'clocks', type) end
  return clocks[type]
end

-- Keys of a type are told from keys of another type by the length of its name.
local function groupKey(type, key) return P .. 'group:' .. #type .. ':' .. type .. ':' .. key end

-- Groups of failed attempts. Groups of a type are told from those of another by the length of its name.
local function failureName(type, fingerprint) return #type .. ':' .. type .. ':' .. fingerprint end

-- A job that died at a time, with an error of a group, is one of its dead jobs from now on, or no longer.
local function countDead(type, fingerprint, diedAt, by)
  local group = P .. 'failure:' .. failureName(type, fingerprint)
  local first = call('HGET', group, 'firstAt')
  if not first or tonumber(first) > tonumber(diedAt) then return end
  if call('HINCRBY', group, 'dead', by) < 0 then call('HSET', group, 'dead', 0) end
end

local function addFailure(failure, at, seq)
  local type, fingerprint = failure.type, failure.fingerprint
  local name = failureName(type, fingerprint)
  local group = P .. 'failure:' .. name
  if call('HINCRBY', group, 'count', 1) == 1 then
    call('HSET', group, 'type', type, 'fingerprint', fingerprint, 'name', failure.name, 'message', failure.message,
      'firstAt', at, 'dead', 0)
    if failure.code then call('HSET', group, 'code', failure.code) end
  end
  call('HSET', group, 'lastAt', at, 'lastId', failure.id)
  call('ZADD', P .. 'failures', seq, name)
  call('ZADD', P .. 'failures:' .. type, seq, fingerprint)
  if call('ZCARD', P .. 'failures:' .. type) <= ${caps.failureGroups} then return end
  local oldest = failureName(type, call('ZPOPMIN', P .. 'failures:' .. type)[1])
  call('ZREM', P .. 'failures', oldest)
  call('DEL', P .. 'failure:' .. oldest)
end

-- Activity: what is added to each figure of each type, by the index of the figure.
local activity = {}
local function tally(type, figure, by) addTo(activity, type, figure, by) end

-- Adds the activity to the minute and the hour of a time. Where a period begins, some of those that are no longer kept are removed.
local function writeActivity(at)
  local fields, amounts, n = {}, {}, 0
  for type, figures in pairs(activity) do
    for figure, by in pairs(figures) do
      if by ~= 0 then
        n = n + 1
        fields[n], amounts[n] = figure .. ':' .. type, by
      end
    end
  end
  activity = {}
  if n == 0 then return end
  for period, terms in pairs(PERIODS) do
    local start = math.floor(tonumber(at) / terms.ms) * terms.ms
    local starts = P .. 'activity:' .. period
    local key = starts .. ':' .. int(start)
    if call('EXISTS', key) == 0 then
      call('ZADD', starts, int(start), int(start))
      for _, old in ipairs(call('ZRANGEBYSCORE', starts, '-inf', int(start - terms.kept * terms.ms), 'LIMIT', 0, 10)) do
        call('UNLINK', starts .. ':' .. old)
        call('ZREM', starts, old)
      end
    end
    addNumbers(key, fields, amounts)
  end
end

-- Enters a row into the indexes, or takes it out of them.
local function index(id, r, by)
  local state, type, key = r[${at.state}], r[${at.type}], r[${at.concurrencyKey}]
  count(state, type, by)
  if CLAIMABLE[state] then
    local queue = key ~= '' and groupKey(type, key) or P .. 'queue:' .. type
    local place = r[${at.place}]
    local member = pad(place ~= '' and place or r[${at.seq}]) .. id
    if by > 0 then
      local clock = clockOf(type)
      if clock then
        flush()
        -- A key that gets work begins where the clock is.
        if call('EXISTS', queue) == 0 then call('HSET', P .. 'starts:' .. type, key, clock) end
      end
      enter(queue, negative(r[${at.priority}] ~= '' and r[${at.priority}] or '0'), member)
      ready[type] = true
    else
      leave(queue, member)
    end
    if key ~= '' or isShared(type) then groups[#groups + 1] = { type, key } end
  elseif TIMED[state] then
    local due = r[${at.wakeAt}]
    if due ~= '' then
      local member = pad(r[${at.seq}]) .. id
      if by > 0 then
        enter(P .. 'due', due, member)
        local at = tonumber(due)
        if not dueAt or at < dueAt then dueAt = at end
      else
        leave(P .. 'due', member)
      end
    end
  elseif LEASED[state] then
    local member = pad(r[${at.seq}]) .. id
    if by > 0 then enter(LEASES, r[${at.wakeAt}], member) else leave(LEASES, member) end
    if key ~= '' then
      call('HINCRBY', P .. 'held:' .. type, key, by)
      groups[#groups + 1] = { type, key }
    end
  elseif ENDED[state] then
    local member = r[${at.finishedAt}] .. ':' .. id
    if state == 'dead' and r[${at.failure}] ~= '' then countDead(type, r[${at.failure}], r[${at.finishedAt}], by) end
    if by > 0 then
      enter(P .. 'ended:' .. state, r[${at.last}], member)
      ended[#ended + 1] = id
    else
      leave(P .. 'ended:' .. state, member)
    end
  end
end

-- @param before nil: the job is new
-- @param after nil: it is gone
local function reindex(id, before, after)
  if before then index(id, before, -1) end
  if after then index(id, after, 1) end
  if not before or not LEASED[before[${at.state}]] then return end
  if after and LEASED[after[${at.state}]] then
    if before[${at.state}] ~= after[${at.state}] then cancelled[#cancelled + 1] = id end
  else
    left[before[${at.type}]] = true
  end
end

-- Removes what is kept of a job beside its row.
local function removeRest(id, row)
  local has = row[${at.has}]
  for letter, field in pairs(DATA) do if has:find(letter, 1, true) then call('HDEL', P .. 'data:' .. field, id) end end
  if has:find('${flagLetters.steps}', 1, true) then call('DEL', P .. 'steps:' .. id) end
  if has:find('${flagLetters.machine}', 1, true) then call('DEL', P .. 'checkpoints:' .. id, P .. 'inbox:' .. id) end
end

-- A group is the queued jobs of a key; the key '' stands for jobs without one, where keys share the claims by weight.
local function queueOf(type, key) if key == '' then return P .. 'queue:' .. type end return groupKey(type, key) end

-- Where a job is in the order of its queue, as text: by priority, then by place. The priority is within 32 bits.
local function rank(score, member) return string.format('%010.0f', 2147483648 + tonumber(score)) .. member:sub(1, 16) end

-- The first job of a group stands among the heads of its type, by the finish of its key (0 where keys do not share) and its rank;
-- unless the key is at its cap, or has no free claim.
local function arrange(type, key)
  local heads, head = P .. 'heads:' .. type, P .. 'head:' .. type
  local old = call('HGET', head, key)
  if old and old ~= '' then call('ZREM', heads, old) end
  local leased = tonumber(call('HGET', P .. 'held:' .. type, key) or '0')
  if leased <= 0 then call('HDEL', P .. 'held:' .. type, key) end
  local first = call('ZRANGE', queueOf(type, key), 0, 0, 'WITHSCORES')
  local limited = call('HGET', P .. 'limits:' .. type, key)
  local shared = isShared(type)
  if #first == 0 or (key == '' and not shared) then
    call('HDEL', head, key)
    if limited then call('ZREM', P .. 'limited:' .. type, key) end
    if leased <= 0 and #first == 0 then call('HDEL', P .. 'starts:' .. type, key) end
    return
  end
  local cap = call('HGET', P .. 'caps', type)
  local capped = cap and cap ~= '' and key ~= '' and leased >= tonumber(cap)
  if limited then
    if capped then call('ZREM', P .. 'limited:' .. type, key) else call('ZADD', P .. 'limited:' .. type, limited, key) end
  end
  if capped or limited then
    call('HSET', head, key, '')
    return
  end
  local finish = 0
  if shared then
    local weight = readRow(first[1]:sub(17))[${at.keyWeight}]
    finish = tonumber(call('HGET', P .. 'starts:' .. type, key) or '0') + 1 / (tonumber(weight) or ${defaultKeyWeight})
  end
  local member = rank(first[2], first[1]) .. key
  call('ZADD', heads, string.format('%.17g', finish), member)
  call('HSET', head, key, member)
end

local function arrangeGroups()
  flush()
  local seen = {}
  for _, group in ipairs(groups) do
    local name = queueOf(group[1], group[2])
    if not seen[name] then
      seen[name] = true
      arrange(group[1], group[2])
    end
  end
  groups = {}
end

local function writeCounts()
  local fields, amounts, n, all = {}, {}, 0, {}
  for type, states in pairs(counts) do
    for state, by in pairs(states) do
      if by ~= 0 then
        n = n + 1
        fields[n], amounts[n] = state .. ':' .. type, by
        all[state] = (all[state] or 0) + by
        if BACKLOG[state] then
          shrunk = shrunk - by
          shrunkOf[type] = (shrunkOf[type] or 0) - by
        end
      end
    end
  end
  for state, by in pairs(all) do
    n = n + 1
    fields[n], amounts[n] = state, by
  end
  addNumbers(P .. 'counts', fields, amounts)
  counts = {}
end

-- Of a type, or of all.
local function backlog(type)
  local sum = 0
  for state in pairs(BACKLOG) do
    sum = sum + tonumber(call('HGET', P .. 'counts', type and state .. ':' .. type or state) or '0')
  end
  return sum
end

-- The log is a stream; an entry has many transitions, each an id, and the type and the text as one. Its own id is the number of the
-- last of them.
local function log(id, type, text)
  local n = #logged
  logged[n + 1] = id
  logged[n + 2] = type .. '\\0' .. text
end

-- Writes what was logged. @param last the number of its last transition
local function writeLog(last)
  local n = #logged
  for i = 1, n, 200 do
    local to = math.min(i + 199, n)
    local number = last - (n - to) / 2
    call('XADD', P .. 'log', 'MINID', '~', int(math.max(0, number - logMax + 1)), int(number) .. '-0', unpack(logged, i, to))
  end
  logged = {}
end

${handOverLua}
-- Writes what follows from the rows that have changed; gives the wake-ups.
local function finish()
  arrangeGroups()
  writeCounts()
  -- Is there a type that was found at a cap, or an insert that was refused?
  local waits = call('EXISTS', P .. 'capped', P .. 'full', P .. 'full-queues', P .. 'full-slots') > 0
  -- A type that was found at a cap has room where a run has ended.
  if waits then
    for type in pairs(left) do if call('HDEL', P .. 'capped', type) == 1 then ready[type] = true end end
  end
  for type in pairs(ready) do
    local queued = 0
    for state in pairs(CLAIMABLE) do queued = queued + tonumber(call('HGET', P .. 'counts', state .. ':' .. type) or '0') end
    if queued > 0 then hints[#hints + 1] = { kind = 'ready', type = type, atMost = queued } end
  end
  if dueAt then hints[#hints + 1] = { kind = 'due', at = dueAt } end
  if #cancelled > 0 then hints[#hints + 1] = { kind = 'cancelled', ids = cancelled } end
  if #ended > 100 then hints[#hints + 1] = { kind = 'ended' }
  elseif #ended > 0 then hints[#hints + 1] = { kind = 'ended', ids = ended } end
  if waits then
    if shrunk > 0 and call('DEL', P .. 'full') == 1 then hints[#hints + 1] = { kind = 'room' } end
    for type, by in pairs(shrunkOf) do
      if by > 0 and call('HDEL', P .. 'full-queues', type) == 1 then hints[#hints + 1] = { kind = 'room', type = type } end
    end
    if looksForSlots or next(left) or shrunk > 0 then
      local _, freedTypes = handOver()
      for _, type in ipairs(freedTypes()) do hints[#hints + 1] = { kind = 'room', type = type } end
    end
  end
  if #hints == 0 then return '' end
  local text = cjson.encode(hints)
  call('PUBLISH', P .. 'hints', origin .. ' ' .. text)
  return text
end
`
