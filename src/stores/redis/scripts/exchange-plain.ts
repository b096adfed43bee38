/**
 * Ends plain jobs and claims others, of types without limits and keys, while nobody waits for room: what a busy worker
 * does most. It writes what `settle`, `claim` and `exchange` write, without the tables that all other cases need.
 * Answers a list: a text of the server's time, the number of the last transition and the time of these; the number
 * before the first of them; ids and rows of the claimed jobs, and what was appended to these, as `claim` answers them;
 * and of each demand how many jobs are queued. Only the first, without the third value, if it wrote nothing, because
 * something has to be looked at closer.
 */
import { claimCounted } from '../../../core/activity.ts'
import { jobStates, type JobState } from '../../../core/lifecycle.ts'
import { figureAt, figuresSize } from '../figures.ts'
import { finished, grownMark, started, timeChars, waiting } from '../grown.ts'
import { claimBytesMax, claimJobsMax } from './claim.ts'
import { numbersFormat } from './figures.ts'
import { bareLog, readFigures, readTime, seqName, type LuaScript } from './lua.ts'
import { seqAt } from './queues.ts'
import { finishedCounted } from './settle.ts'

/** Jobs that one call ends at most, and those that it claims at most: the caller sees to it. */
export const plainMax = { ends: 200, claims: claimJobsMax } as const

const countAt = (state: JobState): number => jobStates.indexOf(state) + 1
const [queued, running, done] = [countAt(waiting), countAt(started), countAt(finished)]
const tallyAt = (figure: number): number => figureAt.activity + figure
const mark = grownMark.charCodeAt(0)

