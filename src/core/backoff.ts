/**
 * How long to wait before the next attempt. Policies are data, so that they can be stored and shown; an own function
 * is possible too.
 *
 * Full jitter (a random part of the whole delay) is from Marc Brooker, "Exponential Backoff And Jitter", AWS
 * Architecture Blog, 2015: it spreads a burst of failures best.
 */
import type { Random } from './clock.ts'
import { boolean, byDefault, is, syncFn, table, type Rule, type RulesOf } from './checks.ts'
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
  /** The longest delay. Default 1 h, or a longer `base`. */
  readonly max?: Duration
  /** Wait a random part of the delay (full jitter)? Default: true for exponential, else false. */
  readonly jitter?: boolean
}

const maxMsDefault = 3_600_000

function policyMaker(kind: BackoffPolicy['kind'], jitterDefault: boolean) {
  const rules = {
    base: byDefault('1s', durationMs),
    max: durationMs,
    jitter: byDefault(jitterDefault, boolean),
  } satisfies RulesOf<BackoffOptions>
  const backoffOptions = table(rules, { prefix: `${kind} ` })
  return (given: Duration | BackoffOptions): BackoffPolicy => {
    const checked = backoffOptions(typeof given === 'object' ? given : { base: given }, `options of ${kind}`)
    const { base, max = Math.max(base, maxMsDefault), jitter } = checked
    return { kind, baseMs: base, maxMs: max, jitter }
  }
}

const makers = {
  constant: policyMaker('constant', false),
  linear: policyMaker('linear', false),
  exponential: policyMaker('exponential', true),
}

/**
 * The same delay every time.
 * @example constant('5s') // 5 s, 5 s, 5 s
 */
export const constant = (delay: Duration | BackoffOptions = '1s'): BackoffPolicy => makers.constant(delay)

/**
 * A delay that grows by itself.
 * @example linear({ base: '1s', max: '3s' }) // 1 s, 2 s, 3 s, 3 s
 */
export const linear = (options: Duration | BackoffOptions = {}): BackoffPolicy => makers.linear(options)

/**
 * A delay that doubles, with full jitter unless told otherwise.
 * @example exponential({ base: '1s', max: '1h', jitter: false }) // 1 s, 2 s, 4 s, … 1 h
 */
export const exponential = (options: Duration | BackoffOptions = {}): BackoffPolicy => makers.exponential(options)

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

const kinds: ReadonlySet<unknown> = new Set<BackoffPolicy['kind']>(['constant', 'linear', 'exponential'])

function isPolicy(value: unknown): value is BackoffPolicy {
  if (typeof value !== 'object' || value === null) return false
  const { kind, baseMs, maxMs, jitter }: { readonly [Key in keyof BackoffPolicy]?: unknown } = value
  return kinds.has(kind) && Number.isFinite(baseMs) && Number.isFinite(maxMs) && typeof jitter === 'boolean'
}

/** The option `retry.backoff` of a definition: a policy, or a function of the type that it takes. */
export function backoffRule<F>(): Rule<BackoffPolicy | F> {
  const backoffFunction = syncFn<F>()
  return (value) => {
    if (typeof value === 'function') return backoffFunction(value, 'retry.backoff')
    if (isPolicy(value)) return value
    throw invalidOption('retry.backoff', 'constant(), linear(), exponential() or a function', value)
  }
}

const policy = is('constant(), linear() or exponential()', isPolicy)

/** A copy of a policy that can be stored with a job. */
export const storableBackoff: Rule<BackoffPolicy> = (value, name) => {
  if (typeof value === 'function') {
    const hint =
      'A function cannot be stored with a job: pass constant(), linear() or exponential(), or give the function to defineJob.'
    throw invalidOption(name, 'a policy', value, hint)
  }
  const { kind, baseMs, maxMs, jitter } = policy(value, name)
  return { kind, baseMs, maxMs, jitter }
}
