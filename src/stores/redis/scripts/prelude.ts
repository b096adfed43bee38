/**
 * What all scripts begin with: rows, indexes, counts, the log, wake-ups. Which states are leased, timed, ended or
 * claimable comes from the chart as data. Every script gets the namespace as its key and makes the names of all others
 * from it, which the hash tag keeps in one slot: a claim cannot know before which jobs it will touch.
 *
 * - A command costs about as much as what it does for one job. So rows are read and written many at a time, and changes
 *   of indexes are gathered and carried out together by `flush`.
 * - Numbers are passed on as texts: Lua writes 300000000 as 3e+8. Payloads are never decoded.
 */
import { caps } from '../../../core/caps.ts'
import { figureAt } from '../figures.ts'
import { started, timeChars, waiting, finished } from '../grown.ts'
import { flagLetters, fullHistoryChars, headFields, numericFields } from '../row-text.ts'
import { blocksLua } from './blocks.ts'
import { failuresLua } from './failures.ts'
import { figuresLua, noteClaim } from './figures.ts'
import { groupsLua } from './groups.ts'
import { handOverLua } from './hand-over.ts'
import { allStates, at, claimableState, indexOfState, logEntryMax, namedEndsMax, tail } from './lua.ts'
import { queuesLua } from './queues.ts'

/** Those of a call that differ in nothing but the job: an entry has them as one text and their ids. */
const runMax = 500

