/** The server's time, estimated between its answers by this machine's monotonic clock. */
import type { Clock } from '../../core/clock.ts'

/** A worse measurement replaces a better one when that is so old, ms: clocks drift. */
const trustedMs = 10_000

export class ServerClock {
  private readonly clock: Clock
  /** The server's time less the monotonic time of this machine, how exact that is, and when it was measured. */
  private offset: number | null = null
  private exactness = Infinity
  private measuredAt = 0

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** What the server said was true at some moment between the two monotonic times. */
  learn(serverMs: number, sent: number, received: number): void {
    const exactness = received - sent
    if (exactness > this.exactness && received - this.measuredAt < trustedMs) return
    this.offset = serverMs - (sent + received) / 2
    this.exactness = exactness
    this.measuredAt = received
  }

  now(): number {
    return Math.floor(this.offset === null ? this.clock.now() : this.clock.monotonic() + this.offset)
  }
}
