/**
 * Where a runtime or client tells what it does, for traces and metrics. It is called at the boundary of the library, in
 * the turn of the caller. What it throws is logged (`guarded-telemetry.ts`). `jobchart/otel` makes one for
 * OpenTelemetry.
 */
import type { Settlement } from './settlement.ts'

/** The fields of a trace context, by the names of their headers: `traceparent`, `tracestate`, `baggage`. */
export type TraceContext = Readonly<Record<string, string>>

/** Jobs of one type that one call enqueues. */
export interface SentJobs {
  readonly type: string
  /** `call`, a method of the runtime or client; `job`, a running job; `schedule`, a tick. */
  readonly from: 'call' | 'job' | 'schedule'
  /** null: one job, not as a list. */
  readonly count: number | null
}

/** How an enqueue has ended: the number of jobs that were inserted and found, or the error that refused them. */
export type SendEnd = { readonly inserted: number; readonly found: number } | { readonly error: unknown }

/** An enqueue that has begun. */
export interface SendSpan {
  /** What the job carries, so that its attempts find it. Called once for each job. */
  contextOf(id: string): TraceContext | undefined
  /** @param ms how long the call took */
  end(end: SendEnd, ms: number): void
}

/** An attempt that begins. */
export interface StartedAttempt {
  readonly id: string
  readonly type: string
  readonly attempt: number
  readonly generation: number
  /** How long the job was queued before its claim, ms; null: not known. Reads the record of the job. */
  readonly queuedMs: () => number | null
  /** What the job carries. */
  readonly context: TraceContext | undefined
  /** Was the job never claimed before? Parked and postponed jobs have their attempts counted anew. */
  readonly isFirst: () => boolean
}

/** How an attempt has ended: by its settlement, with the state that it has led to, or by the loss of its lease. */
export type AttemptEnd = Settlement | 'lost'

/** An attempt that has begun. */
export interface AttemptSpan {
  /** What travels with work that this attempt begins elsewhere, such as in a thread. */
  readonly context: TraceContext | undefined
  /** Calls `work` so that what it begins belongs to this attempt. */
  within<T>(work: () => T): T
  /** The same for a part of it that has a name. Ends with the promise of `work`, if it gives one. */
  part<T>(kind: AttemptPart, name: string, work: () => T): T
  /** A line of the log of the job. */
  log(message: string, fields: Readonly<Record<string, unknown>> | undefined): void
  /** @param ms how long the attempt took */
  end(end: AttemptEnd, ms: number): void
}

/** A step, an attempt of a durable promise in a machine, or a checkpoint. */
export type AttemptPart = 'step' | 'actor' | 'checkpoint'

/** The backlog of a queue. */
export interface QueueDepth {
  readonly type: string
  readonly counts: Readonly<Record<string, number>>
  /** Since when its oldest queued job waits, ms. */
  readonly latencyMs: number
}

/** What is asked when metrics are collected. */
export interface TelemetrySource {
  readonly queues: () => Promise<readonly QueueDepth[]>
}

export interface Telemetry {
  /** A runtime or client has opened its store. @returns ends it */
  observe(source: TelemetrySource): () => void
  /** null: nothing listens at present. */
  send(jobs: SentJobs): SendSpan | null
  /** Jobs of a type were claimed. */
  claimed(type: string, count: number): void
  /** null: nothing listens at present. */
  attempt(started: StartedAttempt): AttemptSpan | null
  /** Calls the handler of a batch. Its attempts have begun. */
  batch<T>(type: string, attempts: readonly AttemptSpan[], work: () => T): T
}
