/**
 * The port between the lifecycle and a store. The operations of this folder decide; a unit of work finds rows and writes
 * what was decided. A unit is atomic: all that an operation has done in it is kept, or nothing.
 *
 * What a unit guarantees, and operations rely on:
 * - Finding the same job twice gives the same object, and it shows every change made so far.
 * - A change is visible to later calls of the unit at once: counts, holders of keys, children, the order of queues.
 * - Its methods are synchronous. A store whose reads take a round trip runs an operation over the rows it has loaded; a
 *   method that needs another row throws `NotLoaded`, the driver loads that row and runs the operation again from its
 *   start. Operations read nothing but their arguments and the unit, so each run decides on what is true by then.
 */
import type { ErrorRecord } from './failure.ts'
import type { AttemptError, CheckIn, LogLine } from './record.ts'
import { arrowsFrom, isLeased, type Arrow, type JobCounters, type JobState } from './lifecycle.ts'
import type { Gather, InboxMessage, InboxEntry, NewCheckpoint, Parent, Unsupported } from './machine-record.ts'
import type { Json } from './payload.ts'
import type { Lease, WrittenTransition, NewJob, Selection, SettleAnswer } from './values.ts'

/** What names an attempt among those of its job. */
export type LeaseKey = Pick<Lease, 'attempt' | 'token'>

/** A cancel that was asked for. */
export interface CancelMark {
  readonly reason: string | null
  /** How long a running handler may take to end, ms; null = as long as the runtime that runs it allows. */
  readonly graceMs: number | null
}

/** What operations know of a job. They count attempts in it; everything else is changed through the unit. */
export interface JobRow extends JobCounters {
  readonly id: string
  readonly type: string
  readonly state: JobState
  readonly priority: number
  /** Number of the ENQUEUE: the order in which jobs came. */
  readonly seq: number
  attempt: number
  generation: number
  /** Has its enqueue fixed how many attempts it may spend? */
  readonly hasPinnedAttempts: boolean
  /** Attempts of this generation that led to a checkpoint; they are part of `maxAttempts`, and so do not count. */
  checkpointedAttempts: number
  /** When the timed state it is in ends; null = when an event comes. */
  readonly dueAt: number | null
  readonly startedAt: number | null
  readonly worker: string | null
  /** The unique key it holds, or held. */
  readonly key: string | null
  /** Does it give up its key when it is claimed? */
  readonly untilStart: boolean
  readonly cancelMark: CancelMark | null
  /** What it has beyond a plain job; null as long as there is nothing. */
  readonly machine: MachineRow | null
  isLeasedBy(lease: LeaseKey): boolean
}

/** What a job with a machine, or with a parent, has beyond a plain one. */
export interface MachineRow {
  readonly parent: Parent | null
  /** The last checkpoint; null before the first. */
  readonly checkpoint: { readonly number: number; readonly seq: number } | null
  /** Does the machine take a cancel as an event where it stands? */
  readonly takesCancel: boolean
  /** Numbers of the last message that came, and of the last that was read. */
  readonly lastMessage: number
  readonly lastRead: number
  /** Messages that leave it waiting, since it was parked; null: each wakes it. */
  readonly gather: Gather | null
  /** Keys of the messages sent last. */
  readonly messageKeys: readonly string[]
  /** Set while no worker that claims the job can run its machine. */
  readonly unsupported: Unsupported | null
}

/** An arrow of the chart, and what it means for what is kept of a job beside its state. */
export interface Transition extends Arrow {
  readonly lease: 'begins' | 'goes on' | 'ends' | 'none'
  /** Does the job go to the end of its queue? One that a worker gives back keeps its place. */
  readonly takesPlace: boolean
  /** Its unique key: an end frees it, a retry takes it again. */
  readonly key: 'freed' | 'taken' | 'kept'
  /** Does the state it leads to end at a time, or by an event? */
  readonly timed: boolean
}

/** What a transition needs beside its arrow. */
export interface TransitionOptions {
  readonly reason?: string | null | undefined
  /** Of a FAIL: no attempt is to follow. */
  readonly fatal?: boolean | undefined
  /** When the timed state it leads to ends; null = when an event comes. */
  readonly dueAt?: number | null
  /** Of a CLAIM. */
  readonly worker?: string
  /** Of a COMPLETE. */
  readonly output?: Json | undefined
}

