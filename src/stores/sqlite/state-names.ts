/** The states that statements name, asked of the chart: `migrations/`, which make the tables, do not know it. */
import { arrows, arrowsFrom, type JobState } from '../../core/lifecycle.ts'

function only(states: Iterable<string>, what: string): string {
  const [state, ...others] = states
  if (state === undefined || others.length > 0) throw new TypeError(`job.machine.ts: not exactly one state ${what}`)
  return state
}

/** The one state that jobs are claimed from. */
export const claimable = only(Object.keys(arrows('CLAIM')), 'to claim from') as JobState

/** The one state that a claim leads to. */
export const claimed = only(
  new Set((arrowsFrom(claimable).CLAIM ?? []).map(({ to }) => to)),
  'that a claim leads to',
) as JobState
