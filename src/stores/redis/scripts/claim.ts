/**
 * Claims jobs. Returns the time, the wake-ups, the jobs, and for each type with fewer jobs than asked for the values from which the
 * core computes the reason. Of a job: id, row and input; if it has them, also the fields that are stored apart, results of steps, the
 * last checkpoint and the inbox.
 */
import { claimCounted } from '../../../core/activity.ts'
import { countersAfter, type JobState } from '../../../core/lifecycle.ts'
import { claimable, compiledArrow } from '../../../core/transition.ts'
import { dataLetters, flagLetters } from '../row-text.ts'
import { at, prelude, tail } from './prelude.ts'

/** The states of a claim, and how many attempts it adds, which must not depend on their number. */
function claimArrow(): { readonly from: JobState; readonly to: JobState; readonly attempts: number } {
  const [from, ...others] = [...claimable]
  if (from === undefined || others.length > 0) throw new TypeError('job.machine.ts: jobs are claimed from one state')
  const spent = [0, 7].map((attempt) => {
    const counters = { attempt, maxAttempts: 9, generation: 1 }
    const arrow = compiledArrow(from, 'CLAIM', counters)
    if (arrow === null || arrow.lease !== 'begins') throw new TypeError('job.machine.ts: a claim begins a lease')
    return { to: arrow.to, by: countersAfter(arrow, counters).attempt - attempt }
  })
  const [first, second] = spent
  if (first === undefined || first.by !== second?.by) throw new TypeError('job.machine.ts: a claim counts alike')
  return { from, to: first.to, attempts: first.by }
}

const arrow = claimArrow()
/** The state of a claimed job. */
export const claimed: JobState = arrow.to
/** A row with more data than its input. */
const more = `[${Object.entries(dataLetters).flatMap(([field, letter]) => (field === 'input' ? [] : [letter])).join('')}${flagLetters.steps}${flagLetters.machine}]` // prettier-ignore