/** The entry of the log that a transition has made. */
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
  /** Jobs of all types that wait to run. */
  readonly backlog: number

  isPaused(type: string): boolean
  find(id: string): Row | undefined
  /** The same, for a job that is probably leased. */
  findLeased(id: string): Row | undefined
  /** The live job of a type that holds a unique key. */
  holder(type: string, key: string): Row | undefined
  /** Is a job live that has given up this key? Whoever takes the key now waits for the end of that job. */
  hasPredecessor(type: string, key: string): boolean
  /** The job that has waited for the end of this one, which has just ended; when it is due itself. */
  successor(row: Row): { readonly row: Row; readonly dueAt: number } | null
  /** By id, each once; or by filter those in one of the states, oldest first, `caps.selection` at most. */
  select(selection: Selection, states: ReadonlySet<JobState>): SelectedRows<Row>
  /** The live jobs that a job has invoked, by priority and then age. */
  children(row: Row): readonly Row[]
  /** Jobs whose time has come, earliest first, `limit` at most. None of them is changed but by who walks them. */
  due(limit: number): Iterable<Row>
  /** Jobs whose lease has run out, likewise. */
  expired(limit: number): Iterable<Row>
  /** When the next job will be due, and the next lease will run out; null = none is known. */
  readonly nextDueAt: number | null
  readonly nextExpiryAt: number | null

  /** Writes a transition of the job. */
  apply(row: Row, transition: Transition, options: TransitionOptions): LoggedTransition
  /** How the job ended. */
  outcome(row: Row): { readonly output: Json | undefined; readonly error: ErrorRecord | null }
  /** The last transition of a job, as it is told to others. */
  lastTransition(row: Row, error?: ErrorRecord): WrittenTransition
  /** Removes an ended job for good. */
  remove(row: Row): void

  /** Sets how many attempts it may spend, those not counted that led to a checkpoint. */
  setMaxAttempts(row: Row, maxAttempts: number): void
  /** Takes its unique key from a live job, so that another one may take it. */
  giveUpKey(row: Row): void
  /** Sets when a timed job is due. */
  setDue(row: Row, dueAt: number): void
  mark(row: Row, mark: CancelMark): void
  keepCheckin(row: Row, checkin: CheckIn): void
  keepLogs(row: Row, lines: readonly LogLine[]): void
  keepSteps(row: Row, steps: Readonly<Record<string, Json>>): void
  /** Adds an error to the list of the job, and keeps it as its last one. */
  keepError(row: Row, error: AttemptError): void
  /** Its last attempt did not fail. */
  clearError(row: Row): void
  /** Forgets results of steps; without names all of them. */
  forgetSteps(row: Row, names?: readonly string[]): void
  setInput(row: Row, input: Json | undefined): void
  /** Forgets what a new generation does not take over: error, cancel mark, output. */
  resetForRetry(row: Row): void
  extendLease(row: Row, until: number): void
  /** What the last settlement of the job was answered, if it was that of this lease. */
  settledBefore(row: Row, lease: LeaseKey): SettleAnswer | null
  keepSettled(row: Row, lease: LeaseKey, answer: SettleAnswer): void

  /** Messages after the one of this number. */
  inbox(row: Row, after: number): readonly InboxEntry[]
  /** Logs a CHECKPOINT, keeps it as where the machine stands, and removes the messages it has read. */
  addCheckpoint(row: Row, checkpoint: NewCheckpoint): void
  /** When the last checkpoint was kept. */
  checkpointAt(row: Row): number
  /** Forgets checkpoints and messages. Messages are numbered on. */
  forgetCheckpoints(row: Row): void
  addMessage(row: Row, message: InboxMessage): void
  /** Drops unread messages, the oldest first; of a job that has fewer all of them. */
  dropMessages(row: Row, count: number): void
  /** Keeps which messages leave the machine waiting. */
  setGather(row: Row, gather: Gather | null): void
  keepMessageKey(row: Row, key: string): void
  setUnsupported(row: Row, unsupported: Unsupported | null): void
  /** Removes the transitions after the one of this number from the history of a job, not from the log. */
  forgetHistoryAfter(row: Row, seq: number): void
}

/** What a job is inserted with, as far as the operation looks at it. */
export type JobToInsert = Pick<NewJob, 'id' | 'type' | 'key' | 'onConflict' | 'runAt' | 'delayMs'>

/** A unit in which jobs are inserted. */
export interface InsertUnit<Row extends JobRow, New extends JobToInsert> extends UnitOfWork<Row> {
  /** The types of those jobs whose ids are there already, by id. */
  existing(jobs: readonly New[]): ReadonlyMap<string, string>
  /** ENQUEUE of a job whose key is free. @returns its number in the log; null if its id is there already. */
  insert(job: New, state: JobState, dueAt: number | null): number | null
  /** Lets a job wait for the end of its predecessor, and then until it is due itself; also one that waits for it already. */
  waitForPredecessor(row: Row, dueAt: number): void
  /** Has the job that is there the input of this one? The order of members does not matter. */
  hasSameInput(row: Row, job: New): boolean
  /** Replaces input, tags, meta and version of a job that waits to run; forgets its steps. */
  replaceInput(row: Row, job: New): void
  /** An insert was refused because the store is full: a hint follows when there is room. */
  refusedFull(): void
}

export interface SelectedRows<Row> {
  readonly rows: readonly Row[]
  readonly notFound: readonly string[]
  /** By filter: there may be more, after this; null if not. */
  readonly next: string | null
}

/** Is a job of this state leased, and to stop? */
export const isStopping = (state: JobState): boolean => isLeased(state) && !('CANCEL' in arrowsFrom(state))

/** What a run is told of a cancel; null while there is none, or its machine may still take it as an event. */
export function stopNotice(row: JobRow): { readonly reason?: string; readonly graceMs?: number } | null {
  const { cancelMark, state } = row
  if (cancelMark === null || !isStopping(state)) return null
  const { reason, graceMs } = cancelMark
  return { ...(reason !== null && { reason }), ...(graceMs !== null && { graceMs }) }
}
