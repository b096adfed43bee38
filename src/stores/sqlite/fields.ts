/** The record of a job, and single fields of it for lists that ask for some: nothing else is read from the file. */
import type { ErrorRecord } from '../../core/failure.ts'
import type { AttemptError, CheckIn, JobMeta, JobRecord, LogLine } from '../../core/record.ts'
import type { Json } from '../../core/payload.ts'
import { historyOf } from './history.ts'
import { columns } from './columns.ts'
import { unpacked, type Row } from './row.ts'
import type { MachineFields } from './stored-machine.ts'

/** Columns that may be large, and the field that needs each; `settled` is no part of any. */
const largeColumns: ReadonlyMap<string, keyof JobRecord | null> = new Map([
  ['input', 'input'],
  ['output', 'output'],
  ['error', 'error'],
  ['errors', 'errors'],
  ['checkin', 'checkin'],
  ['logs', 'logs'],
  ['history', 'history'],
  ['meta', 'meta'],
  ['settled', null],
])

/** The columns of a row, with NULL for the large ones that the fields do not need. */
export const columnsFor = (fields: readonly (keyof JobRecord)[]): string =>
  columns
    .split(', ')
    .map((column) => {
      const field = largeColumns.get(column)
      return field === undefined || (field !== null && fields.includes(field)) ? column : 'NULL'
    })
    .join(', ')

/** What is read of a row for each field; those of its machine are read from the file, or from what came with the row. */
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
  lastMessageNumber: (_row, machine) => machine.lastMessageNumber,
  parent: (_row, machine) => machine.parent,
  version: (_row, machine) => machine.version,
  unsupported: (_row, machine) => machine.unsupported,
  history: historyOf,
}

const allFields = Object.keys(readers) as readonly (keyof JobRecord)[]

/** @param row read with the columns for these fields at least */
export const fieldsOf = <Field extends keyof JobRecord>(
  row: Row,
  machine: MachineFields,
  fields: readonly Field[],
): Pick<JobRecord, Field> =>
  Object.fromEntries(fields.map((field) => [field, readers[field](row, machine)])) as Pick<JobRecord, Field>

export const recordOf = (row: Row, machine: MachineFields): JobRecord => fieldsOf(row, machine, allFields)
