/** The record of a job, and single fields of it for lists that ask for some: nothing else is read from the file. */
import { valueOf } from '../../core/cell.ts'
import type { JobRecord } from '../../core/record.ts'
import { historyOf } from './history.ts'
import { checkpointOf, inboxOf, type KeptOfMachine } from './machine.ts'
import type { Row } from './row.ts'

/** What is read for each field; what is kept beside the row is read when it is asked for, or came with the row. */
const readers: { readonly [Field in keyof JobRecord]: (row: Row, kept: KeptOfMachine) => JobRecord[Field] } = {
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
  checkpoint: (row, kept) => checkpointOf(row.machine, row.isMachine ? kept.checkpoint : null),
  machineStates: (row) => [...(row.machine?.states ?? [])],
  machineTags: (row) => [...(row.machine?.tags ?? [])],
  inbox: (row, kept) => (row.isMachine ? inboxOf(kept.inbox) : []),
  deferred: (row) => [...(row.machine?.deferred ?? [])],
  lastMessageNumber: (row) => row.machine?.lastMessage ?? 0,
  parent: ({ machine }) => (machine === null || machine.parent === null ? null : { ...machine.parent }),
  version: (row) => row.machine?.version ?? null,
  unsupported: ({ machine }) => (machine === null || machine.unsupported === null ? null : { ...machine.unsupported }),
  history: (row) => historyOf(row, row.history),
}

/** @param row read with the columns for these fields at least */
export const fieldsOf = <Field extends keyof JobRecord>(
  row: Row,
  kept: KeptOfMachine,
  fields: readonly Field[],
): Pick<JobRecord, Field> =>
  Object.fromEntries(fields.map((field) => [field, readers[field](row, kept)])) as Pick<JobRecord, Field>

/** All fields, one by one: a loop over their names takes several times as long. */
export const recordOf = (row: Row, kept: KeptOfMachine): JobRecord => ({
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
  inbox: readers.inbox(row, kept),
  deferred: readers.deferred(row, kept),
  lastMessageNumber: readers.lastMessageNumber(row, kept),
  parent: readers.parent(row, kept),
  version: readers.version(row, kept),
  unsupported: readers.unsupported(row, kept),
  history: readers.history(row, kept),
})