export const prelude = `
local INDEX, STATES = ${indexOfState}, ${allStates}
-- Small numbers as texts.
local TEXTS = {}
for i = 0, 1000 do TEXTS[i] = i .. '' end
local call, P, JOBS, LEASES, origin, logMax
-- The time of the server, and the one by which leases, due times and workers are judged, also as a number: the same,
-- unless a test holds the clock.
local clock, now, nowMs
-- The number of the last transition, and what it was before the call; how many the call has logged, and how many of
-- these are written.
local seqNow, seqFirst, logCount, logWritten
local groups, shares, ready, more, quiet, left, ended, cancelled, hints
local dueAt, shrunk, shrunkOf, looksForSlots, leasedBy, workersKnown
local entering, leaving, logged
-- States and types that ended jobs have left, one by one, by the name of their index.
local endedLeft
-- Types of which the ended jobs are to be looked at, and when: at once if there is one more or less, or if more than so
-- many are done.
local looks, looksFrom
-- Lists of the jobs that were written: the id of each, and what follows it; rows that are written at the end.
local touched, later
-- What is entered into indexes in the order of numbers, and into lists of queues.
local blocks, pushes
-- Is all built anew?
local rebuilds
-- Transitions that follow each other and differ in nothing but the job, or its type, until they are logged: four values
-- for each part of a list of ids, the list, where the part begins and ends, and the type.
local alike

-- A whole number as text.
local function int(n) return string.format('%d', n) end
local following
do
-- The number that follows a small one, as text; no text counts as 0.
local FOLLOWING = { [''] = '1' }
for i = 0, 9 do FOLLOWING[i .. ''] = i + 1 .. '' end
function following(text) return FOLLOWING[text] or int(text + 1) end
end
local function pad(text) return ('0000000000000000'):sub(#text + 1) .. text end
local function negative(text) if text:sub(1, 1) == '-' then return text:sub(2) end return '-' .. text end

local function advance(by) seqNow = seqNow + by end

-- What each answer begins with: the server's time, and the number of its last transition, by which a process notices a
-- rollback.
local function stamp() return clock .. ' ' .. int(seqNow) end

-- The id of the current epoch of the log; '' if none has begun.
local function epochNow() return (call('LINDEX', P .. 'epochs', -1) or ''):match('^%S*') end

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

-- Adds to numbers in a hash: a list of fields, and of what is added to each. Gives the sums.
local function addNumbers(key, fields, amounts)
  local n = #fields
  if n <= 2 then
    local first = n > 0 and call('HINCRBY', key, fields[1], int(amounts[1])) or nil
    return { first, n == 2 and call('HINCRBY', key, fields[2], int(amounts[2])) or nil }
  end
  local sums, pairs = values(key, fields), {}
  for i = 1, n do
    sums[i] = (tonumber(sums[i]) or 0) + amounts[i]
    pairs[2 * i - 1] = fields[i]
    pairs[2 * i] = int(sums[i])
  end
  each('HSET', key, pairs)
  return sums
end

${figuresLua}
-- What a text lists, with a zero byte between, or by a pattern; no text, nothing.
local function split(text, pattern)
  local list, n = {}, 0
  for item in (text or ''):gmatch(pattern or '%Z+') do
    n = n + 1
    list[n] = item
  end
  return list
end

-- Begins a call.
-- @param types those that it will touch, as far as they are known
-- @param duringRepair is it called also while a repair is under way?
local function begin(KEYS, ARGV, types, duringRepair)
  call, P = redis.call, KEYS[1]
  JOBS, LEASES = P .. 'jobs', P .. 'leases'
  origin, logMax = ARGV[1], tonumber(ARGV[2])
  local time = call('TIME')
  clock = time[1] .. string.format('%03d', math.floor(tonumber(time[2]) / 1000))
  now = ARGV[3] ~= '' and ARGV[3] or clock
  nowMs = tonumber(now)
  beginActivity(nowMs)
  -- Groups to be arranged, and what is known of the shares of types.
  groups, shares = {}, {}
  -- Types that have jobs which were not there before, and types that have given a claim all it asked for: the process
  -- is told how many are left. Types of which others are told when there is a job again: their queues are empty, or
  -- gave a claim fewer jobs than it asked for.
  ready, more, quiet = {}, {}, {}
  -- Types of which a run has ended. Jobs that have ended, and leased ones that were cancelled.
  left, ended, cancelled = {}, {}, {}
  hints = {}
  -- The earliest due time, and by how much the backlog became shorter; also by type.
  dueAt, shrunk, shrunkOf = nil, 0, {}
  -- May there be more free slots than before though no run has ended and no queue has become shorter?
  looksForSlots = false
  -- Changes of the numbers of jobs that workers have leased, and the registered workers, when they were asked for.
  leasedBy, workersKnown = {}, nil
  -- Changes of indexes by key, and of the log, which are gathered.
  entering, leaving, logged, alike, endedLeft = {}, {}, {}, { amount = 0 }, {}
  looks, looksFrom, touched, later, blocks, pushes, rebuilds = {}, {}, {}, {}, {}, {}, false
  beginFigures(types, duringRepair)
end

-- A text of a process as rows and keys have it: see row-text.ts.
local function inRows(text) return (text:gsub('\\1', '\\0011'):gsub('%z', '\\0010')) end

-- A claim is named by the end of its lease and its token; so is its lease, behind a character that no job begins with.
local function claimOf(leaseEnd, token) return leaseEnd .. ' ' .. token end
local function claimName(claim) return '\\1' .. claim end

local parse
do
local HEAD = '${'s'.repeat(headFields.length)}'
-- Folds what was appended to a row into its fields: see grown.ts.
local function grow(row)
  local text = row[${tail}]
  local first = text:find('\\0C', 1, true)
  local before, output, history = text:sub(1, first - 1), '', ''
  for entry in text:sub(first):gmatch('%z(%Z+)') do
    local kind = entry:sub(1, 1)
    if kind == 'O' then
      output = '\\0' .. entry
    else
      local base, place, rest = entry:match('^.(%d+)%+(%d+),(.*)\\1$')
      local seq = int(base + place)
      row[${at.rev}], row[${at.last}] = int(row[${at.rev}] + 1), seq
      if kind == 'C' then
        local at, worker, token, leaseEnd, maxAttempts, onDead = unpack(cjson.decode('[' .. rest .. ']'), 1, 6)
        row[${at.state}], row[${at.attempt}] = '${started}', int((tonumber(row[${at.attempt}]) or 0) + 1)
        row[${at.worker}], row[${at.token}], row[${at.startedAt}] = inRows(worker), inRows(token), int(at)
        if maxAttempts ~= cjson.null and not row[${at.has}]:find('${flagLetters.pinned}', 1, true) then row[${at.maxAttempts}] = int(maxAttempts) end
        row[${at.onDead}] = onDead == cjson.null and '' or inRows(onDead)
        row.claim, row.by = claimOf(int(leaseEnd), token), row[${at.attempt}] .. ',' .. cjson.encode(worker) .. ']'
        row[${at.wakeAt}] = call('ZSCORE', LEASES, claimName(row.claim)) or int(leaseEnd)
        history = history .. '\\0[' .. seq .. ',' .. int(at) .. ',"CLAIM","${waiting}","${started}",' .. row.by
      else
        row[${at.state}], row[${at.finishedAt}], row[${at.wakeAt}], row.claim = '${finished}', rest, '', nil
        history = history .. '\\0[' .. seq .. ',' .. rest .. ',"COMPLETE","${started}","${finished}",' .. row.by
      end
    end
  end
  row[${tail}] = before .. output .. history
end

local function unpackRow(text)
  local grown = text:byte() == 43
  local whole = grown and text:sub(${timeChars + 2}) or text
  local row = { struct.unpack(HEAD, whole) }
  row[${tail}] = whole:sub(row[${tail}])
  if not grown then return row end
  row[${at.enqueuedAt}] = int(tonumber(text:sub(2, ${timeChars + 1})))
  if text:byte(-1) == 1 then grow(row) end
  return row
end

-- A row as a list: the fields of its head, and what follows it. Nil of a text that is none, before anything is written
-- by it: an error would end a script in the middle of its writes.
function parse(text)
  local isWhole, row = pcall(unpackRow, text)
  if not isWhole or not STATES[row[${at.state}]] or row[${at.type}] == '' or row[${at.rev}] == '' then return nil end
  local numbers = ${numericFields.map((field) => `row[${at[field]}]`).join(' .. ')}
  if numbers:find('[^%d%.%-+e]') then return nil end
  return row
end
end
${blocksLua}
-- Sets a job aside that cannot be read: nothing finds it any more but the list of these. Of a row that can be read the
-- caller has taken it out of the indexes.
local function setAside(id, text)
  call('HSET', P .. 'aside', id, text)
  call('HDEL', JOBS, id)
end

-- Writes rows: a list of ids, each with its text.
local function writeRows(list)
  each('HSET', JOBS, list)
  if #list > 0 then touched[#touched + 1] = list end
end

-- Jobs of a claim are no longer leased by it: ended, or with a lease of their own.
local function leaveClaim(claim, amount)
  local name = claimName(claim)
  if call('HINCRBY', P .. 'claims', name, -amount) > 0 then return end
  call('HDEL', P .. 'claims', claim, name)
  call('ZREM', LEASES, name)
end

-- Of the jobs that were written, those that are shown somewhere.
local function shownOf()
  local shown, found = P .. 'shown', {}
  if #touched == 0 or call('EXISTS', shown) == 0 then return found end
  call('ZREMRANGEBYSCORE', shown, '-inf', now)
  for _, list in ipairs(touched) do
    for i = 1, #list, 2000 do
      local ids = {}
      for j = i, math.min(i + 1999, #list), 2 do ids[#ids + 1] = list[j] end
      for j, score in ipairs(call('ZMSCORE', shown, unpack(ids))) do if score then found[#found + 1] = ids[j] end end
    end
  end
  return found
end

-- Takes note of jobs that have ended; of more than ${namedEndsMax} none is named.
local function addEnded(list, from, to)
  local n = #ended
  for i = from, math.min(to, from + ${namedEndsMax} - n) do ended[n + i - from + 1] = list[i] end
end

local function rowText(row) return table.concat(row, '\\0', 1, ${tail}) end

-- Adds to the history of a job.
local function remember(row, text)
  local rest = row[${tail}] .. '\\0' .. text
  row[${tail}] = rest
  if #rest < ${fullHistoryChars} then return end
  local first = rest:find('\\0[', 1, true)
  local entries = rest:sub(first)
  local _, count = entries:gsub('%z', '%0')
  for _ = ${caps.history + 1}, count do entries = entries:sub((entries:find('%z', 2))) end
  row[${tail}] = rest:sub(1, first - 1) .. entries
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

${queuesLua}
-- Carries out the changes of indexes that were gathered.
local function flush()
  for key, members in pairs(leaving) do each('ZREM', key, members) end
  for key, members in pairs(entering) do each('ZADD', key, members) end
  leaving, entering = {}, {}
  writePushes()
end

-- Does a type share its claims among its keys by weight (see core/shares.ts), and its virtual clock, if it has ever
-- shared them.
local function readShare(type, text) shares[type] = { on = text and text:sub(1, 1) == '+', clock = text and text:sub(2) } end
local function shareOf(type)
  if not shares[type] and figuresOf(type)[${figureAt.limited}] == 0 then shares[type] = { on = false } end
  if not shares[type] then readShare(type, call('HGET', P .. 'shares', type)) end
  return shares[type]
end

-- Keys of a type are told from keys of another type by the length of its name.
local function groupKey(type, key) return P .. 'group:' .. #type .. ':' .. type .. ':' .. key end

${failuresLua}
-- Enters a row into the indexes, or takes it out of them.
local function index(id, r, by)
  local state, type, key = r[${at.state}], r[${at.type}], r[${at.concurrencyKey}]
  count(state, type, by)
  local kind = INDEX[state]
  if kind == 'due' or kind == 'ended' and state ~= '${finished}' then
    local inOrder = P .. 'in-order:' .. state .. ':' .. type
    if by > 0 then enter(inOrder, r[${at.seq}], id) else leave(inOrder, id) end
  end
  if kind == 'queue' then
    local queue = key ~= '' and groupKey(type, key) or P .. 'queue:' .. type
    local place = placeOf(r)
    local member = pad(place) .. id
    if by > 0 then
      local clock = shareOf(type).clock
      if clock then
        flush()
        -- A key that gets work begins where the clock is.
        if call('EXISTS', queue) == 0 then call('HSET', P .. 'starts:' .. type, key, clock) end
      end
      if key == '' and isLast(r) and figuresOf(type)[${figureAt.limited}] == 0 and not rebuilds then
        push(type, place, id)
      else
        enter(queue, negative(r[${at.priority}] ~= '' and r[${at.priority}] or '0'), member)
        if key == '' then setFigure(type, ${figureAt.sorted}, 1) end
      end
      ready[type] = true
    else
      leave(queue, member)
    end
    if key ~= '' and by > 0 then setFigure(type, ${figureAt.limited}, 1) end
    if key ~= '' or shareOf(type).on then groups[#groups + 1] = { type, key } end
  elseif kind == 'due' then
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
  elseif kind == 'lease' then
    local member = pad(r[${at.seq}]) .. id
    local worker = r[${at.worker}]
    if by > 0 then ${noteClaim('type', `tonumber(r[${at.seq}])`)} end
    leasedBy[worker] = (leasedBy[worker] or 0) + by
    if by < 0 then
      if r.claim then leaveClaim(r.claim, 1) else leave(LEASES, member) end
    elseif not r.claim then
      enter(LEASES, r[${at.wakeAt}], member)
    end
    if key ~= '' then
      call('HINCRBY', P .. 'held:' .. type, key, by)
      groups[#groups + 1] = { type, key }
    end
  elseif kind == 'ended' then
    if state == 'dead' and r[${at.failure}] ~= '' then
      countDead(type, r[${at.failure}], r[${at.finishedAt}], by)
    end
    local index = P .. 'ended:' .. state .. ':' .. type
    if by > 0 then
      addBlock(index, tonumber(r[${at.last}]), r[${at.finishedAt}], { id }, 1, 1)
      ended[#ended + 1] = id
    else
      endedLeft[index] = { state, type }
    end
    looks[type] = '0'
  end
end

${groupsLua}
local function arrangeGroups()
  flush()
  if #groups == 0 then return end
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

local function writeLog()
  if #logged == 0 then return end
  logWritten = logCount
  local number = seqFirst + logCount
  call('XADD', P .. 'log', 'MINID', '~', int(math.max(0, number - logMax + 1)), int(number) .. '-0', unpack(logged))
  logged = {}
end

-- Logs transitions that are alike: an empty text, the type of all with the text of the first and how many they are, and
-- their ids; or no type, and each id is followed by its own.
local function logGathered()
  local amount, isMixed, n = alike.amount, alike.isMixed, #logged
  if amount == 0 then return end
  logged[n + 1], logged[n + 2] = '', (isMixed and '' or alike.type) .. '\\0' .. amount .. '[' .. int(alike.first) .. alike.text
  n = n + 2
  for part = 1, #alike, 4 do
    local ids, type = alike[part], alike[part + 3]
    for i = alike[part + 1], alike[part + 2] do
      n = n + 1
      logged[n] = ids[i]
      if isMixed then
        n = n + 1
        logged[n] = type
      end
    end
  end
  if n % 2 == 1 then logged[n + 1] = '' end
  alike = { amount = 0 }
  logCount = logCount + amount
  if logCount - logWritten >= ${logEntryMax} then writeLog() end
end

-- The log is a stream; an entry has many transitions, each an id, and the type and the text as one. Its own id is the
-- number of the last of them.
local function log(id, type, text)
  logGathered()
  local n = #logged
  logged[n + 1] = id
  logged[n + 2] = type .. '\\0' .. text
  logCount = logCount + 1
  if logCount - logWritten >= ${logEntryMax} then writeLog() end
end

-- Logs a transition of each of some jobs of a type.
-- @param from where they begin in a list of ids, which keeps what it has there until the end of the call
-- @param first the number of the first of them
-- @param text what follows it in the text of each
local function logAll(ids, from, to, type, first, text)
  local last = math.min(to, from + ${runMax - 1})
  local amount, n = alike.amount, #alike
  if amount > 0 and (text ~= alike.text or first ~= alike.first + amount or amount + last - from + 1 > ${runMax}) then
    logGathered()
    amount, n = 0, 0
  end
  alike.amount = amount + last - from + 1
  if amount == 0 then
    alike.first, alike.text, alike.type = first, text, type
  elseif type ~= alike.type then
    alike.isMixed = true
  end
  if n > 0 and alike[n] == type and alike[n - 3] == ids and alike[n - 1] == from - 1 then
    alike[n - 1] = last
  else
    alike[n + 1], alike[n + 2], alike[n + 3], alike[n + 4] = ids, from, last, type
  end
  if last < to then logAll(ids, last + 1, to, type, first + last - from + 1, text) end
end

${handOverLua}
-- A type that was found at a cap has room where a run has ended.
local function uncap()
  for type in pairs(left) do
    if call('HDEL', P .. 'capped', type) == 1 then ready[type] = true end
    looksForSlots = true
  end
  left = {}
end

local function writeLooks()
  local list = {}
  for type, at in pairs(looks) do
    local isNow = at == '0'
    if setFigure(type, ${figureAt.looked}, isNow and 1 or looksFrom[type] or 0) or not isNow then
      list[#list + 1] = at
      list[#list + 1] = type
    end
  end
  each('ZADD', P .. 'looks', list)
end

local finish
do
local function readyHint(type, queued) return '{"kind":"ready","type":' .. cjson.encode(type) .. ',"atMost":' .. int(queued) .. '}' end

-- Writes what follows from the rows that have changed; gives the wake-ups.
function finish()
  arrangeGroups()
  writeLooks()
  writeLeasedBy()
  writeRows(later)
  -- Is there a type that was found at a cap, or an insert that was refused, or a job that is shown?
  local waits = figuresOf('')[${figureAt.waits}] == 1
  if waits and call('EXISTS', P .. 'capped', P .. 'full', P .. 'full-queues', P .. 'full-slots', P .. 'shown') == 0 then
    setFigure('', ${figureAt.waits}, 0)
    waits = false
  end
  if waits then uncap() end
  if dueAt then hints[#hints + 1] = { kind = 'due', at = dueAt } end
  if #cancelled > 0 then hints[#hints + 1] = { kind = 'cancelled', ids = cancelled } end
  if waits then
    if shrunk > 0 and call('DEL', P .. 'full') == 1 then hints[#hints + 1] = { kind = 'room' } end
    for type, by in pairs(shrunkOf) do
      if by > 0 and call('HDEL', P .. 'full-queues', type) == 1 then hints[#hints + 1] = { kind = 'room', type = type } end
    end
    if looksForSlots or shrunk > 0 then
      for _, type in ipairs(freedTypes()) do hints[#hints + 1] = { kind = 'room', type = type } end
    end
    local shown = shownOf()
    if #shown > 0 then hints[#hints + 1] = { kind = 'changed', ids = shown } end
  end
  -- Others are told of a type once, until it is quiet: a worker that has found jobs is told with them how many are
  -- left.
  local own, news = {}, {}
  for i, hint in ipairs(hints) do
    own[i] = cjson.encode(hint)
    news[i] = own[i]
  end
  if #ended > 0 then
    local hint = cjson.encode(#ended > ${namedEndsMax} and { kind = 'ended' } or { kind = 'ended', ids = ended })
    own[#own + 1] = hint
    call('PUBLISH', P .. 'hints:ended', origin .. ' [' .. hint .. ']')
  end
  -- What is left in the index is of jobs that are gone, or have not ended any more: no prune looks there.
  for index, each in pairs(endedLeft) do if countOf(each[1], each[2]) <= 0 then call('UNLINK', index) end end
  for type in pairs(changed) do if countOf('${claimableState}', type) <= 0 then quiet[#quiet + 1] = type end end
  for _, type in ipairs(quiet) do
    setFigure(type, ${figureAt.told}, 0)
    -- What is left in the list is of jobs that are not queued any more.
    if figuresOf(type)[${figureAt.listed}] > 0 and countOf('${claimableState}', type) <= 0 then
      call('UNLINK', listOf(type))
      setFigure(type, ${figureAt.listed}, 0)
    end
  end
  for type in pairs(ready) do
    local queued = countOf('${claimableState}', type)
    if queued > 0 then
      own[#own + 1] = readyHint(type, queued)
      if setFigure(type, ${figureAt.told}, 1) then news[#news + 1] = cjson.encode({ kind = 'ready', type = type }) end
    end
  end
  for type in pairs(more) do
    local queued = countOf('${claimableState}', type)
    if queued > 0 then own[#own + 1] = readyHint(type, queued) end
  end
  -- Before the log, whose entries have numbers: they must not be given again.
  writeFigures()
  logGathered()
  writeLog()
  writeBlocks()
  if #own == 0 then return '' end
  if #news > 0 then call('PUBLISH', P .. 'hints', origin .. ' [' .. table.concat(news, ',') .. ']') end
  return '[' .. table.concat(own, ',') .. ']'
end
end
`
