/**
 * The scripts. They carry out what was decided: which states are leased, timed, ended or claimable, and where a claim leads,
 * comes from the chart as data. Every script gets the namespace as its key and makes the names of all others from it, which the
 * hash tag keeps in one slot: a claim cannot know before which jobs it will touch.
 *
 * Numbers are passed on as texts: Lua writes 300000000 as 3e+8. Payloads are never decoded.
 */
import { countersAfter, statesTagged, type JobState } from '../../core/lifecycle.ts'
import { caps } from '../../core/caps.ts'
import { defaultKeyWeight } from '../../core/shares.ts'
import { claimable, nextTransition } from '../../core/transition.ts'
import { pending } from './unit.ts'

const luaSet = (states: ReadonlySet<JobState>): string => `{${[...states].map((state) => `${state}=true`).join(',')}}`

/** What a row is indexed by, and what a claim looks at; the scripts read these fields of every row that they write. */
const indexed = [
  'rev',
  'seq',
  'type',
  'state',
  'priority',
  'place',
  'concurrencyKey',
  'wakeAt',
  'last',
  'finishedAt',
  'attempt',
  'pins',
  'keyName',
  'machine',
  'steps',
  'onDead',
]

const prelude = `
local P = KEYS[1]
local CLAIMABLE = ${luaSet(claimable)}
local TIMED = ${luaSet(statesTagged('timed'))}
local LEASED = ${luaSet(statesTagged('leased'))}
local ENDED = ${luaSet(statesTagged('ended'))}
local BACKLOG = ${luaSet(statesTagged('backlog'))}
local call = redis.call
local origin, logMax = ARGV[1], ARGV[2]

local function int(n) return string.format('%.0f', n) end
local function pad(text) return string.rep('0', 16 - #text) .. text end
local function negative(text) if text:sub(1, 1) == '-' then return text:sub(2) end return '-' .. text end

local time = call('TIME')
local clock = time[1] .. string.format('%03d', math.floor(tonumber(time[2]) / 1000))

local counts, groups, ready, left, ended, cancelled, hints = {}, {}, {}, {}, {}, {}, {}
local dueAt, shrunk, shrunkOf = nil, 0, {}

local function count(name, by) counts[name] = (counts[name] or 0) + by end

-- The virtual clock of a type whose keys share the claims by weight, see core/shares.ts; nil before.
local sharing = {}
local function isShared(type)
  if sharing[type] == nil then sharing[type] = call('HGET', P .. 'shared', type) == '1' end
  return sharing[type]
end

-- Where that clock is; false before.
local clocks = {}
local function clockOf(type)
  if clocks[type] == nil then clocks[type] = call('HGET', P .. 'clocks', type) end
  return clocks[type]
end

-- Keys of a type are told from keys of another type by the length of its name.
local function groupKey(type, key) return P .. 'group:' .. #type .. ':' .. type .. ':' .. key end

local INDEXED = { ${indexed.map((field) => `'${field}'`).join(', ')} }

-- Fields of a row by name; nil if it is not there.
local function readRow(id)
  local values = call('HMGET', P .. 'job:' .. id, unpack(INDEXED))
  if not values[1] then return nil end
  local row = { id = id }
  for i, name in ipairs(INDEXED) do row[name] = values[i] or nil end
  return row
end

-- A row after its fields were set (names and values in turn) and removed.
local function changed(row, id, set, unset)
  local after = { id = id }
  if row then for _, name in ipairs(INDEXED) do after[name] = row[name] end end
  for i = 1, #set, 2 do after[set[i]] = set[i + 1] end
  for _, name in ipairs(unset or {}) do after[name] = nil end
  return after
end

-- Enters a row into the indexes, or takes it out of them.
local function index(r, by)
  local state, type, key = r.state, r.type, r.concurrencyKey
  count(state, by)
  count(state .. ':' .. type, by)
  if BACKLOG[state] then
    shrunk = shrunk - by
    shrunkOf[type] = (shrunkOf[type] or 0) - by
  end
  if CLAIMABLE[state] then
    local queue = key and groupKey(type, key) or P .. 'queue:' .. type
    local member = pad(r.place or r.seq) .. r.id
    if by > 0 then
      local clock = clockOf(type)
      -- A key that gets work begins where the clock is.
      if clock and call('EXISTS', queue) == 0 then call('HSET', P .. 'starts:' .. type, key or '', clock) end
      call('ZADD', queue, negative(r.priority or '0'), member)
      ready[type] = true
    else
      call('ZREM', queue, member)
    end
    if key or isShared(type) then groups[#groups + 1] = { type, key or '' } end
  elseif TIMED[state] then
    if r.wakeAt then
      local member = pad(r.seq) .. r.id
      if by > 0 then
        call('ZADD', P .. 'due', r.wakeAt, member)
        local at = tonumber(r.wakeAt)
        if not dueAt or at < dueAt then dueAt = at end
      else
        call('ZREM', P .. 'due', member)
      end
    end
  elseif LEASED[state] then
    local member = pad(r.seq) .. r.id
    if by > 0 then call('ZADD', P .. 'leases', r.wakeAt, member) else call('ZREM', P .. 'leases', member) end
    if key then
      call('HINCRBY', P .. 'held:' .. type, key, by)
      groups[#groups + 1] = { type, key }
    end
  elseif ENDED[state] then
    local member = r.finishedAt .. ':' .. r.id
    if by > 0 then
      call('ZADD', P .. 'ended:' .. state, r.last, member)
      ended[#ended + 1] = r.id
    else
      call('ZREM', P .. 'ended:' .. state, member)
    end
  end
end

local function reindex(before, after)
  if before then index(before, -1) end
  if after then index(after, 1) end
  if not before or not LEASED[before.state] then return end
  if after and LEASED[after.state] then
    if before.state ~= after.state then cancelled[#cancelled + 1] = after.id end
  else
    left[before.type] = true
  end
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
  local held = tonumber(call('HGET', P .. 'held:' .. type, key) or '0')
  if held <= 0 then call('HDEL', P .. 'held:' .. type, key) end
  local first = call('ZRANGE', queueOf(type, key), 0, 0, 'WITHSCORES')
  local limited = call('HGET', P .. 'limits:' .. type, key)
  local shared = isShared(type)
  if #first == 0 or (key == '' and not shared) then
    call('HDEL', head, key)
    if limited then call('ZREM', P .. 'limited:' .. type, key) end
    if held <= 0 and #first == 0 then call('HDEL', P .. 'starts:' .. type, key) end
    return
  end
  local cap = call('HGET', P .. 'caps', type)
  local capped = cap and cap ~= '' and key ~= '' and held >= tonumber(cap)
  if limited then
    if capped then call('ZREM', P .. 'limited:' .. type, key) else call('ZADD', P .. 'limited:' .. type, limited, key) end
  end
  if capped or limited then
    call('HSET', head, key, '')
    return
  end
  local finish = 0
  if shared then
    local weight = tonumber(call('HGET', P .. 'job:' .. first[1]:sub(17), 'keyWeight') or '${defaultKeyWeight}')
    finish = tonumber(call('HGET', P .. 'starts:' .. type, key) or '0') + 1 / weight
  end
  local member = rank(first[2], first[1]) .. key
  call('ZADD', heads, string.format('%.17g', finish), member)
  call('HSET', head, key, member)
end

local function arrangeGroups()
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
  for name, by in pairs(counts) do if by ~= 0 then call('HINCRBY', P .. 'counts', name, by) end end
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

local function log(seq, id, type, text)
  call('XADD', P .. 'log', 'MAXLEN', '~', logMax, seq .. '-0', 'i', id, 't', type, 'e', text)
end

-- Adds to the history of a job; gives its length.
local function remember(id, text)
  local length = call('RPUSH', P .. 'history:' .. id, text)
  if length > ${caps.history} then call('LTRIM', P .. 'history:' .. id, -${caps.history}, -1) end
  return length
end

-- Writes what follows from the rows that have changed; gives the wake-ups.
local function finish()
  arrangeGroups()
  writeCounts()
  -- A type that was found at a cap has room where a run has ended.
  for type in pairs(left) do if call('HDEL', P .. 'capped', type) == 1 then ready[type] = true end end
  for type in pairs(ready) do
    local queued = 0
    for state in pairs(CLAIMABLE) do queued = queued + tonumber(call('HGET', P .. 'counts', state .. ':' .. type) or '0') end
    if queued > 0 then hints[#hints + 1] = { kind = 'ready', type = type, atMost = queued } end
  end
  if dueAt then hints[#hints + 1] = { kind = 'due', at = dueAt } end
  if #cancelled > 0 then hints[#hints + 1] = { kind = 'cancelled', ids = cancelled } end
  if #ended > 100 then hints[#hints + 1] = { kind = 'ended' }
  elseif #ended > 0 then hints[#hints + 1] = { kind = 'ended', ids = ended } end
  if shrunk > 0 and call('DEL', P .. 'full') == 1 then hints[#hints + 1] = { kind = 'room' } end
  for type, by in pairs(shrunkOf) do
    if by > 0 and call('HDEL', P .. 'full-queues', type) == 1 then hints[#hints + 1] = { kind = 'room', type = type } end
  end
  if #hints == 0 then return '' end
  local text = cjson.encode(hints)
  call('PUBLISH', P .. 'hints', origin .. ' ' .. text)
  return text
end
`

