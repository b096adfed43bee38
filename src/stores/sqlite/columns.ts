/**
 * The rows of the tables as the driver gives them: lists of values in the order of the columns that a statement
 * selects.
 */
import type { JobState } from '../../core/lifecycle.ts'
import type { JobRecord } from '../../core/record.ts'

/** The columns of `jobs`. */
export const columns =
  'seq, id, queue, state, priority, place, attempt, max_attempts, generation, due_at, lease_at, token, worker, ' +
  'enqueued_at, started_at, finished_at, moved, key, held_key, concurrency_key, input, tags, output, error, errors, ' +
  'checkin, logs, cancel, settled, history, spared, meta, options'

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
  moved: number,
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
]

/** The values that the statement `machine` selects. */
export type MachineValues = [
  number: number,
  checkpoint: number | null,
  takesCancel: number,
  messages: number,
  read: number,
  parent: string | null,
  checkins: number,
  keys: string | null,
  gatherLetters: number | null,
  gatherMs: number | null,
  version: string | null,
  unsupported: string | null,
  standing: string | null,
  deferred: string | null,
]

/**
 * The values that `queueOf` selects. `counts` is a JSON object by the names of states; a state that is not in it has no
 * jobs.
 */
export type QueueValues = [
  queue: number,
  type: string,
  paused: number,
  keyed: number,
  counts: string,
  clock: number | null,
  keyRate: string | null,
  keyTerms: string | null,
  minute: number,
  activity: string,
  machines: string,
]

/** The figures of a period, in the order of `activityFigures`, after the time at which it began. */
export type ActivityValues = [at: number, ...figures: number[]]

/** The values of a row of `failures`. */
export type FailureValues = [
  queue: number,
  fingerprint: string,
  name: string,
  code: string | null,
  message: string,
  count: number,
  dead: number,
  firstAt: number,
  lastAt: number,
  lastId: string,
]

/** A finished step; its result is JSON text. */
export type PackedStep = [name: string, result: string]

/** A message in an inbox, as JSON text. */
export type PackedInboxEntry = [number: number, at: number, message: string]
