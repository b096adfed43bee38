/** One time limit for the last calls to a store at a close. Calls that are unanswered by then are no longer awaited. */
import type { Clock, Timer } from '../core/clock.ts'

/** A stop may take a second beyond its timeout: what remains of it is for the code between the calls. */
const lastCallsMs = 750

export class CallDeadline {
  private readonly timer: Timer
  /** Resolves when the time is up. */
  readonly expired: Promise<undefined>

  constructor(clock: Clock) {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    this.timer = clock.timer(() => resolve(undefined), lastCallsMs, { keepAlive: true })
    this.expired = promise
  }

  /** The result of the call, or undefined when the time is up. Rejects as the call does. */
  wait<T>(call: Promise<T>): Promise<T | undefined> {
    return Promise.race([call, this.expired])
  }

  end(): void {
    this.timer.cancel()
  }
}
