/**
 * The port between the lifecycle and a store. The operations of this folder decide what changes; a unit of work finds
 * rows and writes the changes. A unit is atomic: either all writes of an operation are kept, or none.
 *
 * A unit guarantees, and operations rely on it:
 * - Finding the same job twice returns the same object, with every change made so far.
 * - A change is visible to later calls of the unit at once: counts, holders of keys, children, the order of queues.
 * - Its methods are synchronous. A store whose reads take a round trip runs an operation over the rows it has loaded. A
 *   method that needs another row throws `NotLoaded`; the driver loads that row and runs the operation again from its
 *   start. Operations read only their arguments and the unit, so that each run is based on current values.
 */
import type { Counted } from './activity.ts'
import type { ErrorRecord } from './failure.ts'
import type { Failure } from './fingerprint.ts'
import { arrowsFrom, isLeased, type Arrow, type JobCounters, type JobState } from './lifecycle.ts'
import type { Gather, InboxMessage, InboxEntry, NewCheckpoint, Parent, Unsupported } from './machine-record.ts'
import type { MachineStanding } from './machine-tally.ts'
import type { Json } from './payload.ts'
import type { CancelMark, ReadFields, WrittenFields } from './row-fields.ts'
import type { Lease, WrittenTransition, NewJob, Selection, SettleAnswer } from './values.ts'

/** Identifies an attempt among those of its job. */
export type LeaseKey = Pick<Lease, 'attempt' | 'token'>

/** A job as operations see it. They write the counters directly; everything else is changed through the unit. */
export interface JobRow extends JobCounters {
  readonly id: string
  readonly type: string
  readonly state: JobState
  readonly priority: number
  /** seq of the ENQUEUE: the order of inserts. */
  readonly seq: number
  attempt: number
  generation: number
  /** Was `maxAttempts` set at its enqueue? */
  readonly hasPinnedAttempts: boolean
  /**
   * Attempts of this generation that led to a checkpoint. They are added to `maxAttempts`, so that they do not count as
   * failures.
   */
  checkpointedAttempts: number
  /** When its timed state ends, ms since the epoch; null = at an event only. */
  readonly dueAt: number | null
  readonly startedAt: number | null
  readonly worker: string | null
  /** Its unique key, also after it has given it up. */
  readonly key: string | null
  /** Does it give up its unique key at its claim? */
  readonly untilStart: boolean
  readonly cancelMark: CancelMark | null
  /** Type of the job that is inserted if this one dies, from its last claim; null for none. */
  readonly onDead: string | null
  /** Has it an error of its last attempt? */
  readonly hasError: boolean
  /** Data of a machine job or a child job; null for a plain job. */
  readonly machine: MachineRow | null
  isLeasedBy(lease: LeaseKey): boolean
}

/** Data of a job with a machine or a parent. */
export interface MachineRow {
  readonly parent: Parent | null
  /** The last checkpoint; null before the first. */
  readonly checkpoint: { readonly number: number; readonly seq: number } | null
  /** Does the machine handle a cancel as an event at its last checkpoint? */
  readonly takesCancel: boolean
  /** Number of the last message delivered, and of the last one read. */
  readonly lastMessage: number
  readonly lastRead: number
  /** Numbers of the events up to `lastRead` that no state has taken yet, ascending. They wake nobody. */
  readonly deferred: readonly number[]
  /** How many messages it gathers before it is woken, set when it is parked; null: each message wakes it. */
  readonly gather: Gather | null
  /** Keys of the latest messages, for deduplication. */
  readonly messageKeys: readonly string[]
  /** Set while no worker that has claimed the job can run its machine. */
  readonly unsupported: Unsupported | null
}

/** An arrow of the chart, with its effects on the lease, the place, the unique key and the due time of a job. */
export interface CompiledArrow extends Arrow {
  readonly lease: 'begins' | 'goes on' | 'ends' | 'none'
  /** Does the job get a new place at the end of its queue? A job that is released or expired keeps its place. */
  readonly takesPlace: boolean
  /** Effect on its unique key: an end frees it, a retry takes it again. */
  readonly key: 'freed' | 'taken' | 'kept'
  /** Does the target state end at a due time? */
  readonly timed: boolean
  /** What it adds to the activity of its queue; null for nothing. */
  readonly counted: Counted | null
  /** Index of its target in `jobStates`. */
  readonly toIndex: number
  /** The counters after it; null if it does not change them. */
  readonly countersAfter: ((before: JobCounters) => JobCounters) | null
}

