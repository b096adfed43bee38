/**
 * Claims jobs. Returns the time, the wake-ups, the jobs, and for each type with fewer jobs than asked for the values
 * from which the core computes the reason. Of a job: id, row and input; if it has them, also the fields that are stored
 * apart, results of steps, the last checkpoint and the inbox.
 */
import { claimCounted } from '../../../core/activity.ts'
import { countersAfter, type JobState } from '../../../core/lifecycle.ts'
import { creditMax } from '../../../core/shares.ts'
import { termsHeldMs, termsNotedMs } from '../../../core/key-terms.ts'
import { compiledArrow } from '../../../core/compiled-arrows.ts'
import { dataLetters, flagLetters } from '../row-text.ts'
import { rankChars } from './groups.ts'
import { at, claimableState, fieldsOfLetters, leasedStates, tail, type LuaScript } from './lua.ts'
import { windowsLua } from './windows.ts'

/** What a claim answers at most, bytes; the last job, or the last few, may go beyond it. */
const claimBytesMax = 1_048_576
/** As which each job counts at least, bytes: so a claim answers 200 jobs at most. */
const claimBytesMin = Math.ceil(claimBytesMax / 200)
/** So many jobs are claimed before their size is known. */
const firstStep = 4
/** So many keys are arranged at once; a claim does that five times at most. */
const arrangeStep = 100
/**
 * What is kept for the limits of a type stays for so long after its last use, ms, and at least for the time of its
 * rates.
 */
export const limitsKeptMs = 86_400_000

/** The states of a claim, which counts as one attempt. */
function claimArrow(): { readonly from: JobState; readonly to: JobState } {
  const from = claimableState
  const targets = [0, 7].map((attempt) => {
    const counters = { attempt, maxAttempts: 9, generation: 1 }
    const arrow = compiledArrow(from, 'CLAIM', counters)
    if (arrow === null || arrow.lease !== 'begins') throw new TypeError('job.machine.ts: a claim begins a lease')
    const by = countersAfter(arrow, counters).attempt - attempt
    if (by !== 1) throw new TypeError('job.machine.ts: a claim counts as one attempt')
    return arrow.to
  })
  const [first, second] = targets
  if (first === undefined || first !== second) throw new TypeError('job.machine.ts: a claim leads to one state')
  return { from, to: first }
}

const arrow = claimArrow()
/** The state of a claimed job. */
export const claimed: JobState = arrow.to
/** A row with more data than its input. */
const more = `[${Object.entries(dataLetters)
  .flatMap(([field, letter]) => (field === 'input' ? [] : [letter]))
  .join('')}${flagLetters.steps}${flagLetters.machine}]`

