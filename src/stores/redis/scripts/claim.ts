/**
 * Claims jobs. Answers the time, the wake-ups, the number before the first transition, the ids and rows of the jobs in
 * the order of their numbers, what was appended to them, and for each type with fewer jobs than asked for the values
 * from which the core computes the reason. What was appended: how many jobs, their type and the text; an empty one if
 * their rows were written whole, and are answered so. Beside the rows: the place of a job, the fields that are stored
 * apart, results of steps, the last checkpoint and the inbox.
 */
import { claimCounted } from '../../../core/activity.ts'
import { countersAfter, type JobState } from '../../../core/lifecycle.ts'
import { creditMax } from '../../../core/shares.ts'
import { termsHeldMs, termsNotedMs } from '../../../core/key-terms.ts'
import { compiledArrow } from '../../../core/compiled-arrows.ts'
import { figureAt } from '../figures.ts'
import { timeChars } from '../grown.ts'
import { dataLetters, flagLetters } from '../row-text.ts'
import { rankChars } from './groups.ts'
import { at, claimableState, fieldsOfLetters, leasedStates, tail, type LuaScript } from './lua.ts'
import { wholeRowsMax } from '../../remote/parts.ts'
import { noteClaim } from './figures.ts'
import { limitsKeptMs, windowsLua } from './windows.ts'

/** What a claim answers at most, bytes; the last job, or the last few, may go beyond it. */
export const claimBytesMax = 1_048_576
/** Jobs that a claim answers at most. */
export const claimJobsMax = 100
/** As which each job counts at least, bytes; those whose rows are written whole, as more. */
const claimBytesMin = Math.ceil(claimBytesMax / claimJobsMax)
const wholeBytesMin = Math.ceil(claimBytesMax / wholeRowsMax)
/** How often one call takes entries of queues. */
const claimRounds = 4
/** So many keys are arranged at once; a claim does that five times at most. */
const arrangeStep = 100
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
/** A row with more data beside it. */
const more = `[${Object.values(dataLetters).join('')}${flagLetters.steps}${flagLetters.machine}]`

