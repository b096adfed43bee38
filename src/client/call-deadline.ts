/**
 * Leave: the last calls to a store share one limit of time. One that is not answered by then is waited for no longer; what
 * becomes of it is nobody's business any more.
 */
import type { Clock, Timer } from '../core/clock.ts'

const lastCallsMs = 1_000

export class CallDeadline {
  private readonly timer: Timer
  private readonly over: Promise<undefined>

  constructor(clock: Clock) {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    this.timer = clock.timer(() => resolve(undefined), lastCallsMs, { keepAlive: true })
    this.over = promise
  }

  /** What a call answers, or undefined if it does not in time. Rejects as the call does. */
  wait<T>(call: Promise<T>): Promise<T | undefined> {
    return Promise.race([call, this.over])
  }

  end(): void {
    this.timer.cancel()
  }
}