/**
 * Carries out a plan (see `plan.ts`), or nothing of it if something is not as it was read.
 * Answers the time, the wake-ups and the number before the first new one; or the time, and the names of what has changed.
 */
export const commitScript = `${prelude}
local plan = cjson.decode(ARGV[3])
local PENDING = ${pending}
local stale = {}

local function revision(row) return row and row.rev .. ':' .. row.seq or '' end

local read = plan.read or {}
for i = 1, #read, 2 do
  local v = call('HMGET', P .. 'job:' .. read[i], 'rev', 'seq')
  if (v[1] and v[1] .. ':' .. v[2] or '') ~= read[i + 1] then stale[#stale + 1] = 'row ' .. read[i] end
end
local rows = plan.rows or {}
local before = {}
for i, row in ipairs(rows) do
  before[i] = readRow(row.id)
  if revision(before[i]) ~= row.rev then stale[#stale + 1] = 'row ' .. row.id end
end
local cells = plan.cells or {}
for _, cell in ipairs(cells) do
  if call('HGET', cell[1], cell[2]) ~= cell[3] then stale[#stale + 1] = cell[1]:sub(#P + 1) .. ' ' .. cell[2] end
end
if plan.room and backlog() > plan.room then stale[#stale + 1] = 'backlog' end
for _, limit in ipairs(plan.queueRooms or {}) do
  if backlog(limit[1]) > limit[2] then stale[#stale + 1] = 'backlog' end
end
if #stale > 0 then return { clock, 'stale', stale } end

local entries = plan.log or {}
local base = tonumber(call('GET', P .. 'seq') or '0') + 1
if #entries > 0 then call('INCRBY', P .. 'seq', #entries) end

-- The numbers that were not given when the plan was made.
local function given(digits) return int(tonumber(digits) - PENDING + base) end
local NUMBER = '9%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d'
local function number(text) if #text == 16 and text:match('^' .. NUMBER .. '$') then return given(text) end return text end
local function numbers(text, most)
  return (text:gsub('"seq":(' .. NUMBER .. ')', function(digits) return '"seq":' .. given(digits) end, most))
end
local NUMBERED = { seq = number, place = number, last = number, checkpointSeq = number, settled = numbers, unsupported = numbers }

for i, row in ipairs(rows) do
  local id = row.id
  local job = P .. 'job:' .. id
  if row.gone then
    reindex(before[i], nil)
    call('ZREM', P .. 'all', id)
    call('DEL', job, P .. 'history:' .. id, P .. 'checkpoints:' .. id, P .. 'inbox:' .. id, P .. 'steps:' .. id)
  else
    local set = row.set
    for j = 1, #set, 2 do
      local fix = NUMBERED[set[j]]
      if fix then set[j + 1] = fix(set[j + 1]) end
    end
    call('HSET', job, unpack(set))
    if row.unset then call('HDEL', job, unpack(row.unset)) end
    local after = changed(before[i], id, set, row.unset)
    reindex(before[i], after)
    if not before[i] then call('ZADD', P .. 'all', after.seq, id) end
    for _, key in ipairs(row.enter or {}) do call('ZADD', key, after.seq, id) end
    if row.historyDropped then call('RPOP', P .. 'history:' .. id, row.historyDropped) end
    if row.inboxDropped then call('LPOP', P .. 'inbox:' .. id, row.inboxDropped) end
    for _, message in ipairs(row.messages or {}) do call('RPUSH', P .. 'inbox:' .. id, message) end
    if row.forgetsCheckpoints then call('DEL', P .. 'checkpoints:' .. id) end
    if row.checkpoints then
      for _, text in ipairs(row.checkpoints) do call('RPUSH', P .. 'checkpoints:' .. id, numbers(text, 1)) end
      call('LTRIM', P .. 'checkpoints:' .. id, -${caps.checkpoints}, -1)
    end
    if row.forgetsSteps then call('DEL', P .. 'steps:' .. id) end
    if row.stepsDropped then for _, name in ipairs(row.stepsDropped) do call('HDEL', P .. 'steps:' .. id, name) end end
    local steps = row.steps or {}
    for j = 1, #steps, 2 do call('HSET', P .. 'steps:' .. id, steps[j], steps[j + 1]) end
  end
  for _, key in ipairs(row.leave or {}) do call('ZREM', key, id) end
end
for _, cell in ipairs(cells) do
  if cell[4] == false then call('HDEL', cell[1], cell[2])
  elseif cell[4] ~= 0 then call('HSET', cell[1], cell[2], cell[4]) end
end
for _, tick in ipairs(plan.ticks or {}) do
  if tick[2] then call('ZADD', P .. 'ticks', tick[2], tick[1]) else call('ZREM', P .. 'ticks', tick[1]) end
end
for i, entry in ipairs(entries) do
  local id, text = entry[1], numbers(entry[3], 1)
  log(int(base + i - 1), id, entry[2], text)
  if entry[4] == 1 then
    remember(id, text)
  end
end
if plan.full then call('SET', P .. 'full', '1') end
for _, type in ipairs(plan.fullQueues or {}) do call('HSET', P .. 'full-queues', type, '1') end
for _, hint in ipairs(plan.hints or {}) do
  if hint.kind == 'ready' then ready[hint.type] = true else hints[#hints + 1] = hint end
end
return { clock, finish(), int(base) }
`

