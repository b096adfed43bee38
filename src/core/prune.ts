/**
 * Retention: which ended jobs are removed, and when the next removal is due. Each type has its own bounds: the jobs of
 * one type never cause the removal of another's.
 *
 * A type is looked at when its time has come. The store sets that time to now whenever a job of the type ends or an
 * ended one is removed or retried, and when policies change; a prune sets it to the next removal. So the cost of a
 * prune depends on the number of types in which something has changed, not on the number of types.
 */
import { jobStates, isEnded } from './lifecycle.ts'
import { goesAt, goingMax, type RetentionBounds } from './retention.ts'
import type { PruneAnswer, RetentionPolicy } from './values.ts'

/** The fields of an ended job that retention reads. */
export interface EndedJob {
  /** ms since the epoch. */
  readonly finishedAt: number | null
}

export type EndedState = keyof RetentionPolicy

/** The access that retention needs to a store. */
export interface PruneUnit<Ended extends EndedJob> {
  readonly now: number
  /** Types that are to be looked at now, `limit` at most. */
  typesToPrune(limit: number): readonly string[]
  /** The policy of a type, or that of all types without one; null if none was ever set: then nothing is removed. */
  retentionOf(type: string): RetentionPolicy | null
  /** Jobs of a type in an ended state. */
  endedCount(type: string, state: EndedState): number
  /** Those of them that ended first, `limit` at most. */
  firstEnded(type: string, state: EndedState, limit: number): readonly Ended[]
  /** Deletes ended jobs and their data. */
  removeEnded(jobs: readonly Ended[]): void
  /** Sets when a type is to be looked at again, ms since the epoch; Infinity = not before something changes. */
  lookAgain(type: string, at: number): void
  /** When the next type is to be looked at; Infinity = none. */
  readonly nextLookAt: number
}

export const endedStates = jobStates.filter(isEnded) as readonly EndedState[]

/** Types that one call looks at. */
export const looksMax = 200

/** Removes jobs that are no longer kept: of each type and state those that ended first, `limit` in all at most. */
export function prune<Ended extends EndedJob>(unit: PruneUnit<Ended>, limit: number): PruneAnswer {
  let pruned = 0
  const types = unit.typesToPrune(looksMax)
  for (const type of types) {
    const policy = unit.retentionOf(type)
    let lookAt = Infinity
    for (const state of policy === null ? [] : endedStates) {
      const { jobs, nextAt } = beyond(unit, type, state, policy?.[state] as RetentionBounds, limit - pruned)
      if (jobs.length > 0) unit.removeEnded(jobs)
      pruned += jobs.length
      if (pruned === limit) return { pruned, nextAt: null, more: true }
      lookAt = Math.min(lookAt, nextAt)
    }
    unit.lookAgain(type, lookAt)
  }
  if (types.length === looksMax) return { pruned, nextAt: null, more: true }
  const { nextLookAt } = unit
  return { pruned, nextAt: nextLookAt === Infinity ? null : nextLookAt, more: false }
}

/**
 * The jobs of a type and state that their bounds no longer keep, `limit` at most, and when the next one is to be
 * removed.
 */
function beyond<Ended extends EndedJob>(
  unit: PruneUnit<Ended>,
  type: string,
  state: EndedState,
  bounds: RetentionBounds,
  limit: number,
): { readonly jobs: readonly Ended[]; readonly nextAt: number } {
  const kept = unit.endedCount(type, state)
  // Mostly no job is to be removed: then one is read.
  let jobs = kept === 0 ? [] : unit.firstEnded(type, state, 1)
  for (let i = 0; i < jobs.length; i++) {
    const endedAt = (jobs[i] as Ended).finishedAt ?? 0
    const nextAt = goesAt(bounds, kept - i, endedAt)
    if (nextAt > unit.now) return { jobs: jobs.slice(0, i), nextAt }
    // Otherwise those that may go, and the one after them.
    if (i === 0) jobs = unit.firstEnded(type, state, Math.min(limit, goingMax(bounds, kept, endedAt, unit.now) + 1))
  }
  return { jobs, nextAt: Infinity }
}
