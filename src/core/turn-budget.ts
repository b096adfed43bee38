/**
 * Limits how long one part of the process works within one turn of the event loop. Jobs that end, or inserts that are
 * answered, synchronously would otherwise follow each other endlessly, and timers, I/O and signals would wait. The
 * dispatcher of a worker and the inserter have a budget each, so that they share the turns.
 */
import type { Clock } from './clock.ts'

/** Time of a part per turn. */
const turnMs = 5

export class TurnBudget {
  /** When the part first worked in this turn, monotonic ms. */
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
