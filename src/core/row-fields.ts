/** Fields of a job that operations read and write one by one, and where a row has them. */
import { valueOf } from './cell.ts'
import type { ErrorRecord } from './failure.ts'
import { part, type CancelMark, type JobRow } from './job-row.ts'
import type { Gather, Unsupported } from './machine-record.ts'
import type { Json } from './payload.ts'
import type { AttemptError, CheckIn, JobMeta, LogLine } from './record.ts'

/**
 * Fields of a job that operations write as they shall be. What follows from a field (an index, a number of jobs) a unit
 * writes with it.
 */
export interface WrittenFields {
  /** Without the attempts that led to a checkpoint. */
  readonly maxAttempts: number
  /** Type of the job that is inserted if this one dies; null for none. */
  readonly onDead: string | null
  readonly cancelMark: CancelMark | null
  readonly checkin: CheckIn
  readonly logs: readonly LogLine[]
  /**
   * The error of the last attempt, and the fingerprint of its group: both null if it did not fail. They are written
   * together.
   */
  readonly error: ErrorRecord | null
  readonly failure: string | null
  readonly errors: readonly AttemptError[]
  readonly input: Json | undefined
  readonly output: Json | undefined
  /** How many messages it gathers before it is woken; null: each message wakes it. */
  readonly gather: Gather | null
  /** Keys of its latest messages. */
  readonly messageKeys: readonly string[]
  readonly unsupported: Unsupported | null
}

/** Fields of a job that few operations read. */
export interface ReadFields extends Pick<WrittenFields, 'logs' | 'error' | 'errors' | 'input' | 'output'> {
  readonly tags: readonly string[]
  readonly meta: JobMeta
  readonly enqueuedAt: number
  /** When its last checkpoint was written, ms since the epoch; 0 before the first. */
  readonly checkpointAt: number
}

const readers: { readonly [Field in keyof ReadFields]: (row: JobRow) => ReadFields[Field] } = {
  logs: (row) => valueOf(row.rarely.logs),
  error: (row) => valueOf(row.rarely.error),
  errors: (row) => valueOf(row.rarely.errors),
  input: (row) => valueOf(row.input),
  output: (row) => valueOf(row.lastRun.output),
  tags: (row) => valueOf(row.terms.tags),
  meta: (row) => valueOf(row.terms.meta) ?? {},
  enqueuedAt: (row) => row.enqueuedAt,
  checkpointAt: ({ machine }) => (machine === null ? 0 : valueOf(machine.checkpointAt)),
}

export const readField = <Field extends keyof ReadFields>(row: JobRow, field: Field): ReadFields[Field] =>
  readers[field](row)

/** Which part of a row a field belongs to. */
export const partOf: Readonly<Record<keyof WrittenFields, number>> = {
  maxAttempts: part.attempts,
  onDead: part.onDead,
  cancelMark: part.cancelMark,
  checkin: part.checkin,
  logs: part.logs,
  error: part.errors,
  failure: part.errors,
  errors: part.errors,
  input: part.input,
  output: part.output,
  gather: part.machine,
  messageKeys: part.machine,
  unsupported: part.machine,
}

const writers: { readonly [Field in keyof WrittenFields]: (row: JobRow, value: WrittenFields[Field]) => void } = {
  maxAttempts(row, attempts) {
    row.terms = row.terms.with({ maxAttempts: attempts })
  },
  onDead(row, type) {
    row.withRare().onDead = type
  },
  cancelMark(row, mark) {
    if (mark !== null || row.rare !== null) row.withRare().cancelMark = mark
  },
  checkin(row, checkin) {
    row.withRare().checkin = checkin
  },
  logs(row, lines) {
    row.withRare().logs = lines
  },
  error(row, error) {
    if (error !== null || row.rare !== null) row.withRare().error = error
  },
  failure(row, fingerprint) {
    if (fingerprint !== null || row.rare !== null) row.withRare().failure = fingerprint
  },
  errors(row, errors) {
    row.withRare().errors = errors
  },
  input(row, input) {
    row.input = input
  },
  output(row, output) {
    if (output !== undefined || row.run !== null) row.withRun().output = output
  },
  gather(row, gather) {
    row.withMachine().gather = gather
  },
  messageKeys(row, keys) {
    row.withMachine().messageKeys = keys
  },
  unsupported(row, unsupported) {
    row.withMachine().unsupported = unsupported
  },
}

export function writeField<Field extends keyof WrittenFields>(
  row: JobRow,
  field: Field,
  value: WrittenFields[Field] | undefined,
): void {
  writers[field](row, value as WrittenFields[Field])
}
