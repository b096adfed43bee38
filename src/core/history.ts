/**
 * The entries that a job leaves in its history and in the log, made in one place. How they are stored is up to each
 * store.
 */
import { jobStates, type JobState } from './lifecycle.ts'
import type { HistoryEntry } from './record.ts'
import type { CompiledArrow, JobRow, TransitionOptions } from './unit-of-work.ts'

/** The states that an entry names: of an arrow of the chart, of the enqueue, or of a checkpoint. */
export type LoggedArrow = Pick<HistoryEntry, 'event' | 'from' | 'to'>

/** An entry from its values; null = the entry has none. Each as one literal: a member that is added later
 * gets a store of its own. */
export function historyEntry(
  { event, from, to }: LoggedArrow,
  seq: number,
  at: number,
  attempt: number,
  worker: string | null,
  reason: string | null,
): HistoryEntry {
  if (worker === null) {
    if (reason === null) return { seq, at, event, from, to, attempt }
    return { seq, at, event, from, to, attempt, reason }
  }
  if (reason === null) return { seq, at, event, from, to, attempt, worker }
  return { seq, at, event, from, to, attempt, worker, reason }
}

/** The entry of the ENQUEUE that has put a job into this state. */
export const enqueueEntry = (to: JobState, seq: number, at: number): HistoryEntry => ({
  seq,
  at,
  event: 'ENQUEUE',
  from: null,
  to,
  attempt: 0,
})

/**
 * The worker in the entry of a transition: that of the lease that begins, goes on or ends; null if there is no lease.
 */
export const loggedWorker = (row: JobRow, { lease }: CompiledArrow, { worker }: TransitionOptions): string | null =>
  worker ?? (lease === 'none' ? null : row.worker)

const checkpointArrows = Object.fromEntries(
  jobStates.map((state): [JobState, LoggedArrow] => [state, { event: 'CHECKPOINT', from: state, to: state }]),
) as Readonly<Record<JobState, LoggedArrow>>

/** What a CHECKPOINT in this state is in the log. */
export const checkpointArrow = (state: JobState): LoggedArrow => checkpointArrows[state]

const enqueueArrows = Object.fromEntries(
  jobStates.map((state): [JobState, LoggedArrow] => [state, { event: 'ENQUEUE', from: null, to: state }]),
) as Readonly<Record<JobState, LoggedArrow>>

/** What an ENQUEUE into this state is in the log. */
export const enqueueArrow = (state: JobState): LoggedArrow => enqueueArrows[state]
