/**
 * Ends attempts of plain jobs: without a machine, a parent or a unique key. Of jobs whose rows grow and that are done,
 * the caller names what their claim has appended: if a row still ends with that, nothing else has happened to it, and
 * the end is appended. Of the others, the caller says where the chart leads from the state of a claimed job: if a row
 * has that state, and its token and attempt, nothing else has happened that matters for it. Returns the time, the
 * wake-ups, the number before the first transition, its time, and the items that were not settled, with `lost`; or
 * `generic` for those that are left to the core.
 */
import { countedOf } from '../../../core/activity.ts'
import type { SettleEvent } from '../../../core/settlement.ts'
import { caps } from '../../../core/caps.ts'
import { dataLetters, flagLetters } from '../row-text.ts'
import { claimed } from './claim.ts'
import { finished, started } from '../grown.ts'
import { at, type LuaScript } from './lua.ts'

/** The events of plain jobs. */
export const plainEvents = ['COMPLETE', 'FAIL', 'SNOOZE', 'RELEASE'] as const satisfies readonly SettleEvent[]

/** What the end of a job whose row grows counts as. */
const finishedCounted = countedOf({ event: 'COMPLETE', to: finished }) ?? raise()

function raise(): never {
  throw new TypeError('job.machine.ts: the end of a job counts as something')
}

