/** The records of stored jobs. */
import { caps } from '../../core/caps.ts'
import type { ErrorRecord } from '../../core/failure.ts'
import { enqueueEntry } from '../../core/history.ts'
import type { CheckIn, HistoryEntry, JobMeta, JobRecord, LogLine } from '../../core/record.ts'
import { isEnded, statesTagged, type JobState } from '../../core/lifecycle.ts'
import type { CheckpointEntry, InboxEntry, Parent, Unsupported } from '../../core/machine-record.ts'
import type { Json } from '../../core/payload.ts'
import type { CancelMark } from '../../core/row-fields.ts'
import type { ClaimedJob, JobPins } from '../../store.ts'
import type { Reply } from './connection.ts'
import { pairs, parsedAll } from './loading.ts'
import { parseRow, unlessUnreadable } from './row-text.ts'
import type { LoadedRow } from '../remote/row.ts'
import type { Fields } from '../remote/fields.ts'
import { errorsOf, historyEntries } from '../remote/history-text.ts'

/** The stored data of a job. */
export interface StoredJob {
  readonly id: string
  readonly fields: Fields
  /** As it is stored. */
  readonly history: string
  readonly checkpoint: CheckpointEntry | null
  readonly inbox: readonly InboxEntry[]
}

const timed = statesTagged('timed')

/** @param otherwise the value if there is no text; the text was written from a value of this type */
const parsed = <T>(text: string | undefined, otherwise: T): T =>
  text === undefined ? otherwise : (JSON.parse(text) as T)
const number = (text: string | undefined): number | null => (text === undefined ? null : Number(text))

const read: { readonly [Field in keyof JobRecord]: (job: StoredJob) => JobRecord[Field] } = {
  id: ({ id }) => id,
  type: ({ fields }) => fields.type ?? '',
  state: ({ fields }) => fields.state as JobState,
  priority: ({ fields }) => Number(fields.priority ?? 0),
  attempt: ({ fields }) => Number(fields.attempt ?? 0),
  maxAttempts: ({ fields }) => Number(fields.maxAttempts) + Number(fields.checkpointedAttempts ?? 0),
  generation: ({ fields }) => Number(fields.generation ?? 1),
  input: ({ fields }) => parsed<Json | undefined>(fields.input, undefined),
  output: ({ fields }) => parsed<Json | undefined>(fields.output, undefined),
  error: ({ fields }) => parsed<ErrorRecord | null>(fields.error, null),
  errors: ({ fields }) => errorsOf(fields),
  checkin: ({ fields }) => parsed<CheckIn | null>(fields.checkin, null),
  logs: ({ fields }) => parsed<LogLine[]>(fields.logs, []),
  tags: ({ fields }) => parsed<string[]>(fields.tags, []),
  meta: ({ fields }) => parsed<JobMeta>(fields.meta, {}),
  key: ({ fields }) => fields.key ?? null,
  concurrencyKey: ({ fields }) => fields.concurrencyKey ?? null,
  enqueuedAt: ({ fields }) => Number(fields.enqueuedAt),
  dueAt: ({ fields }) => (timed.has(fields.state as JobState) ? number(fields.wakeAt) : null),
  startedAt: ({ fields }) => number(fields.startedAt),
  finishedAt: ({ fields }) => (isEnded(fields.state as JobState) ? number(fields.finishedAt) : null),
  worker: ({ fields }) => fields.worker ?? null,
  cancelReason: ({ fields }) => parsed<CancelMark | null>(fields.cancel, null)?.reason ?? null,
  checkpoint: ({ checkpoint }) =>
    checkpoint === null ? null : { number: checkpoint.number, state: structuredClone(checkpoint.state) },
  machineStates: ({ fields }) => parsed<string[]>(fields.machineStates, []),
  machineTags: ({ fields }) => parsed<string[]>(fields.machineTags, []),
  inbox: ({ inbox }) => structuredClone(inbox),
  deferred: ({ fields }) => parsed<number[]>(fields.deferred, []),
  lastMessageNumber: ({ fields }) => Number(fields.lastMessage ?? 0),
  parent: ({ fields }) => parsed<Parent | null>(fields.parent, null),
  version: ({ fields }) => fields.version ?? null,
  unsupported: ({ fields }) => parsed<Unsupported | null>(fields.unsupported, null),
  history: historyOf,
}

const names = Object.keys(read) as (keyof JobRecord)[]

/** @param fields those that are asked for; default all */
export const recordOf = <Name extends keyof JobRecord = keyof JobRecord>(
  job: StoredJob,
  fields: readonly (keyof JobRecord)[] = names,
): Pick<JobRecord, Name> =>
  Object.fromEntries(fields.map((field) => [field, read[field](job)])) as unknown as Pick<JobRecord, Name>

/** The ENQUEUE is not stored as an entry: it is made from the fields of the job. */
function historyOf({ fields, history }: StoredJob): HistoryEntry[] {
  const entries = historyEntries(history)
  if (entries.length >= caps.history) return entries.slice(-caps.history)
  const to = entries[0]?.from ?? (fields.state as JobState)
  return [enqueueEntry(to, Number(fields.seq), Number(fields.enqueuedAt)), ...entries]
}

/** A job in the answer of the claim script; null if it cannot be read. */
export const claimedFrom = (reply: readonly Reply[]): { readonly job: ClaimedJob; readonly row: LoadedRow } | null =>
  unlessUnreadable(() => readClaimed(reply))

function readClaimed(reply: readonly Reply[]): { readonly job: ClaimedJob; readonly row: LoadedRow } | null {
  const [id, text, input, data, steps, checkpoint, inbox] = reply
  const row = parseRow(String(text))
  if (row === null) return null
  Object.assign(row.fields, Object.fromEntries(pairs(data)))
  const fields: Fields = input === '' ? row.fields : { ...row.fields, input: String(input) }
  const stored: StoredJob = {
    id: String(id),
    fields,
    history: row.history,
    checkpoint:
      typeof checkpoint === 'string' && checkpoint !== '' ? (JSON.parse(checkpoint) as CheckpointEntry) : null,
    inbox: parsedAll<InboxEntry>(inbox),
  }
  return { job: claimedJob(stored, pairs(steps)), row: { ...row, data: 'rest' } }
}

const claimedJob = (stored: StoredJob, steps: readonly [string, string][]): ClaimedJob => ({
  id: stored.id,
  type: read.type(stored),
  input: read.input(stored),
  priority: read.priority(stored),
  concurrencyKey: read.concurrencyKey(stored),
  attempt: read.attempt(stored),
  maxAttempts: read.maxAttempts(stored),
  generation: read.generation(stored),
  token: stored.fields.token ?? '',
  startedAt: read.startedAt(stored) ?? 0,
  seq: Number(stored.fields.last),
  steps: steps.length === 0 ? null : Object.fromEntries(steps.map(([name, text]) => [name, JSON.parse(text) as Json])),
  checkpoint: read.checkpoint(stored),
  inbox: read.inbox(stored),
  version: read.version(stored),
  pins: parsed<JobPins | null>(stored.fields.pins, null),
  meta: parsed<JobMeta | null>(stored.fields.meta, null),
  record: () => recordOf(stored),
})
