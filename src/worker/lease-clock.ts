/**
 * The clock by which a process judges its own leases. Monotonic time stands still while a machine sleeps, and wall time may
 * be set back; a lease that may have run out must be taken as lost. So of the two the larger total since an anchor counts.
 *
 * Totals are compared, not the steps between two readings: a wall clock of whole milliseconds makes its steps at other
 * moments than the monotonic one, and the larger of each pair of steps would add up to almost twice the time.
 */
import type { Clock } from '../core/clock.ts'

/**
 * When the two totals differ by more than this, a clock was set or the machine has slept, and the comparison begins anew:
 * otherwise a wall clock that was set back would hide a sleep that follows. It is more than clocks differ by their
 * resolution, and half of the margin by which a run on the shortest lease (1 s) is fenced early.
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

  /** ms since this object was made; never less than before. */
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

/** From when on a lease asked for at `sentAt` must be taken as lost: a tenth of it early. */
export const fenceAt = (sentAt: number, leaseMs: number): number => sentAt + leaseMs * 0.9
