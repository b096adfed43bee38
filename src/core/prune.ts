/** Retention: which ended jobs are removed, and when the next removal is due. */
import { jobStates, isEnded, type JobState } from './lifecycle.ts'
import { goesAt, type RetentionBounds } from './retention.ts'
import type { PruneAnswer, RetentionPolicy } from './values.ts'

/** The fields of an ended job that retention reads. */
export interface EndedJob {
  readonly endedAt: number
  /** Number of the transition that ended it. */
  readonly endedBy: number
}

/** The access that retention needs to a store. */
export interface PruneUnit<Ended extends EndedJob> {
  readonly now: number
  /** Jobs in an ended state. */
  endedCount(state: JobState): number
  /** The jobs that ended first, `limit` at most. */
  firstEnded(state: JobState, limit: number): readonly Ended[]
  /** Deletes ended jobs and their data. */
  removeEnded(jobs: readonly Ended[]): void
}

const endedStates = jobStates.filter(isEnded)

/** Removes jobs that the policy no longer keeps: those that ended first, `limit` at most. */
export function prune<Ended extends EndedJob>(
  unit: PruneUnit<Ended>,
  policy: RetentionPolicy,
  limit: number,
): PruneAnswer {
  const states = endedStates.map((state) => beyond(unit, state, policy[state as keyof RetentionPolicy], limit))
  const [first, ...others] = states.filter(({ jobs }) => jobs.length > 0)
  const jobs = first === undefined ? [] : others.length === 0 ? first.jobs : inOrder([first, ...others])
  const going = jobs.length > limit ? jobs.slice(0, limit) : jobs
  unit.removeEnded(going)
  if (going.length === limit) return { pruned: limit, nextAt: null, more: true }
  const next = states.flatMap(({ nextAt }) => nextAt ?? [])
  return { pruned: going.length, nextAt: next.length === 0 ? null : Math.min(...next), more: false }
}

const inOrder = <Ended extends EndedJob>(states: readonly { readonly jobs: readonly Ended[] }[]): readonly Ended[] =>
  states.flatMap(({ jobs }) => jobs).toSorted((a, b) => a.endedBy - b.endedBy)

/** The jobs of a state that its bounds no longer keep, `limit` at most, and when the next one is to be removed. */
function beyond<Ended extends EndedJob>(
  unit: PruneUnit<Ended>,
  state: JobState,
  bounds: RetentionBounds,
  limit: number,
): { readonly jobs: readonly Ended[]; readonly nextAt: number | null } {
  const kept = unit.endedCount(state)
  // In most calls no job is to be removed: then one job is read.
  let jobs = kept === 0 ? [] : unit.firstEnded(state, 1)
  for (let i = 0; i < jobs.length; i++) {
    const nextAt = goesAt(bounds, kept - i, (jobs[i] as Ended).endedAt)
    if (nextAt > unit.now) return { jobs: jobs.slice(0, i), nextAt }
    if (i === 0) jobs = unit.firstEnded(state, limit)
  }
  return { jobs, nextAt: null }
}
