/** What a run must be told: that its job was cancelled. */
import type { JobRow } from './job-row.ts'
import { arrowsFrom, isLeased, type JobState } from './lifecycle.ts'

/** Is a job in this state leased and already cancelled? */
export const isStopping = (state: JobState): boolean => isLeased(state) && !('CANCEL' in arrowsFrom(state))

/** The cancel that a run must obey; null if there is none, or if it was delivered to its machine as a message. */
export function stopNotice(row: JobRow): { readonly reason?: string; readonly graceMs?: number } | null {
  const { cancelMark, state } = row
  if (cancelMark === null || !isStopping(state)) return null
  const { reason, graceMs } = cancelMark
  return { ...(reason !== null && { reason }), ...(graceMs !== null && { graceMs }) }
}