export const claimScript: LuaScript = {
  definitions: `
local request, leaseEnd, jobs, shortfalls, unreadable, CLAIMED, WORKER
-- Numbers of transitions: the last one before the claim, and how many it has given.
local base, given

local function countOf(state, type)
  return tonumber(call('HGET', P .. 'counts', state .. ':' .. type) or '0') + (counts[type] and counts[type][state] or 0)
end
local function leased(type)
  local sum = 0
  for _, state in ipairs(${leasedStates}) do sum = sum + countOf(state, type) end
  return sum
end

-- A key that is held until the start is free for others from then on.
local function giveUpKey(id, row)
  local name, has = row[${at.keyName}], row[${at.has}]
  if name == '' or has:find('${flagLetters.givenUp}', 1, true) then return end
  row[${at.has}] = has .. '${flagLetters.givenUp}'
  call('HDEL', P .. 'holders', name)
  call('HSET', P .. 'predecessors', name, id)
end

${windowsLua}
-- What a job has beside row and input.
local function addRest(job, id, has)
  local data = {}
  for letter, field in pairs(${fieldsOfLetters}) do
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

-- How many bytes of jobs this call may still claim. A claim that comes to the limit is cut: the caller asks for the
-- rest.
local bytesLeft

-- As what a job counts, bytes.
local function bytesOf(job)
  local sum = #job[2] + #job[3] + #(job[6] or '')
  for _, list in ipairs({ job[4] or {}, job[5] or {}, job[7] or {} }) do
    for _, text in ipairs(list) do sum = sum + #(text or '') end
  end
  return math.max(sum, ${claimBytesMin})
end

-- When a queued row made its last transition.
local function queuedAt(row)
  local at = row[${tail}]:match('%z%[%d+,(%d+),[^%z]*$')
  return tonumber(at or row[${at.enqueuedAt}]) or nowMs
end

-- Claims the jobs of members of queues, which the caller removes from them; each for its demand.
local function claim(members, demands)
  local ids = {}
  for i, member in ipairs(members) do ids[i] = member:sub(17) end
  local rows, inputs, written = values(JOBS, ids), values(P .. 'data:input', ids), {}
  for i, id in ipairs(ids) do
    local row, demand = rows[i] and parse(rows[i]), demands[i]
    if rows[i] and not row then
      -- Its type is that of the queue; what else it was is not known.
      count('${arrow.from}', demand.type, -1)
      setAside(id, rows[i])
      unreadable[#unreadable + 1] = id
    end
    if row and row[${at.state}] == '${arrow.from}' then
      local type, key, has = demand.type, row[${at.concurrencyKey}], row[${at.has}]
      count('${arrow.from}', type, -1)
      if key ~= '' or demand.keyShares then groups[#groups + 1] = { type, key } end
      given = given + 1
      demand.taken = demand.taken + 1
      demand.waited = demand.waited + math.max(0, nowMs - queuedAt(row))
      local seq = int(base + given)
      local attempt = following(row[${at.attempt}])
      row[${at.rev}] = following(row[${at.rev}])
      row[${at.state}], row[${at.attempt}], row[${at.last}] = '${arrow.to}', attempt, seq
      row[${at.worker}], row[${at.token}] = request.worker, request.token
      row[${at.startedAt}], row[${at.wakeAt}] = now, leaseEnd
      if demand.maxAttempts and not has:find('${flagLetters.pinned}', 1, true) then row[${at.maxAttempts}] = demand.maxAttempts end
      row[${at.onDead}] = demand.onDead or ''
      local text = '[' .. seq .. CLAIMED .. attempt .. WORKER
      remember(row, text)
      log(id, type, text)
      index(id, row, 1)
      giveUpKey(id, row)
      if demand.rate then call('ZADD', rateWindow(type), now, seq) end
      local whole = rowText(row)
      written[#written + 1] = id
      written[#written + 1] = whole
      local job = { id, whole, inputs[i] or '' }
      if has:find('${more}') then addRest(job, id, has) end
      jobs[#jobs + 1] = job
      bytesLeft = bytesLeft - bytesOf(job)
    end
  end
  writeRows(written)
end

-- How many claims a window has free.
local function free(window, rate)
  -- A clock that was set back would keep all claims away until it has caught up: what was spent then, was spent now.
  for _, member in ipairs(call('ZRANGEBYSCORE', window, '(' .. now, '+inf')) do call('ZADD', window, now, member) end
  call('ZREMRANGEBYSCORE', window, '-inf', int(nowMs - rate.perMs))
  return rate.limit - call('ZCARD', window)
end

-- When a window without a free claim has the next one.
local function freeAt(window, rate)
  local last = call('ZREVRANGE', window, rate.limit - 1, rate.limit - 1, 'WITHSCORES')
  return tonumber(last[2] or now) + rate.perMs
end

local function writeShare(type, on, clock)
  local text = (on and '+' or '-') .. clock
  call('HSET', P .. 'shares', type, text)
  readShare(type, text)
end

-- How many keys this call may still arrange.
local arrangeable

-- Keys that may be arranged otherwise than the terms that hold now demand: the index that they stand in is left as it
-- is, under another name.
-- @param prefix how many characters of its members go before the key
local function leaveUnarranged(type, index, prefix)
  local name = P .. index .. ':' .. type
  if call('EXISTS', name) == 0 then return end
  local unarranged = prefix .. ':' .. call('HINCRBY', P .. 'terms', '', 1)
  call('RENAME', name, P .. 'unarranged-keys:' .. unarranged)
  call('RPUSH', P .. 'unarranged:' .. type, unarranged)
end

-- Arranges some of them. Is there any to be claimed from, perhaps?
local function arrangeSome(type)
  local unarranged = arrangeable > 0 and call('LINDEX', P .. 'unarranged:' .. type, 0)
  if not unarranged then return false end
  local prefix, members = tonumber(unarranged:match('^%d+')), call('ZPOPMIN', P .. 'unarranged-keys:' .. unarranged, ${arrangeStep})
  for i = 1, #members, 2 do arrange(type, members[i]:sub(prefix + 1)) end
  if #members < ${2 * arrangeStep} then call('LPOP', P .. 'unarranged:' .. type) end
  arrangeable = arrangeable - ${arrangeStep}
  return true
end

local function rateText(rate) return rate and int(rate.limit) .. '/' .. int(rate.perMs) or '' end
local function rateOf(text)
  local limit, perMs = (text or ''):match('^(%d+)/(%d+)$')
  return limit and { limit = tonumber(limit), perMs = tonumber(perMs) } or nil
end

-- Takes note that what is kept for the limits of a type is used: see forget.ts. Of rates by key it is known when their
-- time has passed.
local function keepLimits(demand)
  local keptMs = math.max(${limitsKeptMs}, demand.rate and demand.rate.perMs or 0)
  call('ZADD', P .. 'limit-looks', 'GT', int(nowMs + keptMs), demand.type)
end

-- The limits per key, and whether keys share the claims, hold for a type: see core/key-terms.ts.
local function settleTerms(demand, cap, rate, terms)
  local type, share = demand.type, shareOf(demand.type)
  cap, rate = cap or '', rate or ''
  local ownCap, ownRate = demand.perKey and int(demand.perKey) or '', rateText(demand.keyRate)
  local since, heldSince, heldAt = request.since or 0, (terms or ''):match('^(%d+) (%d+)$')
  local isSame = cap == ownCap and rate == ownRate and share.on == (demand.keyShares == true)
  if isSame then
    if heldSince and (since > tonumber(heldSince) or nowMs - tonumber(heldAt) >= ${termsNotedMs}) then
      call('HSET', P .. 'terms', type, int(math.max(since, tonumber(heldSince))) .. ' ' .. now)
      keepLimits(demand)
    end
    return
  end
  if request.since and heldSince and since < tonumber(heldSince) and nowMs - tonumber(heldAt) < ${termsHeldMs} then
    demand.perKey, demand.keyRate, demand.keyShares = tonumber(cap), rateOf(rate), share.on
    return
  end
  call('HSET', P .. 'terms', type, int(since) .. ' ' .. now)
  keepLimits(demand)
  if cap ~= ownCap then
    call('HSET', P .. 'caps', type, ownCap)
    leaveUnarranged(type, 'capped-keys', 0)
  end
  if rate ~= ownRate then
    call('HSET', P .. 'key-rates', type, ownRate)
    call('UNLINK', P .. 'limits:' .. type)
    leaveUnarranged(type, 'limited', 0)
  end
  if share.on ~= (demand.keyShares == true) then
    writeShare(type, demand.keyShares == true, share.clock or '0')
    leaveUnarranged(type, 'heads', ${rankChars})
    arrange(type, '')
  end
end

-- Brings up to now which keys have no free claim. All are asked anew if the clock was set back.
local function refreshKeyRates(type, rate)
  if not rate then return end
  local before = call('HGET', P .. 'key-rates-at', type)
  if nowMs < tonumber(before or '0') then
    call('UNLINK', P .. 'limits:' .. type)
    leaveUnarranged(type, 'limited', 0)
  end
  call('HSET', P .. 'key-rates-at', type, now)
  for _, key in ipairs(call('ZRANGEBYSCORE', P .. 'limited:' .. type, '-inf', now, 'LIMIT', 0, ${arrangeStep})) do
    call('ZREM', P .. 'limited:' .. type, key)
    call('HDEL', P .. 'limits:' .. type, key)
    arrange(type, key)
  end
  -- Windows that have nothing in them any more.
  for _, key in ipairs(call('ZRANGEBYSCORE', P .. 'lapses:' .. type, '-inf', now, 'LIMIT', 0, ${arrangeStep})) do
    call('ZREM', P .. 'lapses:' .. type, key)
    call('DEL', keyWindow(type, key))
  end
end

-- The group that is claimed from next: its key, the rank of its first job, and its entry among the heads. After lower
-- limits no key may be claimed from, however many there are: the next call goes on.
local function firstGroup(demand)
  local type, rate = demand.type, demand.keyRate
  while true do
    local head = call('ZRANGE', P .. 'heads:' .. type, 0, 0)[1]
    if not head then return nil end
    local key = head:sub(${rankChars + 1})
    -- It may still stand among the heads if its cap was lowered.
    local atCap = isAtCap(type, key, leasedOf(type, key), demand.perKey)
    if not atCap then
      if not rate or key == '' or free(keyWindow(type, key), rate) > 0 then return key, head:sub(1, ${rankChars}), head end
    end
    if arrangeable <= 0 then
      demand.goesOn = true
      return nil
    end
    if not atCap then call('HSET', P .. 'limits:' .. type, key, int(freeAt(keyWindow(type, key), rate))) end
    arrangeable = arrangeable - 1
    arrange(type, key)
  end
end

-- A job of a key is claimed: the key has had its turn.
local function charge(demand, key, head, member)
  local type = demand.type
  if demand.keyShares then
    local finish = tonumber(call('ZSCORE', P .. 'heads:' .. type, head))
    local clock, start = math.max(tonumber(shareOf(type).clock), finish), finish
    if finish < clock then start = math.max(finish, clock - ${creditMax} / weightOf(member)) end
    writeShare(type, true, string.format('%.17g', clock))
    call('HSET', P .. 'starts:' .. type, key, string.format('%.17g', start))
  end
  if demand.keyRate and key ~= '' then
    call('ZADD', keyWindow(type, key), now, int(base + given) .. member)
    call('ZADD', P .. 'lapses:' .. type, int(nowMs + demand.keyRate.perMs), key)
  end
end

-- Jobs of queues without groups: those of all queues are read and written together, few at first, and then as many as
-- the bytes allow.
local function claimPlain(demands)
  local open, step = demands, ${firstStep}
  while #open > 0 do
    local members, of, full = {}, {}, {}
    for _, demand in ipairs(open) do
      local wanted = math.min(demand.room - demand.taken, step - #members)
      if wanted > 0 then
        local popped = call('ZPOPMIN', P .. 'queue:' .. demand.type, int(wanted))
        for i = 1, #popped, 2 do
          members[#members + 1] = popped[i]
          of[#of + 1] = demand
        end
        if #popped == 2 * wanted then full[#full + 1] = demand end
      elseif demand.taken < demand.room then
        full[#full + 1] = demand
      end
    end
    local before = bytesLeft
    if #members > 0 then claim(members, of) end
    open = full
    if bytesLeft <= 0 then
      for _, demand in ipairs(open) do demand.cut = demand.taken < demand.room end
      return
    end
    local each = math.max(1, (before - bytesLeft) / math.max(1, #members))
    step = math.max(1, math.min(4 * step, math.floor(bytesLeft / each)))
  end
end

-- Jobs with keys, one by one: each claim may change which key is next.
local function claimGrouped(demand)
  local type, room, next = demand.type, demand.room, 1
  local queue, of = P .. 'queue:' .. type, { demand }
  local plain = demand.keyShares and {} or call('ZRANGE', queue, 0, room - 1, 'WITHSCORES')
  arrangeSome(type)
  while demand.taken < room do
    if bytesLeft <= 0 then
      demand.cut = true
      return
    end
    local key, first, head = firstGroup(demand)
    while not key and arrangeSome(type) do key, first, head = firstGroup(demand) end
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
    claim({ member }, of)
    if key then groups[#groups + 1] = { type, key } end
    arrangeGroups()
  end
end

-- How many jobs of a type may be claimed.
local function roomFor(demand)
  local type, room = demand.type, demand.max
  if demand.concurrency then room = math.min(room, demand.concurrency - leased(type)) end
  if room > 0 and demand.rate then room = math.min(room, free(rateWindow(type), demand.rate)) end
  return math.max(room, 0)
end

-- What the rules of the core ask of a queue that gave fewer jobs than were asked for; see operations.ts.
local function facts(demand)
  local type, rate = demand.type, demand.rate
  local queued = countOf('${arrow.from}', type)
  if demand.paused or queued <= 0 then return { type, demand.paused and 1 or 0, int(queued) } end
  local open = firstGroup(demand) ~= nil or (not demand.keyShares and call('EXISTS', P .. 'queue:' .. type) == 1)
  local keysAt = not open and call('ZRANGE', P .. 'limited:' .. type, 0, 0, 'WITHSCORES')[2] or ''
  -- The next claim arranges more keys.
  if not open and (demand.goesOn or call('EXISTS', P .. 'unarranged:' .. type) == 1) then keysAt = now end
  local rateFree, rateAt = 0, ''
  if rate then
    rateFree = free(rateWindow(type), rate)
    if rateFree <= 0 then rateAt = int(freeAt(rateWindow(type), rate)) end
  end
  -- The end of a run is news of this type: a cap may have been the reason, also that of a key.
  call('HSET', P .. 'capped', type, '1')
  return { type, 0, int(queued), int(leased(type)), open and 1 or 0, keysAt, int(rateFree), rateAt }
end

-- Claims what a request asks for. Gives the jobs, and what falls short.
local function claimAll(text)
  request = cjson.decode(text)
  leaseEnd = int(nowMs + request.leaseMs)
  jobs, shortfalls, unreadable, base, given = {}, {}, {}, seqNow, 0
  bytesLeft = ${claimBytesMax}
  local cut = {}
  CLAIMED = ',' .. now .. ',"CLAIM","${arrow.from}","${arrow.to}",'
  WORKER = ',' .. request.workerText .. ']'
  local demands, types, heads = request.demand, {}, {}
  for i, demand in ipairs(demands) do
    types[i] = demand.type
    heads[i] = P .. 'head:' .. demand.type
  end
  local paused, caps, rates = values(P .. 'paused', types), values(P .. 'caps', types), values(P .. 'key-rates', types)
  local terms = values(P .. 'terms', types)
  arrangeable = ${arrangeStep * 5}
  for i, text in ipairs(values(P .. 'shares', types)) do readShare(types[i], text) end
  for i, demand in ipairs(demands) do
    demand.paused, demand.room, demand.taken, demand.waited = paused[i] == '1', 0, 0, 0
    if not demand.paused then
      settleTerms(demand, caps[i], rates[i], terms[i])
      refreshKeyRates(demand.type, demand.keyRate)
      demand.room = roomFor(demand)
    end
  end
  local plain, grouped = {}, false
  for i = 1, #heads, 2000 do grouped = call('EXISTS', unpack(heads, i, math.min(i + 1999, #heads))) > 0 or grouped end
  for i, demand in ipairs(demands) do
    if grouped and demand.room > 0 and call('EXISTS', heads[i]) == 1 then
      -- Jobs are answered in the order of the demands.
      claimPlain(plain)
      plain = {}
      claimGrouped(demand)
    else
      plain[#plain + 1] = demand
    end
  end
  claimPlain(plain)
  for _, demand in ipairs(demands) do
    if demand.taken > 0 then
      tally(demand.type, ${claimCounted.figure}, demand.taken)
      tally(demand.type, ${claimCounted.time}, demand.waited)
      if demand.rate or demand.keyRate then keepLimits(demand) end
    end
    if demand.cut then
      cut[#cut + 1] = demand.type
    elseif demand.taken == demand.max then
      more[demand.type] = true
    else
      shortfalls[#shortfalls + 1] = facts(demand)
      quiet[#quiet + 1] = demand.type
    end
  end
  advance(given)
  return jobs, shortfalls, cut, unreadable
end
`,
  call: 'local jobs, shortfalls, cut, unreadable = claimAll(ARGV[4])',
  answer: 'jobs, shortfalls, cut, unreadable',
}
