/** The record of a job, and the events of its transitions. */
import type { ErrorRecord } from './failure.ts'
import type { ArrowEvent, JobState } from './lifecycle.ts'
import type { Checkpoint, InboxEntry, Parent, Unsupported } from './machine-record.ts'
import type { Json } from './payload.ts'

/** A failed attempt, as stored with the job. */
export interface AttemptError {
  readonly attempt: number
  readonly generation: number
  readonly error: ErrorRecord
  /** When the attempt started and failed, ms since the epoch. */
  readonly startedAt: number
  readonly failedAt: number
  readonly worker: string
}

/** One transition of a job. */
export interface HistoryEntry {
  readonly seq: number
  /** ms since the epoch, by the store's clock. */
  readonly at: number
  /** An event of the chart; or a machine's CHECKPOINT, which leaves the state as it is. */
  readonly event: ArrowEvent | 'ENQUEUE' | 'CHECKPOINT'
  /** null for the ENQUEUE. */
  readonly from: JobState | null
  readonly to: JobState
  readonly attempt: number
  readonly worker?: string
  readonly reason?: string
}

export interface LogLine {
  readonly at: number
  readonly attempt: number
  readonly message: string
  readonly fields?: Json
}

export interface CheckIn {
  readonly at: number
  readonly value: Json
}

/** The caller's own data, kept with a job. */
export type JobMeta = Readonly<Record<string, Json>>

/** A snapshot of a job. Times are ms since the epoch, by the store's clock. */
export interface JobRecord {
  readonly id: string
  readonly type: string
  readonly state: JobState
  /** Within its queue, jobs with a higher priority are claimed first. */
  readonly priority: number
  /** Attempts spent in this generation. */
  readonly attempt: number
  /**
   * Attempts allowed in this generation. An attempt in which a machine wrote a checkpoint does not count: it adds one.
   */
  readonly maxAttempts: number
  /** 1 at first; each retry of an ended job adds 1. */
  readonly generation: number
  readonly input: Json | undefined
  readonly output: Json | undefined
  /** The last error, if the last attempt failed. */
  readonly error: ErrorRecord | null
  /** Failed attempts, oldest first; the last 20. */
  readonly errors: readonly AttemptError[]
  readonly checkin: CheckIn | null
  /** Lines logged by the handler, oldest first; the last 100. */
  readonly logs: readonly LogLine[]
  readonly tags: readonly string[]
  /** The caller's own data; `{}` if there is none. */
  readonly meta: JobMeta
  /** Its unique key, if any, also after it has given it up. */
  readonly key: string | null
  /** Its concurrency key, if any. */
  readonly concurrencyKey: string | null
  readonly enqueuedAt: number
  /** When it is due, while it is scheduled, retrying, or waiting for a timer. */
  readonly dueAt: number | null
  /** When its last attempt started. */
  readonly startedAt: number | null
  readonly finishedAt: number | null
  /** The worker that holds its lease, or held the last one. */
  readonly worker: string | null
  readonly cancelReason: string | null
  /** The last checkpoint of its machine; null for a plain job, and before the first checkpoint. */
  readonly checkpoint: Checkpoint | null
  /** Paths of the active states of its machine at the last checkpoint, parents first: `['paid', 'paid.shipping']`. */
  readonly machineStates: readonly string[]
  /** Tags of its machine at the last checkpoint. */
  readonly machineTags: readonly string[]
  /** Does a cancel go to its machine, as the event `job.cancel`, in the state of the last checkpoint? */
  readonly takesCancel: boolean
  /** Messages that its machine has not read yet, and deferred events, oldest first. */
  readonly inbox: readonly InboxEntry[]
  /**
   * Numbers of the messages in `inbox` that its machine has read and not taken: events that wait for a state that takes
   * them.
   */
  readonly deferred: readonly number[]
  /** The number of the last message it was sent. */
  readonly lastMessageNumber: number
  /** The job that has invoked it, if any. */
  readonly parent: Parent | null
  /**
   * The version of its machine at the enqueue: the job starts with this version or a later one. Null for a plain job,
   * and for one that was enqueued by its name where its definition is not known.
   */
  readonly version: string | null
  /**
   * Set while no worker that has claimed it can run its machine; removed by its next checkpoint or the next end of an
   * attempt.
   */
  readonly unsupported: Unsupported | null
  /**
   * Its transitions, oldest first; the last 100. Of consecutive claims that postpone it as unsupported, only the first.
   */
  readonly history: readonly HistoryEntry[]
}

/**
 * One entry of a store's transition log; `seq` grows by at least one from entry to entry. The log also contains
 * checkpoints of machine jobs, with their note as the reason; the history of a job does not.
 */
export interface Transition extends HistoryEntry {
  readonly id: string
  readonly type: string
}

/** Fields of all events of jobs. */
export interface AnyJobEvent {
  /** The seq of the transition; for a CHECKIN, LOG or EMIT, that of the CLAIM of its attempt. */
  readonly seq: number
  readonly at: number
  readonly id: string
  readonly type: string
  readonly event: ArrowEvent | 'ENQUEUE' | 'CHECKPOINT' | 'CHECKIN' | 'LOG' | 'EMIT'
  readonly from: JobState | null
  readonly to: JobState
  readonly attempt: number
  readonly worker?: string
  readonly error?: ErrorRecord
  readonly reason?: string
  /**
   * The job's `meta`, if it has any. Only the ENQUEUE of a call of this process and the events of the attempts that it
   * runs have it: the others are read from the store's transition log, which does not contain it.
   */
  readonly meta?: JobMeta
  /** The value of a CHECKIN, the line of a LOG, the event of an EMIT, the output of a COMPLETE. */
  readonly value?: Json
}

export interface EnqueueEvent extends AnyJobEvent {
  readonly event: 'ENQUEUE'
  readonly from: null
}

/** A check-in, or an event that a machine has emitted. */
export interface ReportEvent extends AnyJobEvent {
  readonly event: 'CHECKIN' | 'EMIT'
  readonly from: JobState
  readonly value: Json
}

export interface LogEvent extends AnyJobEvent {
  readonly event: 'LOG'
  readonly from: JobState
  readonly value: { message: string; fields?: Json }
}

/** An arrow of the chart, or a checkpoint of a machine. */
export interface TransitionEvent extends AnyJobEvent {
  readonly event: ArrowEvent | 'CHECKPOINT'
  readonly from: JobState
}

/** A transition of a job, or a report of a run (check-in, log line, emitted event). Discriminated by `event`. */
export type JobEvent = EnqueueEvent | ReportEvent | LogEvent | TransitionEvent

/** Narrows to the union: code that creates events gives each kind its own fields. */
export const jobEvent = (event: AnyJobEvent): JobEvent => event as JobEvent