/** Arguments of a transition beside its arrow. */
export interface TransitionOptions {
  readonly reason?: string | null | undefined
  /** Of a FAIL: no further attempt. */
  readonly fatal?: boolean | undefined
  /** When the timed target state ends, ms since the epoch; null = at an event only. */
  readonly dueAt?: number | null
  /** Of a CLAIM: the lease that begins, and its length. */
  readonly worker?: string
  readonly token?: string
  readonly leaseMs?: number
  /** Of a COMPLETE. */
  readonly output?: Json | undefined
  /** Of a FAIL or EXPIRE: its error. */
  readonly failure?: Failure | null
}

/** The log entry of a transition. */
export interface LoggedTransition {
  readonly seq: number
  readonly at: number
  readonly from: JobState
  readonly to: JobState
  readonly attempt: number
}

export interface UnitOfWork<Row extends JobRow> {
  /** The store's time, the same during the whole unit; ms since the epoch. */
  readonly now: number
  /** Jobs in the backlog, of all types. */
  readonly backlog: number
  /** The backlog of a type. */
  backlogOf(type: string): number

  isPaused(type: string): boolean
  find(id: string): Row | undefined
  /** As `find`, optimized for a job that is probably leased. */
  findLeased(id: string): Row | undefined
  /** The live job of a type that holds a unique key. */
  holder(type: string, key: string): Row | undefined
  /** Is a job live that has given up this key? A job that takes the key now waits for the end of that job. */
  hasPredecessor(type: string, key: string): boolean
  /** The job that waits for the end of this one, which has just ended, and its own due time. */
  successor(row: Row): { readonly row: Row; readonly dueAt: number } | null
  /** Jobs by id, each once; or by filter, those in one of the states, oldest first, `caps.selection` at most. */
  select(selection: Selection, states: ReadonlySet<JobState>): SelectedRows<Row>
  /** The live child jobs of a job, ordered by priority and then by age. */
  children(row: Row): readonly Row[]
  /** Jobs that are due, earliest first, `limit` at most. While they are iterated, only the caller changes them. */
  due(limit: number): Iterable<Row>
  /**
   * Jobs whose lease has run out, earliest first, `limit` at most. While they are iterated, only the caller changes
   * them.
   */
  expired(limit: number): Iterable<Row>
  /** When the next job is due, and when the next lease runs out, ms since the epoch; null = none is known. */
  readonly nextDueAt: number | null
  readonly nextExpiryAt: number | null

  /**
   * Adds a transition to the activity of the queue of a job, in the minute and the hour of `now`.
   * @param ms how long the job has waited, or the attempt has run
   */
  count(row: Row, counted: Counted, ms: number): void
  /**
   * Adds a failed attempt to its group, which it makes if there is none. Called right before the `apply` of the FAIL or
   * EXPIRE, or before the checkpoint that tells of it.
   * Of more than `caps.failureGroups` groups of the type, the one whose last failure is the oldest is removed.
   */
  countFailure(row: Row, failure: Failure): void
  /**
   * Adds a machine that has ended to those of its type that have ended so: in this final state, with this `status` of
   * its output.
   */
  countOutcome(row: Row, outcome: string): void
  /**
   * Writes a transition of the job, along this arrow, which changes its counters (`changeCounters`). If it dies, it is
   * added to the dead jobs of the group of its last error, if there is one.
   */
  apply(row: Row, arrow: CompiledArrow, options: TransitionOptions): LoggedTransition
  /** The last transition of a job, for answers. @param error of an EXPIRE */
  lastTransition(row: Row, error?: ErrorRecord): WrittenTransition
  /**
   * ENQUEUE of a job that an operation has made, without a key, parent or due time. Counts it, as `insert` does.
   * @returns its number in the log; null if its id exists
   */
  insertMade(job: NewJob, state: JobState): number | null
  /**
   * Deletes an ended job. A dead one is taken from the dead jobs of its group, if it died since the `firstAt` of that.
   */
  remove(row: Row): void

