/**
 * The effects of each arrow of the chart on lease, place, unique key and due time: compiled from the chart's tags at
 * load.
 */
import { countedOf } from './activity.ts'
import {
  allArrows,
  arrowsFrom,
  counterChange,
  isEnded,
  isLeased,
  isTaken,
  jobStates,
  statesTagged,
  type Arrow,
  type ArrowEvent,
  type JobCounters,
  type JobState,
} from './lifecycle.ts'
import type { CompiledArrow, JobRow, LoggedTransition, TransitionOptions, UnitOfWork } from './unit-of-work.ts'

/** The states that jobs are claimed from. */
export const claimable: ReadonlySet<JobState> = new Set(
  allArrows.filter(({ event }) => event === 'CLAIM').map(({ from }) => from),
)

function compile(arrow: Arrow): CompiledArrow {
  const { from, to } = arrow
  const [before, after] = [isLeased(from), isLeased(to)]
  return {
    ...arrow,
    lease: after ? (before ? 'goes on' : 'begins') : before ? 'ends' : 'none',
    takesPlace: claimable.has(to) && !before,
    key: isEnded(to) ? 'freed' : isEnded(from) ? 'taken' : 'kept',
    timed: statesTagged('timed').has(to),
    counted: countedOf(arrow),
    toIndex: jobStates.indexOf(to),
    countersAfter: counterChange(arrow),
  }
}

type Table = Readonly<Record<JobState, Partial<Record<ArrowEvent, readonly CompiledArrow[]>>>>

function compileTable(): Table {
  const rows: Partial<Record<JobState, Partial<Record<ArrowEvent, readonly CompiledArrow[]>>>> = {}
  for (const state of jobStates) {
    const row: Partial<Record<ArrowEvent, readonly CompiledArrow[]>> = (rows[state] = {})
    for (const { event } of allArrows.filter(({ from }) => from === state)) {
      row[event] = (arrowsFrom(state)[event] ?? []).map(compile)
    }
  }
  return rows as Table
}

const table = compileTable()

/** The arrow that an event takes from a state, with its effects; null if the chart has none. @param fatal of a FAIL */
export function compiledArrow(
  state: JobState,
  event: ArrowEvent,
  counters: JobCounters,
  fatal?: boolean,
): CompiledArrow | null {
  const candidates = table[state][event]
  if (candidates === undefined) return null
  for (const arrow of candidates) if (isTaken(arrow, counters, fatal)) return arrow
  return null
}

function unguardedArrow(from: JobState, event: ArrowEvent): CompiledArrow {
  const [arrow] = table[from][event] ?? []
  if (arrow?.guard !== null) throw new TypeError(`the chart has no ${event} from ${from} without a guard`)
  return arrow
}

/**
 * The arrows of most jobs: V8 takes as long to look one up by its two names as for the rest of a transition in memory.
 */
const claimArrow = unguardedArrow('queued', 'CLAIM')
const completeArrow = unguardedArrow('running', 'COMPLETE')

/** The arrow that an event takes a job along. @throws TypeError if the chart has none from its state */
export function expectArrow(row: JobRow, event: ArrowEvent, fatal?: boolean): CompiledArrow {
  const { state } = row
  if (event === claimArrow.event && state === claimArrow.from) return claimArrow
  if (event === completeArrow.event && state === completeArrow.from) return completeArrow
  const arrow = compiledArrow(state, event, row, fatal)
  if (arrow === null) throw new TypeError(`job ${row.id}: the chart has no ${event} from ${state}`)
  return arrow
}

const noOptions: TransitionOptions = {}

/**
 * Writes the transition of a job by an event.
 * @throws TypeError if the chart has no arrow for the event from its state
 */
export function applyEvent<Row extends JobRow>(
  unit: UnitOfWork<Row>,
  row: Row,
  event: ArrowEvent,
  options: TransitionOptions = noOptions,
): LoggedTransition {
  return applyArrow(unit, row, expectArrow(row, event, options.fatal), options)
}

/** What an arrow does to the counters of a job. */
export function changeCounters(row: JobRow, { countersAfter }: CompiledArrow): void {
  if (countersAfter === null) return
  const { attempt, generation } = countersAfter(row)
  row.attempt = attempt
  row.generation = generation
  if (attempt === 0 && row.checkpointedAttempts > 0) row.checkpointedAttempts = 0
}

/** Writes the transition of a job along an arrow that `expectArrow` has given for its current state and counters. */
export function applyArrow<Row extends JobRow>(
  unit: UnitOfWork<Row>,
  row: Row,
  arrow: CompiledArrow,
  options: TransitionOptions,
): LoggedTransition {
  const { counted } = arrow
  if (counted !== null) {
    unit.count(row, counted, counted.time < 0 ? 0 : unit.now - (row.startedAt ?? unit.now))
    if (counted.fails && options.failure) unit.countFailure(row, options.failure)
  }
  const logged = unit.apply(row, arrow, options)
  // A job that has ended is not claimed again.
  if (arrow.key === 'freed' && row.machine?.unsupported) unit.write(row, { unsupported: null })
  return logged
}
