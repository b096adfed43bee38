/**
 * What a unit asks a store: rows, and answers of its indexes, with all that the unit has changed so far. A store in the
 * process answers at once, after it has written the changes if it must; one over a round trip answers from what was
 * loaded, and throws what it has not (`NotLoaded`), so that the operation is run again.
 */
import type { JobRow, JobToInsert, Tick } from './job-row.ts'
import type { JobState } from './lifecycle.ts'
import type { InboxEntry } from './machine-record.ts'
import type { JobFilter } from './values.ts'

/**
 * A page of the jobs that match a filter, oldest first. Jobs that were enqueued, or that have ended, after the first
 * page was read are on none.
 */
export interface Selection {
  readonly filter: JobFilter
  /** The `next` of the page before. */
  readonly after?: string
  /** `caps.selection` at most, which is the default. */
  readonly limit?: number
}

/** The rows of a page. */
export interface SelectedRows<Row> {
  readonly rows: readonly Row[]
  /** The cursor to continue after, if there may be more; otherwise null. */
  readonly next: string | null
}

export interface Source<Row extends JobRow> {
  /** The same object for the same job as long as the unit lives, also for one that was added. */
  find(id: string): Row | undefined
  /** As `find`, for a job that is probably leased. */
  findLeased(id: string): Row | undefined
  /** Those of these jobs that are there, in the order of the ids. */
  findAll(ids: readonly string[]): readonly Row[]
  /** The types of those jobs of these ids that are there, by id. */
  existing(ids: readonly string[]): ReadonlyMap<string, string>
  /** The row of a new job. */
  newRow(job: JobToInsert, state: JobState, seq: number, came: Tick): Row
  /** Adds a new row, with what it has now. @returns false if there is a job of its id */
  add(row: Row): boolean
  /** The live job that holds a unique key: `holdsKey`. */
  holder(type: string, key: string): Row | undefined
  /** Is there a live job of this unique key that does not hold it: one that has given it up? */
  hasPredecessor(type: string, key: string): boolean
  /** The jobs of a page that are in one of the states. */
  select(selection: Selection, states: ReadonlySet<JobState>): SelectedRows<Row>
  /** The live child jobs of a job, in any order. */
  children(row: Row): readonly Row[]
  /** Jobs whose due time has come, earliest first, `limit` at most. */
  due(limit: number): readonly Row[]
  /** Jobs whose lease has run out, earliest first, `limit` at most. */
  expired(limit: number): readonly Row[]
  /** When the next job is due, and when the next lease runs out, ms since the epoch; null = none is known. */
  nextDueAt(): number | null
  nextExpiryAt(): number | null
  /** Jobs in the backlog, of a type or of all types (null). */
  backlogOf(type: string | null): number
  isPaused(type: string): boolean
  /** The messages of a job that were not removed, ascending. */
  inbox(row: Row): readonly InboxEntry[]
  /** How many more jobs of a type may be handed over now: `handOverRoom` of `hand-over.ts`. */
  handOverRoom(type: string): number
}