export const exchangePlainScript: LuaScript = {
  bare: true,
  definitions: `
local FIGURES = ${numbersFormat}
-- Small numbers as texts.
local DIGITS = {}
for i = 0, ${plainMax.ends} do DIGITS[i] = i .. '' end
`,
  call: `
local call, P, format, find, byte, sub = redis.call, KEYS[1], string.format, string.find, string.byte, string.sub
local unpack, tonumber, DIGITS = unpack, tonumber, DIGITS
${readTime}
local JOBS, CLAIMS = P .. 'jobs', P .. 'claims'
${readFigures}
local baseText = format('%d', base)
local generic = { clock .. ' ' .. baseText }
local minute = nowMs - nowMs % 60000
for i = 2, n do
  if not figures[i] then return generic end
  local list = { struct.unpack(FIGURES, figures[i]) }
  figures[i] = list
  if i > 2 and (list[${figureAt.minute}] ~= minute or list[${figureAt.paused}] + list[${figureAt.limited}] + list[${figureAt.sorted}] > 0) then
    return generic
  end
end
local all = figures[2]
if all[${figureAt.waits}] ~= 0 then return generic end
local runCount, claimCount, demandCount, p = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), 15

-- What ends: the rows must end with what their claims have appended.
local rows, m, last = {}, 0, 0
local ids, claims, held = {}, {}, {}
local firstRun, firstClaim = p, p + 4 * runCount
local firstDemand = firstClaim + 2 * claimCount
if runCount > 0 then
  for id in ARGV[13]:gmatch('%Z+') do
    last = last + 1
    ids[last] = id
  end
  local texts, outputs, first = call('HMGET', JOBS, unpack(ids)), nil, firstDemand + 3 * demandCount
  for i = first, #ARGV, 2 do
    outputs = outputs or {}
    outputs[tonumber(ARGV[i])] = '\\0O' .. ARGV[i + 1]
  end
  local prefix, post, i = '\\0D' .. baseText .. '+', ',' .. now .. '\\1', 0
  for k = firstRun, firstClaim - 1, 4 do
    local suffix, amount = ARGV[k], tonumber(ARGV[k + 3])
    local from = -#suffix
    for _ = 1, amount do
      i = i + 1
      local text = texts[i]
      if not text or not find(text, suffix, from, true) then return generic end
      if outputs and outputs[i] then text = text .. outputs[i] end
      m = m + 2
      rows[m - 1], rows[m] = ids[i], text .. prefix .. DIGITS[i] .. post
    end
    local list, claim = figures[2 + ARGV[k + 1]], tonumber(ARGV[k + 2])
    claims[claim] = (claims[claim] or 0) + amount
    list[${running}], list[${done}] = list[${running}] - amount, list[${done}] + amount
    list[${tallyAt(finishedCounted.figure)}] = list[${tallyAt(finishedCounted.figure)}] + amount
    local took = nowMs - ARGV[firstClaim + 2 * claim - 1]
    if took > 0 then list[${tallyAt(finishedCounted.time)}] = list[${tallyAt(finishedCounted.time)}] + amount * took end
  end
  all[${running}], all[${done}] = all[${running}] - last, all[${done}] + last
  for i = 1, claimCount do held[i] = '\\1' .. ARGV[firstClaim + 2 * i - 2] end
end
-- How many jobs the claims have. One of the same time and token goes on.
local leaseEnd = format('%d', nowMs + ARGV[12])
local claimed = leaseEnd .. ' ' .. ARGV[10]
held[claimCount + 1] = '\\1' .. claimed
local counts = call('HMGET', CLAIMS, unpack(held))
if counts[claimCount + 1] and demandCount > 0 then return generic end
for i = 1, claimCount do
  claims[i] = counts[i] and counts[i] - claims[i] or -1
  if claims[i] < 0 then return generic end
end

-- What is claimed: the first entries of the lists.
local takes, wanted = {}, 0
for k = 1, demandCount do
  local a = firstDemand + 3 * k - 3
  local list, max = figures[2 + ARGV[a]], tonumber(ARGV[a + 1])
  local waiting, listed = list[${queued}], list[${figureAt.listed}]
  local take = waiting < max and waiting or max
  -- An empty queue has an empty list.
  if listed < take or take < 0 or take == waiting and listed > take then return generic end
  takes[k] = take
  wanted = wanted + take
end
for i = 3, n do
  if figures[i][${queued}] <= 0 and figures[i][${figureAt.listed}] > 0 then return generic end
end
local taken, places, popped, texts, count = {}, {}, {}, {}, 0
if wanted > 0 then
  local isAsTold = true
  for k = 1, demandCount do
    local entries = takes[k] > 0 and call('LPOP', P .. 'list:' .. types[2 + ARGV[firstDemand + 3 * k - 3]], takes[k]) or {}
    popped[k] = entries
    isAsTold = isAsTold and #entries == takes[k]
    for i = 1, #entries do
      local entry = entries[i]
      local space = find(entry, ' ', 1, true)
      count = count + 1
      places[count], taken[count] = sub(entry, 1, space - 1), sub(entry, space + 1)
    end
  end
  if isAsTold then texts = call('HMGET', JOBS, unpack(taken)) end
  local bytes = 0
  for i = 1, count do
    local text, place = texts[i], places[i]
    -- A row that grows, and has not grown yet, of a job that has its first place.
    isAsTold = isAsTold and text and byte(text) == ${mark} and byte(text, -1) ~= 1
      and find(text, place, ${seqAt}, true) == ${seqAt} and byte(text, ${seqAt} + #place) == 0
    if not isAsTold then break end
    bytes = bytes + #text
  end
  if not isAsTold or bytes > ${claimBytesMax} then
    for k = 1, demandCount do
      local entries, back = popped[k], {}
      for i = 1, #entries do back[i] = entries[#entries + 1 - i] end
      if #back > 0 then call('LPUSH', P .. 'list:' .. types[2 + ARGV[firstDemand + 3 * k - 3]], unpack(back)) end
    end
    return generic
  end
end

-- From here on it writes.
${bareLog}
if runCount > 0 then
  local amounts, kinds, parts, first = {}, {}, 0, 0
  local over, isOver = {}, nil
  for i = 1, claimCount do
    if claims[i] > 0 then
      call('HSET', CLAIMS, held[i], claims[i])
    else
      isOver = isOver or {}
      over[#over + 1], over[#over + 2], isOver[#isOver + 1] = held[i], sub(held[i], 2), held[i]
    end
  end
  if isOver then
    call('HDEL', CLAIMS, unpack(over))
    call('ZREM', P .. 'leases', unpack(isOver))
  end
  for k = firstRun, firstClaim - 1, 4 do
    local place, amount = 2 + ARGV[k + 1], tonumber(ARGV[k + 3])
    local type = types[place]
    parts = parts + 1
    kinds[parts], amounts[parts] = type, amount
    local key, from, to = P .. 'ended:${finished}:' .. type, format('%d', base + first + 1), format('%d', base + first + amount) .. '-0'
    if amount % 2 == 0 then
      call('XADD', key, to, now, from, unpack(ids, first + 1, first + amount))
    else
      local even = { unpack(ids, first + 1, first + amount) }
      even[amount + 1] = ''
      call('XADD', key, to, now, from, unpack(even))
    end
    first = first + amount
    local looked = figures[place][${figureAt.looked}]
    if looked ~= 1 and figures[place][${done}] > looked then
      figures[place][${figureAt.looked}] = 1
      call('ZADD', P .. 'looks', '0', type)
    end
  end
  logAll(ids, amounts, kinds, parts, last, ',' .. now .. ',"COMPLETE","${started}","${finished}",1,' .. ARGV[9] .. ']')
  call('PUBLISH', P .. 'hints:ended', ARGV[1] .. ' [' .. ARGV[14] .. ']')
end

local runs, lefts = {}, {}
if demandCount > 0 then
  local kinds, amounts, parts, i = {}, {}, 0, 0
  local prefix, came, waited = '\\0C' .. format('%d', number) .. '+', nil, 0
  for k = 1, demandCount do
    local a = firstDemand + 3 * k - 3
    local place, take = 2 + ARGV[a], takes[k]
    local list, type = figures[place], types[place]
    if take > 0 then
      local suffix, sum = ',' .. now .. ',' .. ARGV[9] .. ',' .. ARGV[11] .. ',' .. leaseEnd .. ARGV[a + 2], 0
      for _ = 1, take do
        i, m = i + 1, m + 2
        local text = texts[i]
        rows[m - 1], rows[m] = taken[i], text .. prefix .. DIGITS[i] .. suffix
        local since = sub(text, 2, ${timeChars + 1})
        if since ~= came then
          came = since
          waited = nowMs - tonumber(since)
          if waited < 0 then waited = 0 end
        end
        sum = sum + waited
      end
      parts = parts + 1
      kinds[parts], amounts[parts] = type, take
      runs[3 * parts - 2], runs[3 * parts - 1], runs[3 * parts] = take, type, suffix
      list[${queued}], list[${running}] = list[${queued}] - take, list[${running}] + take
      list[${figureAt.listed}] = list[${figureAt.listed}] - take
      list[${tallyAt(claimCounted.figure)}] = list[${tallyAt(claimCounted.figure)}] + take
      list[${tallyAt(claimCounted.time)}] = list[${tallyAt(claimCounted.time)}] + sum
      local own = tonumber(places[i])
      if own > list[${figureAt.claimed}] then list[${figureAt.claimed}] = own end
    end
    lefts[k] = list[${queued}]
  end
  if count > 0 then
    all[${queued}], all[${running}] = all[${queued}] - count, all[${running}] + count
    logAll(taken, amounts, kinds, parts, count, ',' .. now .. ',"CLAIM","${waiting}","${started}",1,' .. ARGV[9] .. ']')
    call('HSET', CLAIMS, held[claimCount + 1], count, claimed, table.concat(taken, '\\0'))
    call('ZADD', P .. 'leases', leaseEnd, held[claimCount + 1])
  end
end
local leased = count - last
if leased ~= 0 and call('HINCRBY', P .. 'leased-by', ARGV[8], leased) == 0 then call('HDEL', P .. 'leased-by', ARGV[8]) end
if m > 0 then call('HSET', JOBS, unpack(rows)) end
local written = { ${seqName}, format('%d', number), '', struct.pack(FIGURES, unpack(all, 1, ${figuresSize})) }
for i = 3, n do
  local list = figures[i]
  -- Who has found it empty is told of the next job.
  if list[${queued}] <= 0 then list[${figureAt.told}] = 0 end
  written[2 * i - 1], written[2 * i] = types[i], struct.pack(FIGURES, unpack(list, 1, ${figuresSize}))
end
call('HSET', P .. 'figures', unpack(written))
if l > 0 then writeLog() end
`,
  answer: `{ clock .. ' ' .. format('%d', number) .. ' ' .. now, base, taken, texts, runs, lefts }`,
}