export const settleScript: LuaScript = {
  definitions: `
local base, given, unexpected, written, data, errorsCleared, jsons
-- How many jobs of claims have ended.
local endedOf
-- A text as JSON. Zero bytes stand otherwise in rows.
local function json(text)
  if not jsons[text] then
    jsons[text] = cjson.encode((text:gsub('\\1([01])', { ['0'] = '\\0', ['1'] = '\\1' })))
  end
  return jsons[text]
end

-- An event, where it leads, the figures that it counts in (-1: none), and whether it is a failed attempt.
local kinds = {}
local function kindOf(text)
  if not kinds[text] then
    local event, to, figure, other, duration, fails = text:match('^(%u+) (%l+) (%-?%d+) (%-?%d+) (%-?%d+) (%d)$')
    kinds[text] = { event = event, to = to, figure = tonumber(figure), other = tonumber(other), duration = tonumber(duration), fails = fails == '1' }
  end
  return kinds[text]
end

local function put(field, id, value)
  local list = data[field]
  list[#list + 1] = id
  list[#list + 1] = value
end

-- The letters of a row with one more.
local function with(has, letter) return has:find(letter, 1, true) and has or has .. letter end
local function without(has, letter) return (has:gsub(letter, '')) end

-- Keeps the error of an attempt: as the last one, and in the list of all, an entry a line.
local function keepError(id, row, text)
  local has = row[${at.has}]
  local generation, started = row[${at.generation}], row[${at.startedAt}]
  local entry = '{"attempt":' .. row[${at.attempt}] .. ',"generation":' .. (generation ~= '' and generation or '1')
    .. ',"error":' .. text .. ',"startedAt":' .. (started ~= '' and started or now) .. ',"failedAt":' .. now
    .. ',"worker":' .. json(row[${at.worker}]) .. '}'
  if has:find('${dataLetters.errors}', 1, true) then
    local list = call('HGET', P .. 'data:errors', id) .. '\\n' .. entry
    local _, breaks = list:gsub('\\n', '\\n')
    for _ = ${caps.errors}, breaks do list = list:sub(list:find('\\n', 1, true) + 1) end
    entry = list
  end
  put('errors', id, entry)
  put('error', id, text)
  row[${at.has}] = with(with(has, '${dataLetters.error}'), '${dataLetters.errors}')
end

-- A job stands in the index of the group of its last error.
local function setFailure(id, row, fingerprint)
  local before = row[${at.failure}]
  if before == fingerprint then return end
  if before ~= '' then leave(P .. 'failing:' .. before, id) end
  if fingerprint ~= '' then enter(P .. 'failing:' .. fingerprint, row[${at.seq}], id) end
  row[${at.failure}] = fingerprint
end

-- Counts a transition in the activity of its queue, and a failed attempt in the group of its error.
local function tallyEnd(id, row, kind, parts, seq)
  local type, started = row[${at.type}], tonumber(row[${at.startedAt}]) or nowMs
  if kind.figure >= 0 then tally(type, kind.figure, 1) end
  if kind.other >= 0 then tally(type, kind.other, 1) end
  if kind.duration >= 0 then tally(type, kind.duration, math.max(0, nowMs - started)) end
  if kind.fails and parts then
    parts.type, parts.id = type, id
    addFailure(parts, now, seq)
  end
end

-- May a row tell the answer to an earlier settlement?
local function isSettled(row) return row[${at.settled}] ~= '' or (INDEX[row[${at.state}]] == 'ended' and row[${at.token}] ~= '') end

-- @param spent its attempts afterwards
local function settle(id, token, attempt, kindText, spent, extras, row)
  if not row or INDEX[row[${at.state}]] ~= 'lease' or row[${at.token}] ~= token or row[${at.attempt}] ~= attempt then
    return row and isSettled(row) and 'generic' or 'lost'
  end
  local kind, has = kindOf(kindText), row[${at.has}]
  local to = kind.to
  if row[${at.state}] ~= '${claimed}' or has:find('[${flagLetters.machine}${flagLetters.key}]') then return 'generic' end
  if to == 'dead' and row[${at.onDead}] ~= '' then return 'generic' end
  index(id, row, -1)
  local delay, output, checkin, reason, failure, group = '', '', '', '', '', ''
  if extras ~= '' then delay, output, checkin, reason, failure, group = struct.unpack('ssssss', extras) end
  if checkin ~= '' then
    put('checkin', id, checkin)
    row[${at.has}] = with(row[${at.has}], '${dataLetters.checkin}')
  end
  local parts = group ~= '' and cjson.decode(group) or nil
  if failure ~= '' then
    keepError(id, row, failure)
    setFailure(id, row, parts.fingerprint)
  elseif kind.event == 'COMPLETE' and has:find('${dataLetters.error}', 1, true) then
    errorsCleared[#errorsCleared + 1] = id
    row[${at.has}] = without(row[${at.has}], '${dataLetters.error}')
    setFailure(id, row, '')
  end
  if output ~= '' and to == 'done' then
    put('output', id, output)
    row[${at.has}] = with(row[${at.has}], '${dataLetters.output}')
  end
  given = given + 1
  local seq = int(base + given)
  local due = INDEX[to] == 'due' and int(math.ceil(nowMs + (tonumber(delay) or 0))) or ''
  local text = '[' .. seq .. ',' .. now .. ',"' .. kind.event .. '","${claimed}","' .. to .. '",' .. spent .. ','
    .. json(row[${at.worker}]) .. (reason ~= '' and ',' .. reason or '') .. ']'
  row[${at.rev}] = following(row[${at.rev}])
  row[${at.state}], row[${at.attempt}], row[${at.last}], row[${at.wakeAt}] = to, spent, seq, due
  -- Of an ended job the other fields tell the answer: see JobRow.settled.
  if INDEX[to] == 'ended' then
    row[${at.finishedAt}], row[${at.settled}] = now, ''
  else
    row[${at.token}] = ''
    row[${at.settled}] = '{"attempt":' .. attempt .. ',"token":' .. json(token) .. ',"answer":{"outcome":"settled","seq":' .. seq
      .. ',"at":' .. now .. ',"from":"${claimed}","to":"' .. to .. '","attempt":' .. spent
      .. ',"dueAt":' .. (due ~= '' and due or 'null') .. '}}'
  end
  tallyEnd(id, row, kind, parts, seq)
  remember(row, text)
  log(id, row[${at.type}], text)
  index(id, row, 1)
  left[row[${at.type}]] = true
  written[#written + 1] = id
  written[#written + 1] = rowText(row)
end

-- Ends jobs of a claim: what is appended is the same for all but its number.
local function finishClaim(run, ids, rows, first, outputs)
  local suffix, type, amount = run.suffix, run.type, run.amount
  local from, prefix, post = -#suffix, '\\0D' .. int(base) .. '+', ',' .. now .. '\\1'
  local n, gone, done, before, key = #later, {}, 0, #ended, P .. 'ended:${finished}:' .. type
  for i = first, first + amount - 1 do
    local row, id = rows[i], ids[i]
    if row and row:find(suffix, from, true) then
      done, given = done + 1, given + 1
      gone[done], ended[before + done] = id, id
      local output = outputs[i]
      later[n + 1] = id
      later[n + 2] = output and row .. output .. prefix .. TEXTS[given] .. post or row .. prefix .. TEXTS[given] .. post
      n = n + 2
    else
      unexpected[#unexpected + 1] = { int(i - 1), 'generic' }
    end
  end
  if done == 0 then return end
  endedOf[run.claim] = (endedOf[run.claim] or 0) + done
  count('${started}', type, -done)
  count('${finished}', type, done)
  leasedBy[run.worker] = (leasedBy[run.worker] or 0) - done
  looks[type], left[type] = '0', true
  addBlock(key, base + given - done + 1, now, gone)
  tally(type, ${finishedCounted.figure}, done)
  tally(type, ${finishedCounted.time}, done * math.max(0, nowMs - run.startedAt))
  logAll(gone, 1, done, type, base + given - done + 1, ',' .. now .. ',"COMPLETE","${started}","${finished}",1,' .. run.workerText .. ']')
end

-- Ends what claims have taken: how many runs there are; of each what the claim has appended, its name, type, worker,
-- the same as JSON, when it was, and how many jobs; their ids; how many outputs there are; of each the place of the
-- job, and the output. Gives where the other items begin, and how many jobs there were.
local function finishAll(items, from)
  local runs, last = {}, tonumber(items[from])
  from = from + 1
  if last == 0 then return from, 0 end
  local amounts = 0
  for i = 1, last do
    runs[i] = { suffix = items[from], claim = items[from + 1], type = items[from + 2], worker = items[from + 3],
      workerText = items[from + 4], startedAt = tonumber(items[from + 5]), amount = tonumber(items[from + 6]) }
    amounts = amounts + runs[i].amount
    from = from + 7
  end
  local ids, outputs = {}, {}
  for i = 1, amounts do ids[i] = items[from + i - 1] end
  from = from + amounts
  for i = 1, tonumber(items[from]) do outputs[tonumber(items[from + 2 * i - 1])] = '\\0O' .. items[from + 2 * i] end
  from = from + 1 + 2 * tonumber(items[from])
  local rows, first = values(JOBS, ids), 1
  for _, run in ipairs(runs) do
    finishClaim(run, ids, rows, first, outputs)
    first = first + run.amount
  end
  for claim, amount in pairs(endedOf) do leaveClaim(claim, amount) end
  return from, amounts
end

-- Settles items from an index on: those of claims as above, and others, each of six values. Gives the number
-- before the first transition, its time, and what differs.
local function settleAll(items, from)
  base, given, unexpected, written, jsons = seqNow, 0, {}, {}, {}
  ended.known = true
  endedOf = {}
  data, errorsCleared = { output = {}, error = {}, errors = {}, checkin = {} }, {}
  local before
  from, before = finishAll(items, from)
  local ids = {}
  for i = from, #items, 6 do ids[#ids + 1] = items[i] end
  for i, text in ipairs(values(JOBS, ids)) do
    local first = from + 6 * i - 5
    local outcome = settle(ids[i], items[first], items[first + 1], items[first + 2], items[first + 3], items[first + 4], text and parse(text))
    if outcome then unexpected[#unexpected + 1] = { int(before + i - 1), outcome } end
  end
  writeRows(written)
  for field, list in pairs(data) do each('HSET', P .. 'data:' .. field, list) end
  each('HDEL', P .. 'data:error', errorsCleared)
  advance(given)
  return int(base), now, unexpected
end
`,
  typed: true,
  call: 'local base, at, unexpected = settleAll(ARGV, 5)',
  answer: 'base, at, unexpected',
}
