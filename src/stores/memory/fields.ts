/** The record of a job, and single fields of it for lists that ask for some: nothing else is copied. */
import { valueOf } from '../../core/cell.ts'
import { copyPayload } from '../../core/payload.ts'
import type { JobRecord } from '../../core/record.ts'
import { checkinOf, checkpointOf, historyOf, inboxOf, logLine, metaOf } from './records.ts'
import type { Row } from './row.ts'

const read: { readonly [Field in keyof JobRecord]: (row: Row) => JobRecord[Field] } = {
  id: (row) => row.id,
  type: (row) => row.type,
  state: (row) => row.state,
  priority: (row) => row.priority,
  attempt: (row) => row.attempt,
  maxAttempts: (row) => row.maxAttempts,
  generation: (row) => row.generation,
  input: (row) => copyPayload(valueOf(row.input)),
  output: (row) => copyPayload(valueOf(row.lastRun.output)),
  error: (row) => valueOf(row.rarely.error),
  errors: (row) => valueOf(row.rarely.errors).map((error) => ({ ...error })),
  checkin: checkinOf,
  logs: (row) => valueOf(row.rarely.logs).map(logLine),
  tags: (row) => [...valueOf(row.terms.tags)],
  meta: (row) => metaOf(row) ?? {},
  key: (row) => row.key,
  concurrencyKey: (row) => row.concurrencyKey,
  enqueuedAt: (row) => row.enqueuedAt,
  dueAt: (row) => row.dueAt,
  startedAt: (row) => row.startedAt,
  finishedAt: (row) => row.finishedAt,
  worker: (row) => row.worker,
  cancelReason: (row) => row.cancelMark?.reason ?? null,
  checkpoint: checkpointOf,
  machineStates: (row) => [...(row.machine?.states ?? [])],
  machineTags: (row) => [...(row.machine?.tags ?? [])],
  inbox: (row) => row.lists?.messages.map(inboxOf) ?? [],
  deferred: (row) => [...(row.machine?.deferred ?? [])],
  lastMessageNumber: (row) => row.machine?.lastMessage ?? 0,
  parent: ({ machine }) => (machine === null || machine.parent === null ? null : { ...machine.parent }),
  version: (row) => row.machine?.version ?? null,
  unsupported: ({ machine }) => (machine === null || machine.unsupported === null ? null : { ...machine.unsupported }),
  history: historyOf,
}

export const fieldsOf = <Field extends keyof JobRecord>(row: Row, fields: readonly Field[]): Pick<JobRecord, Field> =>
  Object.fromEntries(fields.map((field) => [field, read[field](row)])) as Pick<JobRecord, Field>

/** All fields, one by one: a loop over their names takes ten times as long. */
export const recordOf = (row: Row): JobRecord => ({
  id: read.id(row),
  type: read.type(row),
  state: read.state(row),
  priority: read.priority(row),
  attempt: read.attempt(row),
  maxAttempts: read.maxAttempts(row),
  generation: read.generation(row),
  input: read.input(row),
  output: read.output(row),
  error: read.error(row),
  errors: read.errors(row),
  checkin: read.checkin(row),
  logs: read.logs(row),
  tags: read.tags(row),
  meta: read.meta(row),
  key: read.key(row),
  concurrencyKey: read.concurrencyKey(row),
  enqueuedAt: read.enqueuedAt(row),
  dueAt: read.dueAt(row),
  startedAt: read.startedAt(row),
  finishedAt: read.finishedAt(row),
  worker: read.worker(row),
  cancelReason: read.cancelReason(row),
  checkpoint: read.checkpoint(row),
  machineStates: read.machineStates(row),
  machineTags: read.machineTags(row),
  inbox: read.inbox(row),
  deferred: read.deferred(row),
  lastMessageNumber: read.lastMessageNumber(row),
  parent: read.parent(row),
  version: read.version(row),
  unsupported: read.unsupported(row),
  history: read.history(row),
})
