/**
 * The rows of the tables as the driver gives them: lists of values in the order of the columns that a statement
 * selects.
 */
import type { JobState } from '../../core/lifecycle.ts'
import type { JobRecord } from '../../core/record.ts'
import { metaTextMax } from '../../core/terms.ts'

/** The due time of a job that waits for an event alone, so that one index has all timed jobs. */
export const never = Number.MAX_SAFE_INTEGER

/** In the table of jobs that wait: no concurrency key. */
export const noKey = ''

/** Is a row of `json_each`, called `member`, a member of meta that `job_meta` has? The same as `isIndexedMeta`. */
export const isIndexedMember = `(member.type = 'integer' OR (member.type = 'text' AND length(member.atom) <= ${metaTextMax}))`

/** What the enqueue of a job has given, and its state, by which it shows whether there is more: see `columns`. */
export const enqueueColumns =
  'jobs.seq, jobs.id, jobs.queue, jobs.priority, jobs.max_attempts, jobs.enqueued_at, jobs.input, jobs.key, ' +
  'jobs.concurrency_key, jobs.tags, jobs.meta, jobs.options, lives.state'

/**
 * What is read of a job: what its enqueue has given (`jobs`), and what has become of it (`lives`), which is null of a
 * job without such a row.
 */
export const columns =
  `${enqueueColumns}, lives.place, lives.attempt, lives.generation, lives.due_at, lives.claimed_seq, lives.token, ` +
  'lives.worker, lives.started_at, lives.finished_at, lives.last_seq, lives.held_key, lives.output, lives.error, ' +
  'lives.errors, lives.checkin, lives.logs, lives.cancel, lives.settled, lives.history, lives.checkpointed_attempts, ' +
  'lives.failure, lives.due_after'

/** The tables of these columns. */
export const rowTables = 'jobs LEFT JOIN lives ON lives.job = jobs.seq'

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
      const field = largeColumns.get(column.slice(column.indexOf('.') + 1))
      return field === undefined || (field !== null && fields.includes(field)) ? column : 'NULL'
    })
    .join(', ')

/** The values of these columns. They are read by index, because destructuring an array iterates over it. */
export type RowValues = [
  seq: number,
  id: string,
  queue: number,
  priority: number,
  maxAttempts: number,
  enqueuedAt: number,
  input: string | null,
  key: string | null,
  concurrencyKey: string | null,
  tags: string | null,
  meta: string | null,
  options: string | null,
  state: JobState | null,
  place: number | null,
  attempt: number | null,
  generation: number | null,
  dueAt: number | null,
  claimedSeq: number | null,
  token: string | null,
  worker: string | null,
  startedAt: number | null,
  finishedAt: number | null,
  lastSeq: number | null,
  heldKey: string | null,
  output: string | null,
  error: string | null,
  errors: string | null,
  checkin: string | null,
  logs: string | null,
  cancel: string | null,
  settled: string | null,
  history: string | null,
  checkpointedAttempts: number | null,
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
  frontRank: number | null,
  frontPlace: number | null,
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