export const claimScript: LuaScript = {
  definitions: `
local claimAll
do
local request, leaseEnd, shortfalls, unreadable, CLAIMED, WORKER
-- Ids and rows of the jobs, what was appended to these, and what a job has beside its row.
local jobs, texts, runs, beside
-- Numbers of transitions: the last one before the claim, and how many it has given. Which jobs have one lease: of each
-- part of them the first and the last.
local base, baseText, given, grown

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
-- What a job has beside its row, and how many bytes that is.
local function besideOf(id, has)
  local data, bytes = {}, 0
  local function add(text) bytes = bytes + #(text or '') return text end
  for letter, field in pairs(${fieldsOfLetters}) do
    if has:find(letter, 1, true) then
      data[#data + 1] = field
      data[#data + 1] = add(call('HGET', P .. 'data:' .. field, id))
    end
  end
  local steps = has:find('${flagLetters.steps}', 1, true) and call('HGETALL', P .. 'steps:' .. id) or {}
  local isMachine = has:find('${flagLetters.machine}', 1, true)
  local checkpoint = isMachine and call('LINDEX', P .. 'checkpoints:' .. id, -1) or ''
  local inbox = isMachine and call('LRANGE', P .. 'inbox:' .. id, 0, -1) or {}
  for _, text in ipairs(steps) do add(text) end
  for _, text in ipairs(inbox) do add(text) end
  add(checkpoint)
  return { int(#jobs), data, steps, checkpoint, inbox }, bytes
end

-- How many bytes of jobs this call may still claim. A claim that comes to the limit is cut: the caller asks for the
-- rest.
local bytesLeft

-- Takes note of what was appended to the rows of jobs of a type.
local function addRun(type, text, amount)
  local n = #runs
  if n > 0 and runs[n] == text and runs[n - 1] == type then
    runs[n - 2] = runs[n - 2] + amount
  else
    runs[n + 1], runs[n + 2], runs[n + 3] = amount, type, text
  end
end

-- When a queued row made its last transition.
local function queuedAt(row)
  local at = row[${tail}]:match('%z%[%d+,(%d+),[^%z]*$')
  return tonumber(at or row[${at.enqueuedAt}]) or nowMs
end

-- Claims a job whose row is written whole.
local function claimWhole(id, text, demand, written)
  local row, type = parse(text), demand.type
  if not row then
    -- Its type is that of the queue; what else it was is not known.
    count('${arrow.from}', type, -1)
    setAside(id, text)
    unreadable[#unreadable + 1] = id
    return
  end
  if row[${at.state}] ~= '${arrow.from}' then return end
  local key, has = row[${at.concurrencyKey}], row[${at.has}]
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
  local entry = '[' .. seq .. CLAIMED .. attempt .. WORKER
  remember(row, entry)
  log(id, type, entry)
  index(id, row, 1)
  giveUpKey(id, row)
  if demand.rate then call('ZADD', rateWindow(type), now, seq) end
  local whole = rowText(row)
  written[#written + 1] = id
  written[#written + 1] = whole
  jobs[#jobs + 1] = id
  texts[#texts + 1] = whole
  addRun(type, '', 1)
  local bytes = 0
  if has:find('${more}') then beside[#beside + 1], bytes = besideOf(id, has) end
  bytesLeft = bytesLeft - math.max(#whole + bytes, ${wholeBytesMin})
end

-- Takes note of jobs of a demand that were claimed and whose rows grow: the last of all so far.
local function addGrown(amount, waited, demand, suffix)
  if amount == 0 then return end
  local type, to = demand.type, #jobs
  local from = to - amount + 1
  addRun(type, suffix, amount)
  local parts = #grown
  if parts > 0 and grown[parts] == from - 1 then grown[parts] = to else grown[parts + 1], grown[parts + 2] = from, to end
  count('${arrow.from}', type, -amount)
  count('${arrow.to}', type, amount)
  leasedBy[request.worker] = (leasedBy[request.worker] or 0) + amount
  demand.taken, demand.waited = demand.taken + amount, demand.waited + waited
  logAll(jobs, from, to, type, base + given - amount + 1, CLAIMED .. '1' .. WORKER)
  if demand.rate then
    for i = 1, amount do call('ZADD', rateWindow(type), now, int(base + given - amount + i)) end
  end
end

-- The jobs whose rows have grown have one lease.
local function leaseClaim()
  local amount, ids = 0, {}
  for part = 1, #grown, 2 do
    amount = amount + grown[part + 1] - grown[part] + 1
    ids[#ids + 1] = table.concat(jobs, '\\0', grown[part], grown[part + 1])
  end
  if amount == 0 then return end
  local claim, text = claimOf(leaseEnd, request.tokenPlain), table.concat(ids, '\\0')
  local name = claimName(claim)
  -- A claim that was cut goes on with the same token.
  if call('HINCRBY', P .. 'claims', name, amount) > amount then text = call('HGET', P .. 'claims', claim) .. '\\0' .. text end
  call('HSET', P .. 'claims', claim, text)
  call('ZADD', LEASES, leaseEnd, name)
end

-- Claims jobs of a demand, from one entry to another: of those whose rows grow what is appended is the same for all but
-- its number. Gives which is the first that is not claimed because of its size.
local function claimEntries(demand, entries, rows, i, last, written)
  local ids, places, growable = entries.ids, entries.places, not demand.keyShares
  local suffix = ',' .. now .. ',' .. request.workerText .. ',' .. request.tokenText .. ',' .. leaseEnd .. ','
    .. (demand.maxAttempts or 'null') .. ',' .. (demand.onDeadText or 'null') .. '\\1'
  local prefix, amount, waited, came, cameAt = '\\0C' .. baseText .. '+', 0, 0, nil, nowMs
  local n, m = #later, #jobs
  while i <= last and bytesLeft > 0 do
    local text, place = rows[i], places[i]
    if text then
      local isGrown = text:byte() == 43
      if isGrown and growable and text:byte(-1) ~= 1 and (not place or isFreshAt(text, place)) then
        local since = text:sub(2, ${timeChars + 1})
        if since ~= came then came, cameAt = since, math.min(tonumber(since) or nowMs, nowMs) end
        waited = waited + nowMs - cameAt
        given, amount, n, m = given + 1, amount + 1, n + 2, m + 1
        later[n - 1], later[n] = ids[i], text .. prefix .. TEXTS[given] .. suffix
        jobs[m], texts[m] = ids[i], text
        bytesLeft = bytesLeft - (#text > ${claimBytesMin} and #text or ${claimBytesMin})
      elseif not place or isQueuedAt(text, place) then
        addGrown(amount, waited, demand, suffix)
        claimWhole(ids[i], text, demand, written)
        amount, waited, n, m = 0, 0, #later, #jobs
      end
    end
    i = i + 1
  end
  addGrown(amount, waited, demand, suffix)
  return i
end

-- Claims the jobs of entries of queues, which the caller removes from them. Gives which is the first that is not
-- claimed because of its size.
-- @param entries lists: ids; the places of those of lists, members and scores of those of sorted sets; demands, and the
-- last entry of each
local function claim(entries)
  local rows, written, i = values(JOBS, entries.ids), {}, 1
  for k, demand in ipairs(entries.demands) do i = claimEntries(demand, entries, rows, i, entries.ends[k], written) end
  writeRows(written)
  return i
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
  setFigure(type, ${figureAt.limited}, 1)
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

-- Takes entries out of the sorted set of a queue.
local function takeSorted(demand, max, wanted, entries)
  local key = P .. 'queue:' .. demand.type
  local found, members = call('ZRANGEBYSCORE', key, '-inf', max, 'WITHSCORES', 'LIMIT', 0, int(wanted)), {}
  for i = 1, #found, 2 do
    local n = #entries.ids + 1
    members[#members + 1] = found[i]
    entries.ids[n], entries.members[n], entries.scores[n] = found[i]:sub(17), found[i], found[i + 1]
    ${noteClaim('demand.type', 'tonumber(found[i]:sub(1, 16))')}
  end
  each('ZREM', key, members)
  return #members
end

-- Takes the first entries out of a queue: those with a priority or back in their old place, then those of the list,
-- then those with less than no priority.
local function takeEntries(demand, wanted, entries)
  local type, left = demand.type, wanted
  local isSorted = figuresOf(type)[${figureAt.sorted}] == 1
  if isSorted then left = left - takeSorted(demand, '0', left, entries) end
  local ids, n, popped = entries.ids, #entries.ids, popList(type, left)
  local places = entries.places
  for i = 1, #popped do places[n + i], ids[n + i] = parseEntry(popped[i]) end
  if #popped > 0 then ${noteClaim('type', 'tonumber(places[n + #popped])')} end
  left = left - #popped
  if isSorted and left > 0 then
    left = left - takeSorted(demand, '+inf', left, entries)
    if left > 0 then setFigure(type, ${figureAt.sorted}, 0) end
  end
  return wanted - left
end

local function putBack(entries, i)
  local k = 1
  while entries.ends[k] < i do k = k + 1 end
  local type = entries.demands[k].type
  entries.demands[k].hasMore = true
  if entries.members[i] then
    call('ZADD', P .. 'queue:' .. type, entries.scores[i], entries.members[i])
    setFigure(type, ${figureAt.sorted}, 1)
  else
    call('LPUSH', listOf(type), entries.places[i] .. ' ' .. entries.ids[i])
    setFigure(type, ${figureAt.listed}, figuresOf(type)[${figureAt.listed}] + 1)
  end
end

-- Jobs of queues without groups: those of all queues are read and written together. Those that are too much for one
-- call are put back.
local function claimPlain(demands)
  writePushes()
  for _ = 1, ${claimRounds} do
    local entries, room, isCut = { ids = {}, places = {}, members = {}, scores = {}, demands = demands, ends = {} }, math.ceil(bytesLeft / ${claimBytesMin}), false
    for k, demand in ipairs(demands) do
      local wanted = math.max(0, math.min(demand.room - demand.taken, room - #entries.ids))
      local taken = wanted > 0 and takeEntries(demand, wanted, entries) or 0
      demand.hasMore, entries.ends[k] = taken == wanted, #entries.ids
    end
    if #entries.ids == 0 then break end
    local left = claim(entries)
    for i = #entries.ids, left, -1 do putBack(entries, i) end
    for _, demand in ipairs(demands) do
      demand.cut = demand.hasMore and demand.taken < demand.room
      isCut = isCut or demand.cut
    end
    -- Entries of jobs that are no longer queued were skipped.
    if not isCut or bytesLeft <= 0 then return end
  end
  for _, demand in ipairs(demands) do demand.cut = demand.hasMore and demand.taken < demand.room end
end

-- Jobs with keys, one by one: each claim may change which key is next.
local function claimGrouped(demand)
  local type, room, next = demand.type, demand.room, 1
  local queue = P .. 'queue:' .. type
  sortHead(type)
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
      key, next = nil, next + 2
    end
    if not member then break end
    call('ZREM', from, member)
    ${noteClaim('type', 'tonumber(member:sub(1, 16))')}
    claim({ ids = { member:sub(17) }, places = {}, demands = { demand }, ends = { 1 } })
    if key then groups[#groups + 1] = { type, key } end
    arrangeGroups()
  end
end

-- How many jobs of a type may be claimed.
local function roomFor(demand)
  local type, room = demand.type, math.min(demand.max, countOf('${arrow.from}', demand.type))
  if demand.concurrency then room = math.min(room, demand.concurrency - leased(type)) end
  if room > 0 and demand.rate then room = math.min(room, free(rateWindow(type), demand.rate)) end
  return math.max(room, 0)
end

-- What the rules of the core ask of a queue that gave fewer jobs than were asked for; see operations.ts.
local function facts(demand)
  local type, rate = demand.type, demand.rate
  local queued = countOf('${arrow.from}', type)
  if demand.paused or queued <= 0 then return { type, demand.paused and 1 or 0, int(queued) } end
  local open = demand.limited and firstGroup(demand) ~= nil or (not demand.keyShares and call('EXISTS', P .. 'queue:' .. type, listOf(type)) > 0)
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
  setFigure('', ${figureAt.waits}, 1)
  return { type, 0, int(queued), int(leased(type)), open and 1 or 0, keysAt, int(rateFree), rateAt }
end

-- Claims what a request asks for. Gives the jobs, and what falls short.
function claimAll(text)
  request = cjson.decode(text)
  leaseEnd = int(nowMs + request.leaseMs)
  jobs, texts, runs, beside, grown = {}, {}, {}, {}, {}
  shortfalls, unreadable, base, baseText, given = {}, {}, seqNow, int(seqNow), 0
  bytesLeft = ${claimBytesMax}
  local cut = {}
  CLAIMED = ',' .. now .. ',"CLAIM","${arrow.from}","${arrow.to}",'
  WORKER = ',' .. request.workerText .. ']'
  local demands, limited = request.demand, {}
  for _, demand in ipairs(demands) do
    local ofType = figuresOf(demand.type)
    demand.paused, demand.room, demand.taken, demand.waited = ofType[${figureAt.paused}] == 1, 0, 0, 0
    -- Of a type that has, or had, keys or limits by key.
    demand.limited = ofType[${figureAt.limited}] == 1 or demand.perKey or demand.keyRate or demand.keyShares
    if demand.limited then
      limited[#limited + 1] = demand.type
    else
      shares[demand.type] = { on = false }
    end
  end
  local caps, rates = values(P .. 'caps', limited), values(P .. 'key-rates', limited)
  local terms, next = values(P .. 'terms', limited), 0
  arrangeable = ${arrangeStep * 5}
  for i, text in ipairs(values(P .. 'shares', limited)) do readShare(limited[i], text) end
  for _, demand in ipairs(demands) do
    if demand.limited then next = next + 1 end
    if not demand.paused then
      if demand.limited then
        sortHead(demand.type)
        settleTerms(demand, caps[next], rates[next], terms[next])
        refreshKeyRates(demand.type, demand.keyRate)
      end
      demand.room = roomFor(demand)
    end
  end
  local plain = {}
  for _, demand in ipairs(demands) do
    if demand.limited and demand.room > 0 and call('EXISTS', P .. 'head:' .. demand.type) == 1 then
      -- Jobs are answered in the order of the demands.
      claimPlain(plain)
      plain = {}
      claimGrouped(demand)
    else
      plain[#plain + 1] = demand
    end
  end
  claimPlain(plain)
  leaseClaim()
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
  return { baseText, jobs, texts, runs, beside, shortfalls, cut, unreadable }
end
end
`,
  typed: true,
  call: 'local claimed = claimAll(ARGV[5])',
  answer: 'unpack(claimed)',
}
