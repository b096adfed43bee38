/** The messages between the two threads. Errors are sent as data, because structured clones lose their class. */
import { JobchartError, type ErrorCode } from '../../core/errors.ts'
import { recordError, reviveError, type ErrorRecord } from '../../core/failure.ts'
import type { Hint } from '../../store.ts'
import type { Outcome, Reply } from './engine.ts'
import type { FireSchedule } from '../../core/schedule-record.ts'
import type { JobToInsert } from '../../core/job-row.ts'
import { revivedJob, unpackedRequest, type PackedRequest, type Unpackable } from './insert.ts'
import type { Call } from './operations.ts'

export type Ask =
  | { readonly kind: 'open' }
  | { readonly kind: 'run'; readonly calls: readonly Call[]; readonly now: number; readonly waitedMs: number }
  | { readonly kind: 'look'; readonly on: boolean }
  | { readonly kind: 'close' }

export type ThreadMessage =
  | { readonly kind: 'opened'; readonly error: PackedError | null }
  | { readonly kind: 'ran'; readonly outcome: PackedOutcome }
  | { readonly kind: 'hints'; readonly hints: readonly Hint[] }
  | { readonly kind: 'closed' }

export interface PackedError {
  /** Of a JobchartError. */
  readonly known: { readonly code: ErrorCode; readonly hint: string | undefined } | null
  readonly error: ErrorRecord
}

type PackedReply = { readonly answer: unknown } | { readonly error: PackedError }

type PackedOutcome =
  | { readonly kind: 'done'; readonly replies: readonly PackedReply[]; readonly hints: readonly Hint[] }
  | { readonly kind: 'busy' | 'failed'; readonly error: PackedError }

export function packError(error: unknown): PackedError {
  const known = error instanceof JobchartError ? { code: error.code, hint: error.hint } : null
  return { known, error: recordError(error) }
}

export function unpackError({ known, error }: PackedError): Error {
  if (known === null) return error.name === 'TypeError' ? callerError(error) : reviveError(error)
  const { code, hint } = known
  return new JobchartError(code, error.message, {
    ...(hint !== undefined && { hint }),
    ...(error.cause !== undefined && { cause: reviveError(error.cause) }),
  })
}

/** A mistake of the caller keeps the class of its error. */
const callerError = ({ message, stack }: ErrorRecord): TypeError =>
  Object.assign(new TypeError(message), stack !== undefined && { stack })

export function packOutcome(outcome: Outcome): PackedOutcome {
  if (outcome.kind !== 'done') return { kind: outcome.kind, error: packError(outcome.error) }
  const { kind, replies, hints } = outcome
  return { kind, replies: replies.map((each) => ('error' in each ? { error: packError(each.error) } : each)), hints }
}

export function unpackOutcome(outcome: PackedOutcome): Outcome {
  if (outcome.kind !== 'done') return { kind: outcome.kind, error: unpackError(outcome.error) }
  const { kind, replies, hints } = outcome
  const unpacked = replies.map((each): Reply => ('error' in each ? { error: unpackError(each.error) } : each))
  return { kind, replies: unpacked, hints }
}

/** A call with its packed values, which have lost their class on the way. */
export function revivedCall({ method, args }: Call): Call {
  const [requests] = args
  if (method === 'insert') return { method, args: [(requests as (PackedRequest | Unpackable)[]).map(unpackedRequest)] }
  if (method !== 'fireSchedules') return { method, args }
  const revived = (requests as FireSchedule<JobToInsert>[]).map(({ ticks, ...request }) => {
    return { ...request, ticks: ticks.map(({ at, job }) => ({ at, job: revivedJob(job) })) }
  })
  return { method, args: [revived] }
}
