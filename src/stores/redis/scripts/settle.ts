/**
 * Ends attempts of plain jobs: without a machine, a parent or a unique key. Of jobs whose rows grow and that are done,
 * the caller names what their claim has appended: if a row still ends with that, nothing else has happened to it, and
 * the end is appended. Of the others, target states and counts of attempts come from the chart's table. Returns the
 * time, the wake-ups, the number before the first transition, its time, and the items that differ from what the caller
 * expects, with their outcome; `generic` for those that are left to the core.
 */
import { countedOf } from '../../../core/activity.ts'
import { countersAfter, jobStates, statesTagged, type JobState } from '../../../core/lifecycle.ts'
import type { SettleEvent } from '../../../core/settlement.ts'
import { compiledArrow } from '../../../core/compiled-arrows.ts'
import { caps } from '../../../core/caps.ts'
import { dataLetters, flagLetters } from '../row-text.ts'
import { claimed } from './claim.ts'
import { finished, started } from '../grown.ts'
import { at, type LuaScript } from './lua.ts'

/** The events of plain jobs. */
export const plainEvents = ['COMPLETE', 'FAIL', 'SNOOZE', 'RELEASE'] as const satisfies readonly SettleEvent[]

/** Counters that are compared, to assert that a guard depends only on whether attempts are left. */
const samples = [1, 2, 3].flatMap((attempt) =>
  [1, 2, 3].map((maxAttempts) => ({ attempt, maxAttempts, generation: 1 })),
)

/**
 * The target state of an event, and by how much it changes the attempts. Depends on whether attempts are left, and
 * whether a FAIL is fatal.
 */
function outcome(
  event: SettleEvent,
  state: Parameters<typeof compiledArrow>[0],
  left: boolean,
  fatal: boolean,
): string {
  const outcomes = samples
    .filter(({ attempt, maxAttempts }) => attempt < maxAttempts === left)
    .map((counters) => {
      const arrow = compiledArrow(state, event, counters, fatal)
      if (arrow === null) return 'nil'
      if (arrow.lease !== 'ends' || arrow.takesPlace)
        throw new TypeError('job.machine.ts: the end of an attempt ends its lease, and its job keeps its place')
      return `'${arrow.to}', ${countersAfter(arrow, counters).attempt - counters.attempt}`
    })
  const [first = 'nil', ...others] = outcomes
  if (others.some((other) => other !== first))
    throw new TypeError(`job.machine.ts: ${event} of ${state} depends on more than the attempts that are left`)
  return first
}

/** Cases of one variable, tried in order. */
const cases = (variable: string, values: readonly (readonly [value: string, then: string])[]): string =>
  values.map(([value, then]) => `if ${variable} == ${value} then ${then} end`).join('\n')

/** Where an event leads, as a function: a table would be made by each call. */
const arrows = cases(
  'event',
  plainEvents.map((event) => {
    const ofState = (state: JobState): string =>
      [true, false]
        .flatMap((left) => [true, false].map((fatal) => [left, fatal] as const))
        .map(
          ([left, fatal]) =>
            `if left == ${left} and fatal == ${fatal} then return ${outcome(event, state, left, fatal)} end`,
        )
        .join('\n')
    return [
      `'${event}'`,
      cases(
        'from',
        [...statesTagged('leased')].map((state) => [`'${state}'`, ofState(state)]),
      ),
    ]
  }),
)

/**
 * What a transition counts as, by its event and where it leads: figures (-1: none), and whether it is a failed
 * attempt.
 */
const counted = cases(
  'event',
  plainEvents.map((event) => {
    const states = jobStates.flatMap((to): [string, string][] => {
      const { figure, other, time, fails } = countedOf({ event, to }) ?? {}
      return figure === undefined ? [] : [[`'${to}'`, `return ${figure}, ${other}, ${time}, ${fails}`]]
    })
    return [`'${event}'`, cases('to', states)]
  }),
)

/** What the end of a job whose row grows counts as. */
export const finishedCounted = countedOf({ event: 'COMPLETE', to: finished }) ?? raise()

function raise(): never {
  throw new TypeError('job.machine.ts: the end of a job counts as something')
}

