/**
 * How much time has passed for this process, taken as pessimistically as it must be where leases are concerned: between
 * two readings the larger of monotonic and wall time counts. Monotonic time stands still while a machine sleeps, wall time
 * may be set back; a lease that may have run out must be taken as lost.
 */
import type { Clock } from '../clock.ts'

export class OwnTime {
  private readonly clock: Clock
  private monotonic: number
  private wall: number
  private passedMs = 0

  constructor(clock: Clock) {
    this.clock = clock
    this.monotonic = clock.monotonic()
    this.wall = clock.now()
  }

  /** ms since this object was made; never less than before. */
  read(): number {
    const monotonic = this.clock.monotonic()
    const wall = this.clock.now()
    this.passedMs += Math.max(0, monotonic - this.monotonic, wall - this.wall)
    this.monotonic = monotonic
    this.wall = wall
    return this.passedMs
  }
}

/** From when on a lease asked for at `sentAt` must be taken as lost: a tenth of it early. */
export const fenceAt = (sentAt: number, leaseMs: number): number => sentAt + leaseMs * 0.9
