/**
 * Pace: jobs that end at once would follow each other within one turn of the event loop for ever, and timers, I/O and
 * signals would wait. After a while the dispatcher lets the loop turn.
 */
import type { Clock } from '../core/clock.ts'

/** How long one turn may take, as far as it is the dispatcher's. */
const turnMs = 5

export class TurnBudget {
  /** When the dispatcher first ran in this turn, monotonic ms. */
  private since: number | null = null
  private readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Has this turn taken long enough? */
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