export const settleScript: LuaScript = {
  definitions: `
local settleAll
do
local base, baseText, given, unexpected, written, data, errorsCleared, jsons
-- How many jobs of claims have ended.
local endedOf
-- Where an event leads, and by how much it changes the attempts; nil where the chart has no arrow.
local function arrowOf(event, from, left, fatal)
${arrows}
end
-- Figures that a transition counts in (-1: none), and whether it is a failed attempt; nil for nothing.
local function countedAs(event, to)
${counted}
end

-- A text as JSON. Zero bytes stand otherwise in rows.
local function json(text)
  if not jsons[text] then
    jsons[text] = cjson.encode((text:gsub('\\1([01])', { ['0'] = '\\0', ['1'] = '\\1' })))
  end
  return jsons[text]
end

-- Where an event leads, and whether it was expected to; by what the caller says.
local kinds = {}
local function kindOf(text)
  if not kinds[text] then
    local event, to, fatal = text:match('^(%u+) (%l+)(!?)$')
    kinds[text] = { event = event, to = to, fatal = fatal == '!' }
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
local function tallyEnd(id, row, event, to, parts, seq)
  local figure, other, duration, fails = countedAs(event, to)
  if not figure then return end
  local type, started = row[${at.type}], tonumber(row[${at.startedAt}]) or nowMs
  tally(type, figure, 1)
  if other >= 0 then tally(type, other, 1) end
  if duration >= 0 then tally(type, duration, math.max(0, nowMs - started)) end
  if fails and parts then
    parts.type, parts.id = type, id
    addFailure(parts, now, seq)
  end
end

-- May a row tell the answer to an earlier settlement?
local function isSettled(row) return row[${at.settled}] ~= '' or (INDEX[row[${at.state}]] == 'ended' and row[${at.token}] ~= '') end

local function settle(id, token, attempt, kindText, extras, row)
  if not row or INDEX[row[${at.state}]] ~= 'lease' or row[${at.token}] ~= token or row[${at.attempt}] ~= attempt then
    return row and isSettled(row) and 'generic' or 'lost'
  end
  local from, kind, has = row[${at.state}], kindOf(kindText), row[${at.has}]
  if has:find('[${flagLetters.machine}${flagLetters.key}]') then return 'generic' end
  local attempts = tonumber(attempt)
  local to, spends = arrowOf(kind.event, from, attempts < tonumber(row[${at.maxAttempts}]), kind.fatal)
  if not to then return 'generic' end
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
  local seq, spent = int(base + given), spends == 0 and attempt or int(attempts + spends)
  local due = INDEX[to] == 'due' and int(math.ceil(nowMs + (tonumber(delay) or 0))) or ''
  local text = '[' .. seq .. ',' .. now .. ',"' .. kind.event .. '","' .. from .. '","' .. to .. '",' .. spent .. ','
    .. json(row[${at.worker}]) .. (reason ~= '' and ',' .. reason or '') .. ']'
  row[${at.rev}] = following(row[${at.rev}])
  row[${at.state}], row[${at.attempt}], row[${at.last}], row[${at.wakeAt}] = to, spent, seq, due
  if INDEX[to] == 'ended' then row[${at.finishedAt}] = now end
  -- Of an ended job the other fields tell the answer: see JobRow.settled.
  if INDEX[to] == 'ended' and from == '${claimed}' then
    row[${at.settled}] = ''
  else
    row[${at.token}] = ''
    row[${at.settled}] = '{"attempt":' .. attempt .. ',"token":' .. json(token) .. ',"answer":{"outcome":"settled","seq":' .. seq
      .. ',"at":' .. now .. ',"from":"' .. from .. '","to":"' .. to .. '","attempt":' .. spent
      .. ',"dueAt":' .. (due ~= '' and due or 'null') .. '}}'
  end
  tallyEnd(id, row, kind.event, to, parts, seq)
  remember(row, text)
  log(id, row[${at.type}], text)
  index(id, row, 1)
  left[row[${at.type}]] = true
  written[#written + 1] = id
  written[#written + 1] = rowText(row)
  if from == '${claimed}' and to == kind.to then return nil end
  return 'settled', from, to, spent, due
end

local ENDED
-- Ends jobs of a claim: what is appended is the same for all but its number.
-- @param ids has the ids of the jobs of all claims, in the order of their rows
-- @param before how many other values stand before the first of them
-- @param place where those of this claim begin among the rows
local function finishClaim(run, ids, before, rows, place, outputs)
  local suffix, type, amount = run.suffix, run.type, run.amount
  local from, prefix, post = -#suffix, '\\0D' .. baseText .. '+', ',' .. now .. '\\1'
  -- What has ended: all of them, or a list.
  local n, first, gone, key = #later, given, nil, P .. 'ended:${finished}:' .. type
  for i = place, place + amount - 1 do
    local row, id = rows[i], ids[before + i]
    if row and row:find(suffix, from, true) then
      given = given + 1
      if gone then gone[#gone + 1] = id end
      n = n + 2
      later[n - 1], later[n] = id, (outputs and outputs[i] and row .. outputs[i] or row) .. prefix .. TEXTS[given] .. post
    else
      gone = gone or { unpack(ids, before + place, before + i - 1) }
      unexpected[#unexpected + 1] = { int(i - 1), 'generic' }
    end
  end
  local done = given - first
  if done == 0 then return end
  local list, from, to = gone or ids, gone and 1 or before + place, gone and done or before + place + amount - 1
  endedOf[run.claim] = (endedOf[run.claim] or 0) + done
  addEnded(list, from, to)
  count('${started}', type, -done)
  count('${finished}', type, done)
  leasedBy[run.worker] = (leasedBy[run.worker] or 0) - done
  looks[type], left[type] = '0', true
  addBlock(key, base + first + 1, now, list, from, to)
  tally(type, ${finishedCounted.figure}, done)
  tally(type, ${finishedCounted.time}, done * math.max(0, nowMs - run.startedAt))
  logAll(list, from, to, type, base + first + 1, ENDED .. run.workerText .. ']')
end

-- Ends what claims have taken: how many runs there are; of each what the claim has appended, its name, type, worker,
-- the same as JSON, when it was, and how many jobs; their ids; how many outputs there are; of each the place of the
-- job, and the output. Gives where the other items begin, and how many jobs there were.
local function finishAll(items, from)
  local runs, amounts, next = tonumber(items[from]), 0, from + 1
  if runs == 0 then return next, 0 end
  local before = from + 7 * runs
  for i = next, before, 7 do amounts = amounts + tonumber(items[i + 6]) end
  local after = before + amounts + 1
  local rows = values(JOBS, { unpack(items, before + 1, before + amounts) })
  local outputs
  for i = after + 1, after + 2 * tonumber(items[after]), 2 do
    outputs = outputs or {}
    outputs[tonumber(items[i])] = '\\0O' .. items[i + 1]
  end
  local place = 1
  ENDED = ',' .. now .. ',"COMPLETE","${started}","${finished}",1,'
  for i = next, before, 7 do
    local run = { suffix = items[i], claim = items[i + 1], type = items[i + 2], worker = items[i + 3],
      workerText = items[i + 4], startedAt = tonumber(items[i + 5]), amount = tonumber(items[i + 6]) }
    finishClaim(run, items, before, rows, place, outputs)
    place = place + run.amount
  end
  for claim, amount in pairs(endedOf) do leaveClaim(claim, amount) end
  return after + 1 + 2 * tonumber(items[after]), amounts
end

-- Settles items from an index on: those of claims as above, and others, each of five values. Gives the number
-- before the first transition, its time, and what differs.
function settleAll(items, from)
  base, baseText, given, unexpected, written, jsons = seqNow, int(seqNow), 0, {}, {}, {}
  endedOf = {}
  data, errorsCleared = { output = {}, error = {}, errors = {}, checkin = {} }, {}
  local before
  from, before = finishAll(items, from)
  local ids = {}
  for i = from, #items, 5 do ids[#ids + 1] = items[i] end
  for i, text in ipairs(values(JOBS, ids)) do
    local first = from + 5 * i - 4
    local outcome, left, to, attempt, due = settle(ids[i], items[first], items[first + 1], items[first + 2], items[first + 3], text and parse(text))
    if outcome then unexpected[#unexpected + 1] = { int(before + i - 1), outcome, left, to, attempt, due } end
  end
  writeRows(written)
  for field, list in pairs(data) do each('HSET', P .. 'data:' .. field, list) end
  each('HDEL', P .. 'data:error', errorsCleared)
  advance(given)
  return baseText, now, unexpected
end
end
`,
  typed: true,
  call: 'local base, at, unexpected = settleAll(ARGV, 5)',
  answer: 'base, at, unexpected',
}
