/** The record of a job from its row, and from what a store keeps beside it. */
import { valueOf } from './cell.ts'
import type { JobRow } from './job-row.ts'
import type { JobRecord } from './record.ts'

/** How each field of a record is read. What is kept beside the row is read only for fields that need it. */
export type RecordReaders<Row extends JobRow, Kept> = {
  readonly [Field in keyof JobRecord]: (row: Row, kept: Kept) => JobRecord[Field]
}

type BesideTheRow = 'checkpoint' | 'inbox' | 'history'

/**
 * The fields that a row tells. Lists are copies; values are what the row gives, of which a store whose rows keep them
 * as they are makes a copy.
 */
export const fieldsOfRow: Omit<RecordReaders<JobRow, unknown>, BesideTheRow> = {
  id: (row) => row.id,
  type: (row) => row.type,
  state: (row) => row.state,
  priority: (row) => row.priority,
  attempt: (row) => row.attempt,
  maxAttempts: (row) => row.maxAttempts,
  generation: (row) => row.generation,
  input: (row) => valueOf(row.input),
  output: (row) => valueOf(row.lastRun.output),
  error: (row) => valueOf(row.rarely.error),
  errors: (row) => [...valueOf(row.rarely.errors)],
  checkin: (row) => valueOf(row.rarely.checkin),
  logs: (row) => [...valueOf(row.rarely.logs)],
  tags: (row) => [...valueOf(row.terms.tags)],
  meta: (row) => valueOf(row.terms.meta) ?? {},
  key: (row) => row.key,
  concurrencyKey: (row) => row.concurrencyKey,
  enqueuedAt: (row) => row.enqueuedAt,
  dueAt: (row) => row.dueAt,
  startedAt: (row) => row.startedAt,
  finishedAt: (row) => row.finishedAt,
  worker: (row) => row.worker,
  cancelReason: (row) => row.cancelMark?.reason ?? null,
  machineStates: (row) => [...(row.machine?.states ?? [])],
  machineTags: (row) => [...(row.machine?.tags ?? [])],
  takesCancel: (row) => row.machine?.takesCancel ?? false,
  deferred: (row) => [...(row.machine?.deferred ?? [])],
  lastMessageNumber: (row) => row.machine?.lastMessage ?? 0,
  parent: ({ machine }) => (machine === null || machine.parent === null ? null : { ...machine.parent }),
  version: (row) => row.machine?.version ?? null,
  unsupported: ({ machine }) => (machine === null || machine.unsupported === null ? null : { ...machine.unsupported }),
}

export const someFields = <Row extends JobRow, Kept, Field extends keyof JobRecord>(
  readers: RecordReaders<Row, Kept>,
  row: Row,
  kept: Kept,
  fields: readonly Field[],
): Pick<JobRecord, Field> =>
  Object.fromEntries(fields.map((field) => [field, readers[field](row, kept)])) as Pick<JobRecord, Field>

/** All fields, one by one: a loop over their names takes several times as long. */
export const allFields = <Row extends JobRow, Kept>(
  readers: RecordReaders<Row, Kept>,
  row: Row,
  kept: Kept,
): JobRecord => ({
  id: readers.id(row, kept),
  type: readers.type(row, kept),
  state: readers.state(row, kept),
  priority: readers.priority(row, kept),
  attempt: readers.attempt(row, kept),
  maxAttempts: readers.maxAttempts(row, kept),
  generation: readers.generation(row, kept),
  input: readers.input(row, kept),
  output: readers.output(row, kept),
  error: readers.error(row, kept),
  errors: readers.errors(row, kept),
  checkin: readers.checkin(row, kept),
  logs: readers.logs(row, kept),
  tags: readers.tags(row, kept),
  meta: readers.meta(row, kept),
  key: readers.key(row, kept),
  concurrencyKey: readers.concurrencyKey(row, kept),
  enqueuedAt: readers.enqueuedAt(row, kept),
  dueAt: readers.dueAt(row, kept),
  startedAt: readers.startedAt(row, kept),
  finishedAt: readers.finishedAt(row, kept),
  worker: readers.worker(row, kept),
  cancelReason: readers.cancelReason(row, kept),
  checkpoint: readers.checkpoint(row, kept),
  machineStates: readers.machineStates(row, kept),
  machineTags: readers.machineTags(row, kept),
  takesCancel: readers.takesCancel(row, kept),
  inbox: readers.inbox(row, kept),
  deferred: readers.deferred(row, kept),
  lastMessageNumber: readers.lastMessageNumber(row, kept),
  parent: readers.parent(row, kept),
  version: readers.version(row, kept),
  unsupported: readers.unsupported(row, kept),
  history: readers.history(row, kept),
})

/** Are ids all that is asked for? */
export const isOfIds = (fields: readonly (keyof JobRecord)[] | undefined): boolean =>
  fields?.[0] === 'id' && fields.every((field) => field === 'id')

/** A record of which nothing but the id was asked for. */
export const recordOfId = <Name extends keyof JobRecord>(id: string): Pick<JobRecord, Name> =>
  ({ id }) as Partial<JobRecord> as Pick<JobRecord, Name>
