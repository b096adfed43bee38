/** The server's time, estimated between its answers by this machine's monotonic clock. */
import type { Clock } from '../../core/clock.ts'

/** For so long a measurement keeps its exactness, ms; then it counts as half as good: clocks drift. */
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

  /**
   * What the server said was true at some moment between the two monotonic times: that bounds the offset. A measurement
   * that took longer than an earlier one moves the estimate only as far as it contradicts it. An answer that was held
   * up for two seconds would else make the estimate wrong by one.
   */
  learn(serverMs: number, sent: number, received: number): void {
    const exactness = received - sent
    const [least, most] = [serverMs - received, serverMs - sent]
    if (this.offset === null || exactness <= this.exactness) {
      this.offset = (least + most) / 2
      this.exactness = exactness
      this.measuredAt = received
      return
    }
    this.offset = Math.min(Math.max(this.offset, least), most)
    // Clocks drift: after a while a measurement that is not as good is good enough.
    if (received - this.measuredAt < trustedMs) return
    this.exactness *= 2
    this.measuredAt = received
  }

  now(): number {
    return Math.floor(this.offset === null ? this.clock.now() : this.clock.monotonic() + this.offset)
  }
}
