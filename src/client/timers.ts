/** All timers of one runtime, so that none outlives it: `size` is 0 when it has stopped, and a test can see it. */
import { timerMsMax, type Clock, type Timer } from '../core/clock.ts'

export class Timers {
  readonly clock: Clock
  private readonly live = new Set<Timer>()
  private over = false

  constructor(clock: Clock) {
    this.clock = clock
  }

  get size(): number {
    return this.live.size
  }

  /** Is the runtime closed? Then nothing that needs time comes to its end any more. */
  get closed(): boolean {
    return this.over
  }

  /**
   * Calls `run` once after `delayMs`, which may be longer than a timer of the clock can take: that is set in parts.
   * @param keepAlive false for timers that only look after things: they do not keep an idle process from ending
   */
  after(delayMs: number, run: () => void, keepAlive = true): Timer {
    if (this.over) return noTimer
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

  /** Cancels every timer. None is set from now on: what a late answer of the store asks for comes to nothing. */
  cancelAll(): void {
    this.over = true
    for (const timer of this.live) timer.cancel()
  }
}

const noTimer: Timer = { cancel() {} }
