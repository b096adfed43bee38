/** The timers of one client or runtime: `cancelAll` at its close ensures that none outlives it. */
import { timerMsMax, type Clock, type Timer } from '../core/clock.ts'

export class Timers {
  readonly clock: Clock
  private readonly live = new Set<Timer>()
  private isClosed = false

  constructor(clock: Clock) {
    this.clock = clock
  }

  get size(): number {
    return this.live.size
  }

  /** Was `cancelAll` called? Then no timer fires any more. */
  get closed(): boolean {
    return this.isClosed
  }

  /**
   * Calls `run` once after `delayMs`. A delay longer than the clock's maximum is split into several timers.
   * @param keepAlive false for housekeeping: the timer does not keep an idle process alive
   */
  after(delayMs: number, run: () => void, keepAlive = true): Timer {
    if (this.isClosed) return noTimer
    const clock = this.clock
    const live = this.live
    let leftMs = Math.max(0, Math.ceil(delayMs))
    const arm = (): Timer => {
      const partMs = Math.min(leftMs, timerMsMax)
      leftMs -= partMs
      return clock.timer(fire, partMs, { keepAlive })
    }
    const fire = (): void => {
      if (leftMs > 0) {
        armed = arm()
        return
      }
      live.delete(timer)
      run()
    }
    const timer: Timer = {
      cancel() {
        armed.cancel()
        live.delete(timer)
      },
    }
    let armed = arm()
    live.add(timer)
    return timer
  }

  /** Cancels every timer. Later calls of `after` set none: a late answer of the store may still call it. */
  cancelAll(): void {
    this.isClosed = true
    for (const timer of this.live) timer.cancel()
  }
}

const noTimer: Timer = { cancel() {} }
