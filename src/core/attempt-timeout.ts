/**
 * The option that limits the time of an attempt. In calls `timeout` is how long the caller waits, so the limit of an
 * attempt has a name of its own.
 */
import { durationMs, type Duration } from './duration.ts'
import { describe, invalidOption } from './errors.ts'

export interface AttemptTimeoutOptions {
  /** How long an attempt may take: then its signal aborts, and it has failed. Default: no limit. */
  readonly attemptTimeout?: Duration
  /** The older name of `attemptTimeout`. Pass one of the two. */
  readonly timeout?: Duration
}

/** The names of these options, for `checkKeys`. */
export const attemptTimeoutKeys = ['attemptTimeout', 'timeout'] as const

/**
 * The limit in ms; null without one.
 * @param of makes the name that an error has for an option
 * @throws JobchartError INVALID_OPTION for no duration, or two that differ
 */
export function attemptTimeoutOf(options: AttemptTimeoutOptions, of: (option: string) => string): number | null {
  const { attemptTimeout, timeout } = options
  const newer = attemptTimeout === undefined ? null : durationMs(attemptTimeout, of('attemptTimeout'))
  const older = timeout === undefined ? null : durationMs(timeout, of('timeout'))
  if (newer !== null && older !== null && newer !== older) {
    const hint = 'Leave out timeout: it is the older name of attemptTimeout.'
    throw invalidOption(
      of('timeout'),
      `no timeout beside another attemptTimeout (${describe(attemptTimeout)})`,
      timeout,
      hint,
    )
  }
  return newer ?? older
}
