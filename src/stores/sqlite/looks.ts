/** Looks at the file now and then: often while something happens, seldom while nothing does. */
import type { Clock, Timer } from '../../clock.ts'

/** The next look comes after a hundredth of the time that nothing has happened, within these limits, ms. */
const everyMs = { min: 1, max: 16 }
const quietPart = 100

export class Looks {
  private readonly clock: Clock
  private readonly look: () => boolean
  private timer: Timer | null = null
  private lastChange = 0

  /** @param look whether there was anything new */
  constructor(clock: Clock, look: () => boolean) {
    this.clock = clock
    this.look = look
  }

  set(on: boolean): void {
    if (on === (this.timer !== null)) return
    this.timer?.cancel()
    this.timer = null
    if (!on) return
    this.soon()
    this.later()
  }

  /** Something happens: what others do is likely to follow. */
  soon(): void {
    this.lastChange = this.clock.monotonic()
  }

  private later(): void {
    const quietMs = this.clock.monotonic() - this.lastChange
    const delayMs = Math.min(Math.max(quietMs / quietPart, everyMs.min), everyMs.max)
    this.timer = this.clock.timer(
      () => {
        this.later()
        if (this.look()) this.soon()
      },
      delayMs,
      { keepAlive: false },
    )
  }
}
