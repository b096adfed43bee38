/** Fields of a job that operations read and write one by one. A store says of each where it keeps it. */
import type { ErrorRecord } from './failure.ts'
import type { Gather, Unsupported } from './machine-record.ts'
import type { Json } from './payload.ts'
import type { AttemptError, CheckIn, JobMeta, LogLine } from './record.ts'

/** A cancel that was requested. */
export interface CancelMark {
  readonly reason: string | null
  /** How long a running handler may take to end, ms; null = the `grace` of the runtime that runs it. */
  readonly graceMs: number | null
}

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

export type FieldReaders<Row> = { readonly [Field in keyof ReadFields]: (row: Row) => ReadFields[Field] }

export type FieldWriters<Row> = {
  readonly [Field in keyof WrittenFields]: (row: Row, value: WrittenFields[Field]) => void
}
