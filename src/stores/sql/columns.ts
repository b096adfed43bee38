/**
 * The rows of the tables as the driver gives them: lists of values in the order of the columns that a statement
 * selects.
 */
import type { JobState } from '../../core/lifecycle.ts'
import type { JobRecord } from '../../core/record.ts'

/** The columns of `jobs`. */
export const columns =
  'seq, id, queue, state, priority, place, attempt, max_attempts, generation, due_at, lease_at, token, worker, ' +
  'enqueued_at, started_at, finished_at, last_seq, key, held_key, concurrency_key, input, tags, output, error, errors, ' +
  'checkin, logs, cancel, settled, history, checkpointed_attempts, meta, options, failure, due_after'

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

/** The values of these columns. They are read by index, because destructuring an array iterates over it. */
export type RowValues = [
  seq: number,
  id: string,
  queue: number,
  state: JobState,
  priority: number,
  place: number,
  attempt: number,
  maxAttempts: number,
  generation: number,
  dueAt: number | null,
  leaseAt: number | null,
  token: string | null,
  worker: string | null,
  enqueuedAt: number,
  startedAt: number | null,
  finishedAt: number | null,
  lastSeq: number,
  key: string | null,
  heldKey: string | null,
  concurrencyKey: string | null,
  input: string | null,
  tags: string | null,
  output: string | null,
  error: string | null,
  errors: string | null,
  checkin: string | null,
  logs: string | null,
  cancel: string | null,
  settled: string | null,
  history: string,
  checkpointedAttempts: number | null,
  meta: string | null,
  options: string | null,
  failure: string | null,
  dueAfter: number | null,
]

/** The columns of `machines`. */
export const machineColumns =
  'number, checkpoint, takes_cancel, last_message, last_read, parent, checkins, keys, gather_messages, gather_ms, ' +
  'version, unsupported, standing, deferred'

/** The values of these. */
export type MachineValues = [
  number: number,
  checkpoint: number | null,
  takesCancel: number,
  lastMessage: number,
  lastRead: number,
  parent: string | null,
  checkins: number,
  keys: string | null,
  gatherMessages: number | null,
  gatherMs: number | null,
  version: string | null,
  unsupported: string | null,
  standing: string | null,
  deferred: string | null,
]

/** A finished step; its result is JSON text. */
export type PackedStep = [name: string, result: string]

/** A message in an inbox, as JSON text. */
export type PackedInboxEntry = [number: number, at: number, message: string]
