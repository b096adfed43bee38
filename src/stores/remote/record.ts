/** The record of a job, of its row and of what is kept beside it. */
import { caps } from '../../core/caps.ts'
import { valueOf } from '../../core/cell.ts'
import { enqueueEntry } from '../../core/history.ts'
import type { JobRow } from '../../core/job-row.ts'
import type { CheckpointEntry, InboxEntry } from '../../core/machine-record.ts'
import type { HistoryEntry, JobRecord } from '../../core/record.ts'

/** A job as it is read: its values are the caller's, except those of rows, which are copied. */
export interface ReadJob {
  readonly row: JobRow
  /** The last checkpoint. */
  readonly checkpoint: CheckpointEntry | null
  readonly inbox: readonly InboxEntry[]
  /** Its transitions without the ENQUEUE, oldest first. */
  readonly history: () => readonly HistoryEntry[]
}

export const readField: { readonly [Field in keyof JobRecord]: (job: ReadJob) => JobRecord[Field] } = {
  id: ({ row }) => row.id,
  type: ({ row }) => row.type,
  state: ({ row }) => row.state,
  priority: ({ row }) => row.priority,
  attempt: ({ row }) => row.attempt,
  maxAttempts: ({ row }) => row.maxAttempts,
  generation: ({ row }) => row.generation,
  input: ({ row }) => valueOf(row.input),
  output: ({ row }) => valueOf(row.lastRun.output),
  error: ({ row }) => valueOf(row.rarely.error),
  errors: ({ row }) => [...valueOf(row.rarely.errors)],
  checkin: ({ row }) => valueOf(row.rarely.checkin),
  logs: ({ row }) => [...valueOf(row.rarely.logs)],
  tags: ({ row }) => [...valueOf(row.terms.tags)],
  meta: ({ row }) => valueOf(row.terms.meta) ?? {},
  key: ({ row }) => row.key,
  concurrencyKey: ({ row }) => row.concurrencyKey,
  enqueuedAt: ({ row }) => row.enqueuedAt,
  dueAt: ({ row }) => row.dueAt,
  startedAt: ({ row }) => row.startedAt,
  finishedAt: ({ row }) => row.finishedAt,
  worker: ({ row }) => row.worker,
  cancelReason: ({ row }) => row.cancelMark?.reason ?? null,
  checkpoint: ({ checkpoint }) =>
    checkpoint === null ? null : { number: checkpoint.number, state: structuredClone(checkpoint.state) },
  machineStates: ({ row }) => [...(row.machine?.states ?? [])],
  machineTags: ({ row }) => [...(row.machine?.tags ?? [])],
  inbox: ({ inbox }) => structuredClone([...inbox]),
  deferred: ({ row }) => [...(row.machine?.deferred ?? [])],
  lastMessageNumber: ({ row }) => row.machine?.lastMessage ?? 0,
  parent: ({ row }) => structuredClone(row.machine?.parent ?? null),
  version: ({ row }) => row.machine?.version ?? null,
  unsupported: ({ row }) => structuredClone(row.machine?.unsupported ?? null),
  history: historyOf,
}

const names = Object.keys(readField) as (keyof JobRecord)[]

/** @param fields those that are asked for; default all */
export const recordOf = <Name extends keyof JobRecord = keyof JobRecord>(
  job: ReadJob,
  fields: readonly (keyof JobRecord)[] = names,
): Pick<JobRecord, Name> =>
  Object.fromEntries(fields.map((field) => [field, readField[field](job)])) as unknown as Pick<JobRecord, Name>

/** The ENQUEUE is not stored as an entry: it is made from the fields of the job. */
function historyOf({ row, history }: ReadJob): HistoryEntry[] {
  const entries = history()
  if (entries.length >= caps.history) return entries.slice(-caps.history)
  return [enqueueEntry(entries[0]?.from ?? row.state, row.seq, row.enqueuedAt), ...entries]
}
