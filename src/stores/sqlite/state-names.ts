/**
 * The states that statements name, asked of the chart. The tables themselves are made by `migrations/`, which does not
 * know the chart.
 *
 * A job is one row, numbered by its ENQUEUE. The hot path uses partial indexes over live jobs only: a claim costs the
 * same however many ended jobs are kept.
 */
import { arrows, type JobState } from '../../core/lifecycle.ts'

function only(states: Iterable<string>, what: string): string {
  const [state, ...others] = states
  if (state === undefined || others.length > 0) throw new TypeError(`job.machine.ts: not exactly one state ${what}`)
  return state
}

/** The one state that jobs are claimed from. */
export const claimable = only(Object.keys(arrows('CLAIM')), 'to claim from') as JobState
