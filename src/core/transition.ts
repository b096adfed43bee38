/** The effects of each arrow of the chart on lease, place, unique key and due time: compiled from the chart's tags at load. */
import { countedOf } from './activity.ts'
import {
  allArrows,
  arrowsFrom,
  countersAfter,
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
import type { JobRow, LoggedTransition, Transition, TransitionOptions, UnitOfWork } from './unit-of-work.ts'

/** The states that jobs are claimed from. */
export const claimable: ReadonlySet<JobState> = new Set(
  allArrows.filter(({ event }) => event === 'CLAIM').map(({ from }) => from),
)

function compile(arrow: Arrow): Transition {
  const { from, to } = arrow
  const [before, after] = [isLeased(from), isLeased(to)]
  return {
    ...arrow,
    lease: after ? (before ? 'goes on' : 'begins') : before ? 'ends' : 'none',
    takesPlace: claimable.has(to) && !before,
    key: isEnded(to) ? 'freed' : isEnded(from) ? 'taken' : 'kept',
    timed: statesTagged('timed').has(to),
    counted: countedOf(arrow),
  }
}

type Table = Readonly<Record<JobState, Partial<Record<ArrowEvent, readonly Transition[]>>>>

function compileTable(): Table {
  const rows: Partial<Record<JobState, Partial<Record<ArrowEvent, readonly Transition[]>>>> = {}
  for (const state of jobStates) {
    const row: Partial<Record<ArrowEvent, readonly Transition[]>> = (rows[state] = {})
    for (const { event } of allArrows.filter(({ from }) => from === state)) {
      row[event] = (arrowsFrom(state)[event] ?? []).map(compile)
    }
  }
  return rows as Table
}

const table = compileTable()

/** The arrow that an event takes from a state, with its effects; null if the chart has none. @param fatal of a FAIL */
export function nextTransition(
  state: JobState,
  event: ArrowEvent,
  counters: JobCounters,
  fatal?: boolean,
): Transition | null {
  const candidates = table[state][event]
  if (candidates === undefined) return null
  for (const transition of candidates) if (isTaken(transition, counters, fatal)) return transition
  return null
}

export const noTransition = ({ id, state }: JobRow, event: string): TypeError =>
  new TypeError(`job ${id}: the chart has no ${event} from ${state}`)

const noOptions: TransitionOptions = {}

/** Writes the transition of a job by an event. @throws TypeError if the chart has no arrow for the event from its state */
export function applyEvent<Row extends JobRow>(
  unit: UnitOfWork<Row>,
  row: Row,
  event: ArrowEvent,
  options: TransitionOptions = noOptions,
): LoggedTransition {
  const transition = nextTransition(row.state, event, row, options.fatal)
  if (transition === null) throw noTransition(row, event)
  if (transition.counting !== null) {
    const { attempt, generation } = countersAfter(transition, row)
    row.attempt = attempt
    row.generation = generation
    if (attempt === 0 && row.checkpointedAttempts > 0) row.checkpointedAttempts = 0
  }
  const { counted } = transition
  if (counted !== null) {
    unit.count(row, counted, counted.time < 0 ? 0 : unit.now - (row.startedAt ?? unit.now))
    if (counted.fails && options.failure) unit.countFailure(row, options.failure)
  }
  const logged = unit.apply(row, transition, options)
  // A job that has ended is not claimed again.
  if (transition.key === 'freed' && row.machine?.unsupported) unit.setUnsupported(row, null)
  return logged
}