  read<Field extends keyof ReadFields>(row: Row, field: Field): ReadFields[Field]
  /** Writes fields; those that are left out stay as they are. */
  write(row: Row, fields: Partial<WrittenFields>): void
  /** Lets a live job give up its unique key, so that another job may take it. */
  giveUpKey(row: Row): void
  /** Sets when a timed job is due. */
  setDue(row: Row, dueAt: number): void
  keepSteps(row: Row, steps: Readonly<Record<string, Json>>): void
  /** Removes results of steps; without names all of them. */
  forgetSteps(row: Row, names?: readonly string[]): void
  extendLease(row: Row, until: number): void
  /** The answer to the last settlement of the job, if it was by this lease; otherwise null. */
  settledBefore(row: Row, lease: LeaseKey): SettleAnswer | null
  keepSettled(row: Row, lease: LeaseKey, answer: SettleAnswer): void

  /** Messages with a number greater than `after`, ascending: deferred and unread ones. */
  inbox(row: Row, after: number): readonly InboxEntry[]
  /**
   * Sets the number of the last message read, and which events up to it stay in the inbox, deferred; removes all others
   * up to it.
   */
  markRead(row: Row, read: number, deferred: readonly number[]): void
  /** Writes a checkpoint and its log entry. */
  addCheckpoint(row: Row, checkpoint: NewCheckpoint): void
  /** Sets the states and tags of the machine, of which each is named once. */
  setStanding(row: Row, standing: MachineStanding): void
  /** Removes checkpoints. */
  forgetCheckpoints(row: Row): void
  addMessage(row: Row, message: InboxMessage): void
  /** Removes the transitions after the one of this number from the history of a job, not from the log. */
  forgetHistoryAfter(row: Row, seq: number): void
}

/** The fields of a new job that the insert operation reads. */
export type JobToInsert = Pick<NewJob, 'id' | 'type' | 'key' | 'onConflict' | 'runAt' | 'delayMs'>

/** A unit in which jobs are inserted. */
export interface InsertUnit<Row extends JobRow, New extends JobToInsert> extends UnitOfWork<Row> {
  /** The types of the jobs whose ids exist already, by id. */
  existing(jobs: readonly New[]): ReadonlyMap<string, string>
  /**
   * ENQUEUE of a job whose key is free; counts it as `enqueueCounted`.
   * @returns its seq; null if its id exists already
   */
  insert(job: New, state: JobState, dueAt: number | null): number | null
  /**
   * Makes a job wait for the end of its predecessor, and then for its own due time. May be repeated with another due
   * time.
   */
  waitForPredecessor(row: Row, dueAt: number): void
  /** Has the existing job the input of the new one? The order of members does not matter. */
  hasSameInput(row: Row, job: New): boolean
  /** Replaces input, tags, meta and version of a job in the backlog; removes its step results. */
  replaceInput(row: Row, job: New): void
  /** How many more jobs of a type may be handed over now: `handOverRoom` of `hand-over.ts`. */
  handOverRoom(type: string): number
  /**
   * Records that an insert was refused as full: the hint `room` follows when there is room again.
   * @param type of the full queue; null: the store is full
   * @param isHandOver was a free slot missing?
   */
  refusedFull(type: string | null, isHandOver: boolean): void
}

export interface SelectedRows<Row> {
  readonly rows: readonly Row[]
  readonly notFound: readonly string[]
  /** By filter: the cursor to continue after, if there may be more; otherwise null. */
  readonly next: string | null
}

/** Is a job in this state leased and already cancelled? */
export const isStopping = (state: JobState): boolean => isLeased(state) && !('CANCEL' in arrowsFrom(state))

/** The cancel that a run must obey; null if there is none, or if it was delivered to its machine as a message. */
export function stopNotice(row: JobRow): { readonly reason?: string; readonly graceMs?: number } | null {
  const { cancelMark, state } = row
  if (cancelMark === null || !isStopping(state)) return null
  const { reason, graceMs } = cancelMark
  return { ...(reason !== null && { reason }), ...(graceMs !== null && { graceMs }) }
}
