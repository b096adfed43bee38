/**
 * Virtual time that can pass without the looks of an idle process: timers that only look after things are put off to
 * the end of what is skipped, all others fire when they are due.
 */
import type { Clock, Timer } from 'jobchart'
import { VirtualClock } from 'jobchart/testing'

interface Look {
  at: number
  timer: Timer
  readonly run: () => void
}

export class SkippingClock implements Clock {
  private readonly clock = new VirtualClock()
  private readonly looks = new Set<Look>()

  now(): number {
    return this.clock.now()
  }

  monotonic(): number {
    return this.clock.monotonic()
  }

  nextTurn(run: () => void): void {
    this.clock.nextTurn(run)
  }

  timer(run: () => void, delayMs: number, options: Parameters<Clock['timer']>[2]): Timer {
    if (options.keepAlive) return this.clock.timer(run, delayMs, options)
    const look: Look = {
      at: this.clock.monotonic() + delayMs,
      timer: this.clock.timer(() => fire(), delayMs, options),
      run: () => fire(),
    }
    const fire = (): void => {
      this.looks.delete(look)
      run()
    }
    this.looks.add(look)
    return {
      cancel: () => {
        look.timer.cancel()
        this.looks.delete(look)
      },
    }
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.clock.sleep(ms, signal)
  }

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms)
  }

  /** Lets time pass in which no job is running. */
  async skip(ms: number): Promise<void> {
    const end = this.clock.monotonic() + ms
    for (const look of this.looks) {
      if (look.at >= end) continue
      look.timer.cancel()
      look.at = end
      look.timer = this.clock.timer(look.run, ms, { keepAlive: false })
    }
    await this.clock.advance(ms)
  }
}
