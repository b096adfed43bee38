/**
 * The effects of each arrow of the chart on lease, place, unique key and due time: compiled from the chart's tags at
 * load.
 */
import { countedOf, type Counted } from './activity.ts'
import type { Failure } from './fingerprint.ts'
import type { JobRow } from './job-row.ts'
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
import type { Json } from './payload.ts'

/** An arrow of the chart, with its effects on the lease, the place, the unique key and the due time of a job. */
export interface CompiledArrow extends Arrow {
  readonly lease: 'begins' | 'goes on' | 'ends' | 'none'
  /** Does the job get a new place at the end of its queue? A job that is released or expired keeps its place. */
  readonly takesPlace: boolean
  /** Effect on its unique key: an end frees it, a retry takes it again. */
  readonly key: 'freed' | 'taken' | 'kept'
  /** Does the target state end at a due time? */
  readonly timed: boolean
  /** What it adds to the activity of its queue; null for nothing. */
  readonly counted: Counted | null
  /** Index of its target in `jobStates`. */
  readonly toIndex: number
  /** The counters after it; null if it does not change them. */
  readonly countersAfter: ((before: JobCounters) => JobCounters) | null
}

/** Arguments of a transition beside its arrow. */
export interface TransitionOptions {
  readonly reason?: string | null | undefined
  /** Of a FAIL: no further attempt. */
  readonly fatal?: boolean | undefined
  /** When the timed target state ends, ms since the epoch; null = at an event only. */
  readonly dueAt?: number | null
  /** Of a CLAIM: the lease that begins, and its length. */
  readonly worker?: string
  readonly token?: string
  readonly leaseMs?: number
  /** Of a COMPLETE. */
  readonly output?: Json | undefined
  /** Of a FAIL or EXPIRE: its error. */
  readonly failure?: Failure | null
}

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

/** What an arrow does to the counters of a job. */
export function changeCounters(row: JobRow, { countersAfter }: CompiledArrow): void {
  if (countersAfter === null) return
  const { attempt, generation } = countersAfter(row)
  row.attempt = attempt
  row.generation = generation
  if (attempt === 0 && row.checkpointedAttempts > 0) row.checkpointedAttempts = 0
}
