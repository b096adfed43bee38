/**
 * The option that limits the time of an attempt. In calls `timeout` is how long the caller waits, so the limit of an
 * attempt has a name of its own.
 */
import { orNull, type Checked, type RulesOf } from './checks.ts'
import { durationMs, type Duration } from './duration.ts'
import { describe, invalidOption } from './errors.ts'

export interface AttemptTimeoutOptions {
  /** How long an attempt may take: then its signal aborts, and it has failed. Default: no limit. */
  readonly attemptTimeout?: Duration
  /** The older name of `attemptTimeout`. Pass one of the two. */
  readonly timeout?: Duration
}

export const attemptTimeoutRules = {
  attemptTimeout: orNull(durationMs),
  timeout: orNull(durationMs),
} satisfies RulesOf<AttemptTimeoutOptions>

/**
 * The limit in ms; null without one.
 * @param of makes the name that an error has for an option
 * @throws JobchartError INVALID_OPTION for two that differ
 */
export function attemptTimeoutOf(
  { attemptTimeout, timeout }: Checked<typeof attemptTimeoutRules>,
  given: AttemptTimeoutOptions,
  of: (option: string) => string,
): number | null {
  if (attemptTimeout === null || timeout === null || attemptTimeout === timeout) return attemptTimeout ?? timeout
  const expected = `no timeout beside another attemptTimeout (${describe(given.attemptTimeout)})`
  const hint = 'Leave out timeout: it is the older name of attemptTimeout.'
  throw invalidOption(of('timeout'), expected, given.timeout, hint)
}
