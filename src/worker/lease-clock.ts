/**
 * The clock by which a process judges its own leases. Monotonic time stops while the machine is suspended, and wall time may
 * be set back; a lease that may have expired must be treated as lost. So the larger of the two times since an anchor counts.
 *
 * Times since the anchor are compared, not differences of consecutive readings: the wall clock advances in whole milliseconds,
 * at other moments than the monotonic clock, and the larger of each pair of differences would add up to almost twice the time.
 */
import type { Clock } from '../core/clock.ts'

/**
 * If the two times differ by more, a clock was set or the machine was suspended, and a new anchor is set: otherwise a wall clock
 * that was set back would hide a later suspension. The value exceeds differences by resolution, and is half of the margin by
 * which a run on the shortest lease (1 s) is fenced early.
 */
const differenceMs = 50

export class LeaseClock {
  private readonly clock: Clock
  private anchor: { readonly monotonic: number; readonly wall: number; readonly passedMs: number }
  private lastMs = 0

  constructor(clock: Clock) {
    this.clock = clock
    this.anchor = { monotonic: clock.monotonic(), wall: clock.now(), passedMs: 0 }
  }

  /** ms since this object was made; never decreases. */
  read(): number {
    const monotonic = this.clock.monotonic()
    const wall = this.clock.now()
    const { anchor } = this
    const byMonotonic = monotonic - anchor.monotonic
    const byWall = wall - anchor.wall
    const passedMs = anchor.passedMs + Math.max(byMonotonic, byWall)
    if (passedMs > this.lastMs) this.lastMs = passedMs
    if (Math.abs(byWall - byMonotonic) > differenceMs) this.anchor = { monotonic, wall, passedMs: this.lastMs }
    return this.lastMs
  }
}

/** What the store has said of a lease. Jobs of one claim share the object: a time in each run would be an object of its own in V8. */
export interface ConfirmedLease {
  /** When the store last confirmed that the run may start, ms of `LeaseClock`. */
  readonly confirmedAt: number
  /** The time from which the lease must be treated as lost, ms of `LeaseClock`. */
  readonly fenceAt: number
}

/** The time from which a lease requested at `sentAt` must be treated as lost: a tenth of the lease before its end. */
export const fenceAt = (sentAt: number, leaseMs: number): number => sentAt + leaseMs * 0.9
