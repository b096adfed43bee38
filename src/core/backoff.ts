/**
 * How long to wait before the next attempt. Policies are data, so that they can be stored and shown; an own function
 * is possible too.
 *
 * Full jitter (a random part of the whole delay) is from Marc Brooker, "Exponential Backoff And Jitter", AWS
 * Architecture Blog, 2015: it spreads a burst of failures best.
 */
import type { Random } from './clock.ts'
import { checkSyncFunction, checkKeys } from './checks.ts'
import { invalidOption } from './errors.ts'
import { durationMs, type Duration } from './duration.ts'
import type { JobRecord } from './record.ts'

export interface BackoffPolicy {
  readonly kind: 'constant' | 'linear' | 'exponential'
  readonly baseMs: number
  readonly maxMs: number
  readonly jitter: boolean
}

/**
 * The delay before the attempt after `attempt` (1 = the first has failed), by its error and the job as it was claimed.
 */
export type BackoffFunction = (attempt: number, error: unknown, job: JobRecord) => Duration

export type Backoff = BackoffPolicy | BackoffFunction

/** One that does not look at the job. */
export type AttemptBackoff = BackoffPolicy | ((attempt: number, error: unknown) => Duration)

export interface BackoffOptions {
  /** The first delay; linear adds it, exponential doubles it. Default 1 s. */
  readonly base?: Duration
  /** The longest delay. Default 1 h. */
  readonly max?: Duration
  /** Wait a random part of the delay (full jitter)? Default: true for exponential, else false. */
  readonly jitter?: boolean
}

function policy(kind: BackoffPolicy['kind'], options: Duration | BackoffOptions, jitter: boolean): BackoffPolicy {
  if (typeof options === 'object') checkKeys(`options of ${kind}`, options, ['base', 'max', 'jitter'])
  const { base = '1s', max = '1h', jitter: wanted = jitter } = typeof options === 'object' ? options : { base: options }
  const baseMs = durationMs(base, `${kind} base`)
  return { kind, baseMs, maxMs: Math.max(baseMs, durationMs(max, `${kind} max`)), jitter: wanted }
}

/**
 * The same delay every time.
 * @example constant('5s') // 5 s, 5 s, 5 s
 */
export const constant = (delay: Duration | BackoffOptions = '1s'): BackoffPolicy => policy('constant', delay, false)

/**
 * A delay that grows by itself.
 * @example linear({ base: '1s', max: '3s' }) // 1 s, 2 s, 3 s, 3 s
 */
export const linear = (options: Duration | BackoffOptions = {}): BackoffPolicy => policy('linear', options, false)

/**
 * A delay that doubles, with full jitter unless told otherwise.
 * @example exponential({ base: '1s', max: '1h', jitter: false }) // 1 s, 2 s, 4 s, … 1 h
 */
export const exponential = (options: Duration | BackoffOptions = {}): BackoffPolicy =>
  policy('exponential', options, true)

/**
 * The delay in ms after `attempt` attempts.
 * @throws JobchartError INVALID_OPTION if an own function gives no duration; and whatever that function throws
 */
export function backoffMs(backoff: AttemptBackoff, attempt: number, error: unknown, random: Random): number {
  if (typeof backoff === 'function') return durationMs(backoff(attempt, error), 'retry.backoff')
  const grown = {
    constant: () => backoff.baseMs,
    linear: () => backoff.baseMs * attempt,
    exponential: () => backoff.baseMs * 2 ** Math.min(attempt - 1, 60),
  }[backoff.kind]()
  const delayMs = Math.min(grown, backoff.maxMs)
  return Math.round(backoff.jitter ? delayMs * random() : delayMs)
}

/** Refuses what is no backoff, at the door. */
export function checkBackoff<T extends Backoff>(backoff: T): T {
  if (typeof backoff === 'function') {
    checkSyncFunction('retry.backoff', backoff)
    return backoff
  }
  if (typeof backoff === 'object' && backoff !== null && Number.isFinite(backoff.baseMs)) return backoff
  throw invalidOption('retry.backoff', 'constant(), linear(), exponential() or a function', backoff)
}

const kinds: ReadonlySet<BackoffPolicy['kind']> = new Set(['constant', 'linear', 'exponential'])

/**
 * A copy of a policy that can be stored with a job.
 * @throws JobchartError INVALID_OPTION for a function, and what is no backoff
 */
export function storableBackoff(backoff: BackoffPolicy): BackoffPolicy {
  if (typeof backoff === 'function') {
    const hint =
      'A function cannot be stored with a job: pass constant(), linear() or exponential(), or give the function to defineJob.'
    throw invalidOption('backoff', 'a policy', backoff, hint)
  }
  const { kind, baseMs, maxMs, jitter } = backoff ?? {}
  const isPolicy = kinds.has(kind) && Number.isFinite(baseMs) && Number.isFinite(maxMs) && typeof jitter === 'boolean'
  if (!isPolicy) throw invalidOption('backoff', 'constant(), linear() or exponential()', backoff)
  return { kind, baseMs, maxMs, jitter }
}
