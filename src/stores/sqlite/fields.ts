/** Single fields of a record, for lists that ask for some of them: nothing else is read from the file. */
import type { ErrorRecord } from '../../core/failure.ts'
import type { AttemptError, CheckIn, JobMeta, JobRecord, LogLine } from '../../core/record.ts'
import type { Checkpoint } from '../../core/machine-record.ts'
import type { Json } from '../../core/payload.ts'
import { historyOf } from './history.ts'
import { inboxOf } from './stored-machine.ts'
import { columns, unpacked, type Row } from './row.ts'
import type { FileUnit } from './unit.ts'

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

const readers: { readonly [Field in keyof JobRecord]: (row: Row, unit: FileUnit) => JobRecord[Field] } = {
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
  checkpoint: (row, { machines }): Checkpoint | null => {
    const number = row.machine?.checkpoint?.number
    return number === undefined ? null : { number, state: JSON.parse(machines.checkpointOf(row)[0]) as Json }
  },
  machineStates: (row) => row.machine?.stands.states ?? [],
  machineTags: (row) => row.machine?.stands.tags ?? [],
  inbox: (row, { machines }) =>
    row.machine === null ? [] : inboxOf(machines.inbox(row, row.machine, row.machine.lastRead)),
  lastMessageNumber: (row) => row.machine?.lastMessage ?? 0,
  parent: (row) => row.machine?.parent ?? null,
  version: (row) => row.machine?.version ?? null,
  unsupported: (row) => row.machine?.unsupported ?? null,
  history: historyOf,
}

/** @param row read with the columns for these fields at least */
export function fieldsOf<Field extends keyof JobRecord>(
  unit: FileUnit,
  row: Row,
  fields: readonly Field[],
): Pick<JobRecord, Field> {
  return Object.fromEntries(fields.map((field) => [field, readers[field](row, unit)])) as Pick<JobRecord, Field>
}
