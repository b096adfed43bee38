/**
 * The clock by which a process judges its own leases: the larger of monotonic time and boot time. Monotonic time stops
 * while the machine is suspended; boot time goes on. The wall clock is not asked how much time has passed, because it
 * may be set: a jump of it aborts nothing.
 *
 * Boot time comes in steps of up to a second, at other moments than monotonic time. So the difference of the two is
 * known to within a step. A difference that grows by more is a suspension. One that grows by less may be none, or a
 * short one: then the wall clock, which is exact, says how long it may have been, and that is counted.
 */
import type { Clock } from '../core/clock.ts'

/** Platforms tell boot time in whole seconds, or in steps of up to 16 ms. */
const steps = { whole: 1_000, fine: 16 } as const
/**
 * A shorter suspension needs no notice: it is half of the margin by which a run on the shortest lease (1 s) is fenced
 * early.
 */
const differenceMs = 50
/**
 * Boot time is asked so often, monotonic ms, and when the wall clock says something else than monotonic time: asking
 * costs some µs.
 */
const askEveryMs = 500

export class LeaseClock {
  private readonly clock: Clock
  private readonly startedAt: number
  /** How far boot time was ahead of monotonic time at most, but for the suspensions that are counted, ms. */
  private bootAheadMs: number
  private stepMs: number = steps.whole
  /** How far the wall clock was ahead of monotonic time when boot time was asked last, ms. */
  private wallAheadMs: number
  private askedAt: number
  private suspendedMs = 0
  private lastMs = 0

  constructor(clock: Clock) {
    this.clock = clock
    const monotonic = clock.monotonic()
    this.startedAt = this.askedAt = monotonic
    this.wallAheadMs = clock.now() - monotonic
    this.bootAheadMs = this.boot(monotonic) - monotonic
  }

  /** ms since this object was made; never decreases. */
  read(): number {
    const monotonic = this.clock.monotonic()
    const wallAheadMs = this.clock.now() - monotonic
    const isSet = Math.abs(wallAheadMs - this.wallAheadMs) > differenceMs
    if (isSet || monotonic - this.askedAt >= askEveryMs) this.ask(monotonic, wallAheadMs)
    this.lastMs = Math.max(this.lastMs, monotonic - this.startedAt + this.suspendedMs)
    return this.lastMs
  }

  private ask(monotonic: number, wallAheadMs: number): void {
    const grownMs = this.boot(monotonic) - monotonic - this.bootAheadMs
    const byWallMs = wallAheadMs - this.wallAheadMs
    this.askedAt = monotonic
    this.wallAheadMs = wallAheadMs
    if (this.clock.boot === undefined) return
    // The longest that fits: to within a step, boot time may have been behind before, and ahead now.
    if (grownMs > this.stepMs) this.suspendedMs += grownMs + this.stepMs
    else if (byWallMs > differenceMs) this.suspendedMs += Math.min(byWallMs, this.stepMs)
    if (grownMs > 0) this.bootAheadMs += grownMs
  }

  private boot(monotonic: number): number {
    const boot = this.clock.boot?.() ?? monotonic
    if (boot % 1_000 !== 0) this.stepMs = steps.fine
    return boot
  }
}

/**
 * What the store has said of a lease. Jobs of one claim share the object: a time in each run would be an object of its
 * own in V8.
 */
export interface ConfirmedLease {
  /** When the store last confirmed that the run may start, ms of `LeaseClock`. */
  readonly confirmedAt: number
  /** The time from which the lease must be treated as lost, ms of `LeaseClock`. */
  readonly fenceAt: number
}

/** The time from which a lease requested at `sentAt` must be treated as lost: a tenth of the lease before its end. */
export const fenceAt = (sentAt: number, leaseMs: number): number => sentAt + leaseMs * 0.9