export const claimScript = `${prelude}
local request = cjson.decode(ARGV[4])
local leaseEnd = int(tonumber(now) + request.leaseMs)
local jobs, shortfalls = {}, {}
-- Numbers of transitions: the last one before the claim, and how many it has given.
local base, given = tonumber(call('GET', P .. 'seq') or '0'), 0

local function countOf(state, type)
  return tonumber(call('HGET', P .. 'counts', state .. ':' .. type) or '0') + (counts[type] and counts[type][state] or 0)
end
local function leased(type)
  local sum = 0
  for state in pairs(LEASED) do sum = sum + countOf(state, type) end
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

-- What a job has beside row and input.
local function addRest(job, id, has)
  local data = {}
  for letter, field in pairs(DATA) do
    if letter ~= '${dataLetters.input}' and has:find(letter, 1, true) then
      data[#data + 1] = field
      data[#data + 1] = call('HGET', P .. 'data:' .. field, id)
    end
  end
  job[4] = data
  job[5] = has:find('${flagLetters.steps}', 1, true) and call('HGETALL', P .. 'steps:' .. id) or {}
  local isMachine = has:find('${flagLetters.machine}', 1, true)
  job[6] = isMachine and call('LINDEX', P .. 'checkpoints:' .. id, -1) or ''
  job[7] = isMachine and call('LRANGE', P .. 'inbox:' .. id, 0, -1) or {}
end

-- When a queued row made its last transition.
local function queuedAt(row)
  local rest = row[${tail}]
  if rest:byte(-1) == 0 then return tonumber(row[${at.enqueuedAt}]) end
  return tonumber(rest:match('[^%z\\n]*$'):match('^%[%d+,(%d+),'))
end

-- Claims the jobs of members of a queue, which the caller removes from it. Gives how many of them were queued.
local function claim(members, demand)
  local ids = {}
  for i, member in ipairs(members) do ids[i] = member:sub(17) end
  local rows, inputs, written = values(JOBS, ids), values(P .. 'data:input', ids), {}
  local sentence = ',' .. now .. ',"CLAIM","${arrow.from}","${arrow.to}",'
  local taken, waited = 0, 0
  for i, id in ipairs(ids) do
    local row = rows[i] and parse(rows[i])
    if row and row[${at.state}] == '${arrow.from}' then
      local type, key = row[${at.type}], row[${at.concurrencyKey}]
      count('${arrow.from}', type, -1)
      if key ~= '' or isShared(type) then groups[#groups + 1] = { type, key } end
      taken = taken + 1
      given = given + 1
      local seq, has = int(base + given), row[${at.has}]
      local attempt = int((tonumber(row[${at.attempt}]) or 0) + ${arrow.attempts})
      waited = waited + math.max(0, tonumber(now) - queuedAt(row))
      row[${at.rev}] = int(tonumber(row[${at.rev}]) + 1)
      row[${at.state}], row[${at.attempt}], row[${at.last}] = '${arrow.to}', attempt, seq
      row[${at.worker}], row[${at.token}] = request.worker, request.token
      row[${at.startedAt}], row[${at.wakeAt}] = now, leaseEnd
      if demand.maxAttempts and not has:find('${flagLetters.pinned}', 1, true) then row[${at.maxAttempts}] = int(demand.maxAttempts) end
      row[${at.onDead}] = demand.onDead or ''
      local text = '[' .. seq .. sentence .. attempt .. ',' .. request.workerText .. ']'
      remember(row, text)
      log(id, type, text)
      index(id, row, 1)
      if row[${at.keyName}] ~= '' then giveUpKey(id, row[${at.keyName}]) end
      if demand.rate then call('ZADD', rateWindow(type), now, seq) end
      local whole = rowText(row)
      written[#written + 1] = id
      written[#written + 1] = whole
      local job = { id, whole, inputs[i] or '' }
      if has:find('${more}') then addRest(job, id, has) end
      jobs[#jobs + 1] = job
    end
  end
  each('HSET', JOBS, written)
  tally(demand.type, ${claimCounted.figure}, taken)
  tally(demand.type, ${claimCounted.time}, waited)
  return taken
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

-- Jobs of a queue without groups, many at a time.
local function claimPlain(demand, room)
  local queue, taken = P .. 'queue:' .. demand.type, 0
  while taken < room do
    local members = call('ZRANGE', queue, 0, math.min(room - taken, 500) - 1)
    if #members == 0 then break end
    call('ZREMRANGEBYRANK', queue, 0, #members - 1)
    taken = taken + claim(members, demand)
  end
  return taken
end

-- Jobs with keys, one by one: each claim may change which key is next.
local function claimGrouped(demand, room)
  local type, taken, next = demand.type, 0, 1
  local queue = P .. 'queue:' .. type
  local plain = demand.keyShares and {} or call('ZRANGE', queue, 0, room - 1, 'WITHSCORES')
  while taken < room do
    local key, first, head = firstGroup(demand)
    local member, from = plain[next], queue
    if key and (not member or first < rank(plain[next + 1], member)) then
      from = queueOf(type, key)
      member = call('ZRANGE', from, 0, 0)[1]
      charge(demand, key, head, member)
    else
      key = nil
      next = next + 2
    end
    if not member then break end
    call('ZREM', from, member)
    taken = taken + claim({ member }, demand)
    if key then groups[#groups + 1] = { type, key } end
    arrangeGroups()
  end
  return taken
end

local function claimFrom(demand)
  local type, room = demand.type, demand.max
  setTerms(demand)
  refreshKeyRates(type, demand.keyRate)
  if demand.concurrency then room = math.min(room, demand.concurrency - leased(type)) end
  if room > 0 and demand.rate then room = math.min(room, free(rateWindow(type), demand.rate)) end
  if room <= 0 then return 0 end
  if call('EXISTS', P .. 'head:' .. type) == 1 then return claimGrouped(demand, room) end
  return claimPlain(demand, room)
end

-- What the rules of the core ask of a queue that gave fewer jobs than were asked for; see operations.ts.
local function facts(demand, paused)
  local type, rate = demand.type, demand.rate
  local queued = countOf('${arrow.from}', type)
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
if given > 0 then
  call('INCRBY', P .. 'seq', given)
  writeLog(base + given)
  writeActivity(now)
end
return { stamp(), finish(), jobs, shortfalls }
`
