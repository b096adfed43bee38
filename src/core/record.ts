/** The record of a job, and the events of its transitions. */
import type { ErrorRecord } from './failure.ts'
import type { ArrowEvent, JobState } from './lifecycle.ts'
import type { Checkpoint, InboxEntry, Parent, Unsupported } from './machine-record.ts'
import type { Json } from './payload.ts'

/** A failed attempt, as it is kept. */
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
  /** An arrow of the chart, or one that leads back to where it comes from: a machine's CHECKPOINT. */
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

/** Data that travels with a job: its enqueuer's own. */
export type JobMeta = Readonly<Record<string, Json>>

/** A job as it is at one moment. Times are ms since the epoch by the store's clock. */
export interface JobRecord {
  readonly id: string
  readonly type: string
  readonly state: JobState
  /** Higher goes first within its queue. */
  readonly priority: number
  /** Attempts spent in this generation. */
  readonly attempt: number
  /** Attempts this generation may spend. Those in which a machine came to a checkpoint do not count, and add to it. */
  readonly maxAttempts: number
  /** 1 at first; each retry of an ended job opens the next one. */
  readonly generation: number
  readonly input: Json | undefined
  readonly output: Json | undefined
  /** The last error, if the last attempt failed. */
  readonly error: ErrorRecord | null
  /** Every failed attempt, oldest first, capped. */
  readonly errors: readonly AttemptError[]
  readonly checkin: CheckIn | null
  /** What the handler logged, oldest first, capped. */
  readonly logs: readonly LogLine[]
  readonly tags: readonly string[]
  /** What its enqueuer has given it; `{}` if nothing. */
  readonly meta: JobMeta
  /** The unique key it holds or held, if any. */
  readonly key: string | null
  /** The key whose concurrency it shares, if any. */
  readonly concurrencyKey: string | null
  readonly enqueuedAt: number
  /** When it will be ready, while scheduled, retrying or waiting for a timer. */
  readonly dueAt: number | null
  /** When its last attempt started. */
  readonly startedAt: number | null
  readonly finishedAt: number | null
  /** The runtime that holds it now or ran it last. */
  readonly worker: string | null
  readonly cancelReason: string | null
  /** Where its machine stands; null for plain jobs, and before the first rest. */
  readonly checkpoint: Checkpoint | null
  /** Paths of the states its machine stood in at its last checkpoint, the outer ones first: `['paid', 'paid.shipping']`. */
  readonly machineStates: readonly string[]
  /** The tags its machine had then. */
  readonly machineTags: readonly string[]
  /** Messages its machine has not read yet, oldest first. */
  readonly inbox: readonly InboxEntry[]
  /** The number of the last message it was sent. */
  readonly lastMessageNumber: number
  /** The job that has invoked it, if one has. */
  readonly parent: Parent | null
  /**
   * The version of its machine that it was enqueued with: it begins with this one or a later one. Null of a plain job, and of
   * one that an earlier release has enqueued.
   */
  readonly version: string | null
  /** Set while no worker that claims it can run its machine; until its next checkpoint, or end of an attempt. */
  readonly unsupported: Unsupported | null
  /** Its transitions, oldest first, capped. Of claims in a row that put it off as unsupported, only the first. */
  readonly history: readonly HistoryEntry[]
}

/**
 * One entry of a store's transition log; `seq` grows by at least one from entry to entry. Checkpoints of machine jobs are
 * entries of it, too, with their note as the reason, but not of a job's history.
 */
export interface Transition extends HistoryEntry {
  readonly id: string
  readonly type: string
}

/** What an event of any kind may have. */
export interface AnyJobEvent {
  /** The seq of the transition; of a CHECKIN, LOG or EMIT, that of the claim it belongs to. */
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
  /** The job's `meta`, if it has any. Only events of this process's enqueues and runs carry it. */
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

/** Something that happened to a job in this process: an arrow of the chart, or a sign of life during a run. `event` tells which. */
export type JobEvent = EnqueueEvent | ReportEvent | LogEvent | TransitionEvent

/** The same event as one of its kind: those who make events give each kind what it has. */
export const jobEvent = (event: AnyJobEvent): JobEvent => event as JobEvent