/** Where a claim leads, and what it does to the attempts; the same for any number of them. */
function claimArrow(): { readonly from: JobState; readonly to: JobState; readonly attempts: number } {
  const [from, ...others] = [...claimable]
  if (from === undefined || others.length > 0) throw new TypeError('job.machine.ts: jobs are claimed from one state')
  const spent = [0, 7].map((attempt) => {
    const counters = { attempt, maxAttempts: 9, generation: 1 }
    const arrow = nextTransition(from, 'CLAIM', counters)
    if (arrow === null || arrow.lease !== 'begins') throw new TypeError('job.machine.ts: a claim begins a lease')
    return { to: arrow.to, by: countersAfter(arrow, counters).attempt - attempt }
  })
  const [first, second] = spent
  if (first === undefined || first.by !== second?.by) throw new TypeError('job.machine.ts: a claim counts alike')
  return { from, to: first.to, attempts: first.by }
}

const arrow = claimArrow()

/**
 * Hands out jobs. Answers the time, the wake-ups, per job what is kept of it (id, fields, history, results of steps, last
 * checkpoint, inbox), and of each type that gave fewer than were asked what the core needs to say why.
 */
export const claimScript = `${prelude}
local request = cjson.decode(ARGV[3])
local now = request.now or clock
local leaseEnd = int(tonumber(now) + request.leaseMs)
local jobs, shortfalls = {}, {}
-- Numbers of transitions: the last one before the claim, and how many it has given.
local base, given = tonumber(call('GET', P .. 'seq') or '0'), 0

local function countOf(name) return tonumber(call('HGET', P .. 'counts', name) or '0') + (counts[name] or 0) end
local function leased(type)
  local sum = 0
  for state in pairs(LEASED) do sum = sum + countOf(state .. ':' .. type) end
  return sum
end

-- A key that is held until the start is free for others from then on.
local function giveUpKey(id, name)
  if call('HGET', P .. 'holders', name) ~= id then return end
  call('HDEL', P .. 'holders', name)
  call('HSET', P .. 'predecessors', name, '{"id":' .. cjson.encode(id) .. ',"next":null}')
end

local function rateWindow(type) return P .. 'rate:' .. type end
local function keyWindow(type, key) return P .. 'key-rate:' .. #type .. ':' .. type .. ':' .. key end

local function claim(id, demand)
  local before = readRow(id)
  if not before or before.state ~= '${arrow.from}' then return false end
  local job = P .. 'job:' .. id
  local attempt = int(tonumber(before.attempt or '0') + ${arrow.attempts})
  given = given + 1
  local seq = int(base + given)
  local set = { 'state', '${arrow.to}', 'attempt', attempt, 'last', seq, 'worker', request.worker, 'token', request.token,
    'startedAt', now, 'wakeAt', leaseEnd, 'rev', int(tonumber(before.rev) + 1) }
  if demand.maxAttempts and not (before.pins and cjson.decode(before.pins).maxAttempts) then
    set[#set + 1] = 'maxAttempts'
    set[#set + 1] = int(demand.maxAttempts)
  end
  if demand.onDead then
    set[#set + 1] = 'onDead'
    set[#set + 1] = demand.onDead
  elseif before.onDead then
    call('HDEL', job, 'onDead')
  end
  call('HSET', job, unpack(set))
  reindex(before, changed(before, id, set))
  if before.keyName then giveUpKey(id, before.keyName) end
  local text = '{"seq":' .. seq .. ',"at":' .. now .. ',"event":"CLAIM","from":"${arrow.from}","to":"${arrow.to}","attempt":'
    .. attempt .. ',"worker":' .. request.workerText .. '}'
  log(seq, id, before.type, text)
  local history = remember(id, text) == 1 and { text } or call('LRANGE', P .. 'history:' .. id, 0, -1)
  local steps = before.steps and call('HGETALL', P .. 'steps:' .. id) or {}
  local checkpoint, inbox = '', {}
  if before.machine then
    checkpoint = call('LINDEX', P .. 'checkpoints:' .. id, -1) or ''
    inbox = call('LRANGE', P .. 'inbox:' .. id, 0, -1)
  end
  if demand.rate then call('ZADD', rateWindow(before.type), now, seq) end
  jobs[#jobs + 1] = { id, call('HGETALL', job), history, steps, checkpoint, inbox }
  return true
end

-- How many claims a window has free.
local function free(window, rate)
  -- A clock that was set back would keep all claims away until it has caught up: what was spent then, was spent now.
  for _, member in ipairs(call('ZRANGEBYSCORE', window, '(' .. now, '+inf')) do call('ZADD', window, now, member) end
  call('ZREMRANGEBYSCORE', window, '-inf', int(tonumber(now) - rate.perMs))
  return rate.limit - call('ZCARD', window)
end

-- When a window without a free claim has the next one.
local function freeAt(window, rate)
  local last = call('ZREVRANGE', window, rate.limit - 1, rate.limit - 1, 'WITHSCORES')
  return tonumber(last[2] or now) + rate.perMs
end

-- Arranges every group of a type again: what they are arranged by has changed.
local function arrangeAll(type)
  arrange(type, '')
  for _, key in ipairs(call('HKEYS', P .. 'head:' .. type)) do arrange(type, key) end
end

-- The cap per key, and whether keys share the claims, are those of the last claim.
local function setTerms(demand)
  local type, cap, shared = demand.type, demand.perKey and int(demand.perKey) or '', demand.keyShares == true
  if (call('HGET', P .. 'caps', type) or '') == cap and isShared(type) == shared then return end
  call('HSET', P .. 'caps', type, cap)
  call('HSET', P .. 'shared', type, shared and '1' or '0')
  if shared then call('HSETNX', P .. 'clocks', type, '0') end
  clocks[type] = nil
  sharing[type] = shared
  arrangeAll(type)
end

-- Brings up to now which keys have no free claim. All are asked anew if the rate or the clock was changed.
local function refreshKeyRates(type, rate)
  local terms = rate and int(rate.limit) .. '/' .. int(rate.perMs) or ''
  local before = call('HMGET', P .. 'key-rates', type, type .. ' at')
  if terms == '' and (before[1] or '') == '' then return end
  if (before[1] or '') ~= terms or tonumber(now) < tonumber(before[2] or '0') then
    call('DEL', P .. 'limits:' .. type, P .. 'limited:' .. type)
    arrangeAll(type)
  end
  call('HSET', P .. 'key-rates', type, terms, type .. ' at', now)
  for _, key in ipairs(call('ZRANGEBYSCORE', P .. 'limited:' .. type, '-inf', now)) do
    call('ZREM', P .. 'limited:' .. type, key)
    call('HDEL', P .. 'limits:' .. type, key)
    arrange(type, key)
  end
  -- Windows that have nothing in them any more.
  for _, key in ipairs(call('ZRANGEBYSCORE', P .. 'lapses:' .. type, '-inf', now, 'LIMIT', 0, 1000)) do
    call('ZREM', P .. 'lapses:' .. type, key)
    call('DEL', keyWindow(type, key))
  end
end

-- The group that is claimed from next: its key, the rank of its first job, and its entry among the heads.
local function firstGroup(demand)
  local type, rate = demand.type, demand.keyRate
  while true do
    local head = call('ZRANGE', P .. 'heads:' .. type, 0, 0)[1]
    if not head then return nil end
    local key = head:sub(27)
    if not rate or key == '' or free(keyWindow(type, key), rate) > 0 then return key, head:sub(1, 26), head end
    call('HSET', P .. 'limits:' .. type, key, int(freeAt(keyWindow(type, key), rate)))
    arrange(type, key)
  end
end

-- A job of a key is claimed: the key has had its turn.
local function charge(demand, key, head, member)
  local type = demand.type
  if demand.keyShares then
    local finish = tonumber(call('ZSCORE', P .. 'heads:' .. type, head))
    local clock = string.format('%.17g', math.max(tonumber(call('HGET', P .. 'clocks', type) or '0'), finish))
    call('HSET', P .. 'clocks', type, clock)
    clocks[type] = clock
    call('HSET', P .. 'starts:' .. type, key, clock)
  end
  if demand.keyRate and key ~= '' then
    call('ZADD', keyWindow(type, key), now, int(base + given) .. member)
    call('ZADD', P .. 'lapses:' .. type, int(tonumber(now) + demand.keyRate.perMs), key)
  end
end

local function claimFrom(demand)
  local type, room = demand.type, demand.max
  setTerms(demand)
  refreshKeyRates(type, demand.keyRate)
  if demand.concurrency then room = math.min(room, demand.concurrency - leased(type)) end
  if room > 0 and demand.rate then room = math.min(room, free(rateWindow(type), demand.rate)) end
  if room <= 0 then return 0 end
  local queue = P .. 'queue:' .. type
  local plain = demand.keyShares and {} or call('ZRANGE', queue, 0, room - 1, 'WITHSCORES')
  local grouped = call('EXISTS', P .. 'head:' .. type) == 1
  local taken, next = 0, 1
  while taken < room do
    local key, first, head = nil, nil, nil
    if grouped then key, first, head = firstGroup(demand) end
    local member = plain[next]
    local from = queue
    if key and (not member or first < rank(plain[next + 1], member)) then
      from = queueOf(type, key)
      member = call('ZRANGE', from, 0, 0)[1]
      charge(demand, key, head, member)
    else
      key = nil
      next = next + 2
    end
    if not member then break end
    if claim(member:sub(17), demand) then taken = taken + 1 else call('ZREM', from, member) end
    if key then
      groups[#groups + 1] = { type, key }
      arrangeGroups()
    end
  end
  return taken
end

-- What the rules of the core ask of a queue that gave fewer jobs than were asked for; see operations.ts.
local function facts(demand, paused)
  local type, rate = demand.type, demand.rate
  local queued = countOf('${arrow.from}:' .. type)
  if paused or queued <= 0 then return { type, paused and 1 or 0, int(queued) } end
  local open = firstGroup(demand) ~= nil or (not demand.keyShares and call('EXISTS', P .. 'queue:' .. type) == 1)
  local keysAt = not open and call('ZRANGE', P .. 'limited:' .. type, 0, 0, 'WITHSCORES')[2] or ''
  local rateFree, rateAt = 0, ''
  if rate then
    rateFree = free(rateWindow(type), rate)
    if rateFree <= 0 then rateAt = int(freeAt(rateWindow(type), rate)) end
  end
  -- The end of a run is news of this type: a cap may have been the reason, also that of a key.
  call('HSET', P .. 'capped', type, '1')
  return { type, 0, int(queued), int(leased(type)), open and 1 or 0, keysAt, int(rateFree), rateAt }
end

for _, demand in ipairs(request.demand) do
  local paused = call('HGET', P .. 'paused', demand.type) == '1'
  local taken = paused and 0 or claimFrom(demand)
  if taken < demand.max then shortfalls[#shortfalls + 1] = facts(demand, paused) end
end
if given > 0 then call('INCRBY', P .. 'seq', given) end
return { clock, finish(), jobs, shortfalls }
`
