/** Fields of a row as operations read and write them, over its columns. */
import type { FieldReaders, FieldWriters, ReadFields } from '../../core/row-fields.ts'
import { packOptions } from './insert.ts'
import type { Machine } from './machine.ts'
import type { Machines } from './machines.ts'
import { changes, packed, unpacked, type Row, type StoredOptions } from './row.ts'
import type { Statements } from './statements.ts'

export const readersOf = (machines: Machines): FieldReaders<Row> => ({
  logs: ({ logs }) => unpacked<ReadFields['logs']>(logs, []),
  error: ({ error }) => unpacked<ReadFields['error']>(error, null),
  errors: ({ errors }) => unpacked<ReadFields['errors']>(errors, []),
  input: ({ input }) => unpacked<ReadFields['input']>(input, undefined),
  output: ({ output }) => unpacked<ReadFields['output']>(output, undefined),
  tags: ({ tags }) => unpacked<ReadFields['tags']>(tags, []),
  meta: ({ meta }) => unpacked<ReadFields['meta']>(meta, {}),
  enqueuedAt: ({ enqueuedAt }) => enqueuedAt,
  checkpointAt: (row) => machines.checkpointOf(row)[1],
})

export const writersOf = (sql: Statements): FieldWriters<Row> => ({
  maxAttempts(row, maxAttempts) {
    row.attempts = maxAttempts
    sql.run('setMaxAttempts', maxAttempts, row.seq)
  },
  onDead(row, type) {
    const { onDead: _, ...options } = unpacked<StoredOptions>(row.options, {})
    row.options = packOptions(type === null ? options : { ...options, onDead: type })
    sql.run('writeOptions', row.options, row.seq)
  },
  cancelMark(row, mark) {
    row.cancel = textOf(mark)
    row.unwritten |= changes.data
  },
  checkin(row, checkin) {
    row.checkin = JSON.stringify(checkin)
    row.unwritten |= changes.data
  },
  logs(row, lines) {
    row.logs = JSON.stringify(lines)
    row.unwritten |= changes.data
  },
  error(row, error) {
    row.error = textOf(error)
    row.unwritten |= changes.data
  },
  // The column is made of the error when the row is written.
  failure(row) {
    row.unwritten |= changes.failure
  },
  errors(row, errors) {
    row.errors = JSON.stringify(errors)
    row.unwritten |= changes.data
  },
  input(row, input) {
    row.input = packed(input)
    row.unwritten |= changes.data
  },
  // It is among the columns of the transition that follows.
  output(row, output) {
    row.output = packed(output)
  },
  gather(row, gather) {
    machineOf(row).gather = gather
  },
  messageKeys(row, keys) {
    machineOf(row).messageKeys = keys
  },
  unsupported(row, unsupported) {
    machineOf(row).unsupported = unsupported
  },
})

const textOf = (value: object | null): string | null => (value === null ? null : JSON.stringify(value))

/** The machine of a row, which has one from now on, and which is about to change. */
function machineOf(row: Row): Machine {
  if (row.checkpointed === null) row.checkpointedAttempts = 0
  row.unwritten |= changes.machine
  return row.machine as Machine
}
