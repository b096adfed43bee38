/** The record of a job, and a claimed job, of its row and of what is kept beside it. */
import { caps } from '../../core/caps.ts'
import { enqueueEntry } from '../../core/history.ts'
import type { JobRow } from '../../core/job-row.ts'
import type { CheckpointEntry, InboxEntry } from '../../core/machine-record.ts'
import { allFields, fieldsOfRow, someFields, type RecordReaders } from '../../core/record-fields.ts'
import type { HistoryEntry, JobRecord } from '../../core/record.ts'
import type { ClaimedJob } from '../../store.ts'

/** A job as it is read: its values are the caller's, except those of rows, which are copied. */
export interface ReadJob {
  readonly row: JobRow
  /** The last checkpoint. */
  readonly checkpoint: CheckpointEntry | null
  readonly inbox: readonly InboxEntry[]
  /** Its transitions without the ENQUEUE, oldest first. */
  readonly history: () => readonly HistoryEntry[]
}

const readers: RecordReaders<JobRow, ReadJob> = {
  ...fieldsOfRow,
  checkpoint: (_, { checkpoint }) => checkpoint && { number: checkpoint.number, state: checkpoint.state },
  inbox: (_, { inbox }) => [...inbox],
  history: historyOf,
}

/** @param fields those that are asked for; default all */
export const recordOf = <Name extends keyof JobRecord = keyof JobRecord>(
  job: ReadJob,
  fields?: readonly Name[],
): Pick<JobRecord, Name> =>
  fields === undefined ? allFields(readers, job.row, job) : someFields(readers, job.row, job, fields)

/** A job that has just been claimed. @param read what a row does not tell, or not as the caller's own */
export const claimedOf = (
  row: JobRow,
  read: Pick<ClaimedJob, 'input' | 'steps' | 'checkpoint' | 'inbox' | 'meta' | 'record'>,
): ClaimedJob => ({
  id: row.id,
  type: row.type,
  priority: row.priority,
  concurrencyKey: row.concurrencyKey,
  attempt: row.attempt,
  maxAttempts: row.maxAttempts,
  generation: row.generation,
  token: row.token ?? '',
  startedAt: row.startedAt ?? 0,
  seq: row.lastSeq,
  version: row.machine?.version ?? null,
  pins: row.terms.pins ?? null,
  ...read,
})

/** The ENQUEUE is not stored as an entry: it is made from the fields of the job. */
function historyOf(row: JobRow, { history }: ReadJob): HistoryEntry[] {
  const entries = history()
  if (entries.length >= caps.history) return entries.slice(-caps.history)
  return [enqueueEntry(entries[0]?.from ?? row.state, row.seq, row.enqueuedAt), ...entries]
}
