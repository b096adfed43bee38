/** What scripts know of the chart and of rows, as pieces of Lua. */
import { jobStates, statesTagged, type JobState } from '../../../core/lifecycle.ts'
import { claimable } from '../../../core/compiled-arrows.ts'
import { seqField } from '../figures.ts'
import { dataFields, dataLetters, headFields, type HeadField } from '../row-text.ts'

/** Where a field stands in a row, for scripts: their lists begin at 1. */
export const at = Object.fromEntries(headFields.map((name, i) => [name, i + 1])) as Readonly<Record<HeadField, number>>
/**
 * What follows the head of a row: the rare fields and the history. An entry that becomes part of the history stands
 * behind it.
 */
export const tail = headFields.length + 1

/** So often a script that writes no more than it must cuts the log, in transitions: a cut costs more than an entry. */
export const cutEvery = 64

/** More jobs are not named in the wake-up of their end. */
export const namedEndsMax = 100

/** Transitions of an entry of the log, if they are written one by one. */
export const logEntryMax = 100

/** The field of the figures that has the number of the last transition. */
export const seqName = `'${seqField.replace('\x01', '\\1')}'`

/** What a script does that finds the number of the last transition marked: see repair.ts. */
export const refused = `error({ err = 'REPAIR jobs are rebuilt; if that was interrupted, do it again: jobchart doctor --repair' })`

/** The fields that are kept apart, by their letters. */
export const fieldsOfLetters = `{${dataFields.map((field) => `${dataLetters[field]}='${field}'`).join(',')}}`

/** All states, as a set. */
export const allStates = `{${jobStates.map((state) => `${state}=true`).join(',')}}`

/** The state that jobs are claimed from. */
export const claimableState = only(claimable)

function only(states: ReadonlySet<JobState>): JobState {
  const [state, ...others] = [...states]
  if (state === undefined || others.length > 0) throw new TypeError('job.machine.ts: jobs are claimed from one state')
  return state
}

export const leasedStates = listOf(statesTagged('leased'))
export const backlogStates = listOf(statesTagged('backlog'))

function listOf(states: ReadonlySet<JobState>): string {
  return `{${[...states].map((state) => `'${state}'`).join(',')}}`
}

/** The index that the jobs of a state stand in; the other states have none. */
export const indexOfState = tableOf({
  queue: claimable,
  due: statesTagged('timed'),
  lease: statesTagged('leased'),
  ended: statesTagged('ended'),
})

function tableOf(indexes: Readonly<Record<string, ReadonlySet<JobState>>>): string {
  const byState = new Map<JobState, string>()
  for (const [index, states] of Object.entries(indexes)) {
    for (const state of states) {
      if (byState.has(state)) throw new TypeError(`job.machine.ts: jobs of ${state} would stand in two indexes`)
      byState.set(state, index)
    }
  }
  return `{${[...byState].map(([state, index]) => `${state}='${index}'`).join(',')}}`
}

/** How a bare script reads the time: of the server, and the one by which it judges. */
export const readTime = `local time = call('TIME')
local clock = time[1] .. string.format('%03d', math.floor(time[2] / 1000))
local now = ARGV[3] ~= '' and ARGV[3] or clock
local nowMs = tonumber(now)`

/**
 * How a bare script reads the figures of the types that its first argument names: texts, that of all types together in
 * the second place; and the number of the last transition.
 */
export const readFigures = `local types, n = { ${seqName}, '' }, 2
for type in ARGV[4]:gmatch('%Z+') do
  n = n + 1
  types[n] = type
end
local figures = call('HMGET', P .. 'figures', unpack(types))
local base = tonumber(figures[1] or '0') or ${refused}`

/**
 * How a bare script logs, behind the number `base`, as prelude.ts does for all others: `logAll` gathers transitions,
 * `writeLog` writes what is left of them.
 */
export const bareLog = `local logged, l, number = {}, 0, base
local function writeLog()
  local key, id = P .. 'log', format('%d', number) .. '-0'
  if math.floor(number / ${cutEvery}) > math.floor(base / ${cutEvery}) then
    call('XADD', key, 'MINID', '~', format('%d', math.max(0, number - ARGV[2] + 1)), id, unpack(logged))
  else
    call('XADD', key, id, unpack(logged))
  end
  logged, l = {}, 0
end
-- Transitions that differ in nothing but the job, or its type.
local function logAll(list, amounts, kinds, parts, amount, text)
  local isMixed = false
  for k = 2, parts do isMixed = isMixed or kinds[k] ~= kinds[1] end
  logged[l + 1] = ''
  logged[l + 2] = (isMixed and '' or kinds[1]) .. '\\0' .. amount .. '[' .. format('%d', number + 1) .. text
  l = l + 2
  local i = 0
  for k = 1, parts do
    local kind = kinds[k]
    for _ = 1, amounts[k] do
      i, l = i + 1, l + 1
      logged[l] = list[i]
      if isMixed then
        l = l + 1
        logged[l] = kind
      end
    end
  end
  if l % 2 == 1 then
    l = l + 1
    logged[l] = ''
  end
  number = number + amount
  if amount >= ${logEntryMax} then writeLog() end
end`

/** A script in two parts. */
export interface LuaScript {
  /** Functions, and the variables that they share. No library of Lua, nor Redis, may be used here. */
  readonly definitions: string
  /** What each call does. It gives the variables their values. A call that does nothing returns its own answer. */
  readonly call: string
  /** What it answers behind the time and the wake-ups: values, a comma between them. */
  readonly answer: string
  /** Its first argument names types that it touches, a zero byte between them. */
  readonly typed?: true
  /** It uses nothing of what all scripts share, and answers neither wake-ups nor what follows from its writes. */
  readonly bare?: true
  /** It is not refused while a repair is under way. */
  readonly duringRepair?: true
  /** It stores new jobs: while the memory of the server is full, it is refused. */
  readonly stores?: true
}
