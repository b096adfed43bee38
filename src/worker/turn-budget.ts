/**
 * Limits how long the dispatcher runs within one turn of the event loop. Jobs that end synchronously would otherwise follow
 * each other endlessly, and timers, I/O and signals would wait.
 */
import type { Clock } from '../core/clock.ts'

/** Time of the dispatcher per turn. */
const turnMs = 5

export class TurnBudget {
  /** When the dispatcher first ran in this turn, monotonic ms. */
  private since: number | null = null
  private readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Is the time of this turn used up? */
  get spent(): boolean {
    if (this.since === null) {
      this.since = this.clock.monotonic()
      this.clock.nextTurn(() => (this.since = null))
      return false
    }
    return this.clock.monotonic() - this.since >= turnMs
  }

  nextTurn(run: () => void): void {
    this.clock.nextTurn(run)
  }
}
