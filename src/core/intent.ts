/** Errors that a handler throws for another outcome than a failed attempt with a retry. */
import { durationMs, type Duration } from './duration.ts'
import { recordError } from './failure.ts'

/** Ends the job as dead, without further attempts; created by `fatal`. */
export class FatalError extends Error {
  override readonly name = 'FatalError'
}

/** Runs the job later without spending the attempt; created by `snooze`. */
export class Snooze extends Error {
  override readonly name = 'Snooze'
  readonly delayMs: number

  constructor(delayMs: number) {
    super(`snoozed for ${delayMs} ms`)
    this.delayMs = delayMs
  }
}

/**
 * `throw fatal(error)` ends the job as dead, without further attempts.
 * @param error the error of the job, or its message as text
 * @example if (response.status === 404) throw fatal(new Error('no such customer'))
 */
export function fatal(error: unknown): FatalError {
  if (error instanceof Error) return new FatalError(error.message, { cause: error })
  return new FatalError(typeof error === 'string' ? error : recordError(error).message)
}

/**
 * `throw snooze('10m')` returns the job to `scheduled` without spending the attempt.
 * @param delay a duration from now
 * @throws JobchartError INVALID_OPTION if `delay` is not a duration
 */
export const snooze = (delay: Duration): Snooze => new Snooze(durationMs(delay, 'snooze'))
