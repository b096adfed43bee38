/** The record of a job, and single fields of it for lists that ask for some: nothing else is read from the file. */
import type { ErrorRecord } from '../../core/failure.ts'
import type { AttemptError, CheckIn, JobMeta, JobRecord, LogLine } from '../../core/record.ts'
import type { Json } from '../../core/payload.ts'
import { historyOf } from './history.ts'
import { unpacked, type Row } from './row.ts'
import type { MachineFields } from './stored-machine.ts'

/**
 * What is read of a row for each field; those of its machine are read from the file, or from what came with the row.
 */
const readers: { readonly [Field in keyof JobRecord]: (row: Row, machine: MachineFields) => JobRecord[Field] } = {
  id: (row) => row.id,
  type: (row) => row.type,
  state: (row) => row.state,
  priority: (row) => row.priority,
  attempt: (row) => row.attempt,
  maxAttempts: (row) => row.maxAttempts,
  generation: (row) => row.generation,
  input: (row) => unpacked<Json | undefined>(row.input, undefined),
  output: (row) => unpacked<Json | undefined>(row.output, undefined),
  error: (row) => unpacked<ErrorRecord | null>(row.error, null),
  errors: (row) => unpacked<AttemptError[]>(row.errors, []),
  checkin: (row) => unpacked<CheckIn | null>(row.checkin, null),
  logs: (row) => unpacked<LogLine[]>(row.logs, []),
  tags: (row) => unpacked<string[]>(row.tags, []),
  meta: (row) => unpacked<JobMeta>(row.meta, {}),
  key: (row) => row.key,
  concurrencyKey: (row) => row.concurrencyKey,
  enqueuedAt: (row) => row.enqueuedAt,
  dueAt: (row) => row.dueAt,
  startedAt: (row) => row.startedAt,
  finishedAt: (row) => row.finishedAt,
  worker: (row) => row.worker,
  cancelReason: (row) => row.cancelMark?.reason ?? null,
  checkpoint: (_row, machine) => machine.checkpoint,
  machineStates: (_row, machine) => machine.machineStates,
  machineTags: (_row, machine) => machine.machineTags,
  inbox: (_row, machine) => machine.inbox,
  deferred: (_row, machine) => machine.deferred,
  lastMessageNumber: (_row, machine) => machine.lastMessageNumber,
  parent: (_row, machine) => machine.parent,
  version: (_row, machine) => machine.version,
  unsupported: (_row, machine) => machine.unsupported,
  history: historyOf,
}

/** @param row read with the columns for these fields at least */
export const fieldsOf = <Field extends keyof JobRecord>(
  row: Row,
  machine: MachineFields,
  fields: readonly Field[],
): Pick<JobRecord, Field> =>
  Object.fromEntries(fields.map((field) => [field, readers[field](row, machine)])) as Pick<JobRecord, Field>

/** All fields, one by one: a loop over their names takes several times as long. */
export const recordOf = (row: Row, machine: MachineFields): JobRecord => ({
  id: readers.id(row, machine),
  type: readers.type(row, machine),
  state: readers.state(row, machine),
  priority: readers.priority(row, machine),
  attempt: readers.attempt(row, machine),
  maxAttempts: readers.maxAttempts(row, machine),
  generation: readers.generation(row, machine),
  input: readers.input(row, machine),
  output: readers.output(row, machine),
  error: readers.error(row, machine),
  errors: readers.errors(row, machine),
  checkin: readers.checkin(row, machine),
  logs: readers.logs(row, machine),
  tags: readers.tags(row, machine),
  meta: readers.meta(row, machine),
  key: readers.key(row, machine),
  concurrencyKey: readers.concurrencyKey(row, machine),
  enqueuedAt: readers.enqueuedAt(row, machine),
  dueAt: readers.dueAt(row, machine),
  startedAt: readers.startedAt(row, machine),
  finishedAt: readers.finishedAt(row, machine),
  worker: readers.worker(row, machine),
  cancelReason: readers.cancelReason(row, machine),
  checkpoint: readers.checkpoint(row, machine),
  machineStates: readers.machineStates(row, machine),
  machineTags: readers.machineTags(row, machine),
  inbox: readers.inbox(row, machine),
  deferred: readers.deferred(row, machine),
  lastMessageNumber: readers.lastMessageNumber(row, machine),
  parent: readers.parent(row, machine),
  version: readers.version(row, machine),
  unsupported: readers.unsupported(row, machine),
  history: readers.history(row, machine),
})
