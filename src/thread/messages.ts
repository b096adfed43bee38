/** The messages between a thread and the runtime. Each belongs to one run: those of a run that is over are ignored. */
import type { MessagePort } from 'node:worker_threads'
import type { ErrorCode } from '../core/errors.ts'
import { recordError, reviveError, unreadable, type ErrorRecord } from '../core/failure.ts'
import { FatalError, Snooze } from '../core/intent.ts'
import type { Json } from '../core/payload.ts'
import type { TraceContext } from '../core/telemetry.ts'

/** What a thread is started with. */
export interface ThreadStart {
  /** Of the module whose default export is the handler. */
  readonly url: string
  readonly port: MessagePort
}

/** What a handler is told of its attempt. */
export interface ThreadJob {
  readonly id: string
  readonly type: string
  readonly attempt: number
  readonly maxAttempts: number
  /** ms since the epoch. */
  readonly deadline: number | null
  readonly trace: TraceContext | null
  readonly input: unknown
}

/** The end of `ctx.step`: a stored result, the error that its own work threw, or why it was refused. */
export type StepEnd =
  | { readonly kind: 'stored'; readonly result: unknown }
  | { readonly kind: 'threw' }
  | { readonly kind: 'refused'; readonly error: Thrown }

export type ToThread =
  | { readonly kind: 'start'; readonly run: number; readonly job: ThreadJob }
  | { readonly kind: 'abort'; readonly run: number; readonly code: ErrorCode; readonly message: string }
  /** The work of a step may begin. */
  | { readonly kind: 'work'; readonly run: number; readonly call: number }
  | { readonly kind: 'stepped'; readonly run: number; readonly call: number; readonly end: StepEnd }

/** Check-ins and lines of the log since the last report; of check-ins the last one. */
export interface Report {
  readonly kind: 'report'
  readonly run: number
  readonly checkin: { readonly value: Json } | null
  readonly lines: readonly { readonly message: string; readonly fields?: Record<string, Json> }[]
}

export type FromThread =
  | Report
  | { readonly kind: 'step'; readonly run: number; readonly call: number; readonly name: string }
  /** The work of a step has ended; `result` is null if it threw. */
  | { readonly kind: 'worked'; readonly run: number; readonly call: number; readonly result: { value?: Json } | null }
  | { readonly kind: 'returned'; readonly run: number; readonly output: Json | undefined }
  | { readonly kind: 'threw'; readonly run: number; readonly error: Thrown }
  /** The module could not be loaded, or exports no handler. */
  | { readonly kind: 'unusable'; readonly run: number; readonly error: ErrorRecord }

/** An error on its way to another thread: what is recorded of it, and whether it was made by `fatal` or `snooze`. */
interface Thrown {
  readonly record: ErrorRecord
  readonly intent: { readonly kind: 'fatal' } | { readonly kind: 'snooze'; readonly delayMs: number } | null
}

export function packThrown(error: unknown): Thrown {
  try {
    return packed(error)
  } catch {
    // Reading a thrown proxy may throw.
    return packed(unreadable())
  }
}

function packed(error: unknown): Thrown {
  if (error instanceof Snooze) return { record: recordError(error), intent: { kind: 'snooze', delayMs: error.delayMs } }
  if (error instanceof FatalError) return { record: recordError(error.cause ?? error), intent: { kind: 'fatal' } }
  return { record: recordError(error), intent: null }
}

export function unpackThrown({ record, intent }: Thrown): Error {
  if (intent?.kind === 'snooze') return new Snooze(intent.delayMs)
  const error = reviveError(record)
  return intent === null ? error : new FatalError(error.message, { cause: error })
}
