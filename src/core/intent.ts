/** What a handler may throw to say something other than "this attempt failed". */
import { durationMs, type Duration } from './duration.ts'
import { recordError } from './failure.ts'

/** Thrown by a handler that gives up for good; made by `fatal`. */
export class FatalError extends Error {
  override readonly name = 'FatalError'
}

/** Thrown by a handler that wants to run later; made by `snooze`. */
export class Snooze extends Error {
  override readonly name = 'Snooze'
  readonly delayMs: number

  constructor(delayMs: number) {
    super(`snoozed for ${delayMs} ms`)
    this.delayMs = delayMs
  }
}

/**
 * `throw fatal(error)`: no further attempt makes sense, the job is dead at once. Its error is `error`; text will do.
 * @example if (response.status === 404) throw fatal(new Error('no such customer'))
 */
export function fatal(error: unknown): FatalError {
  if (error instanceof Error) return new FatalError(error.message, { cause: error })
  return new FatalError(typeof error === 'string' ? error : recordError(error).message)
}

/**
 * `throw snooze('10m')`: not now. The job goes back to scheduled and the attempt is not spent.
 * @param delay a duration from now
 * @throws JobchartError INVALID_OPTION if it is none
 */
export const snooze = (delay: Duration): Snooze => new Snooze(durationMs(delay, 'snooze'))
