/** What transactions of the store have carried out, until it is asked for. */
import type { WrittenTransition } from '../../store.ts'

interface Calls {
  readonly count: number
  readonly transitions: readonly WrittenTransition[]
}

const none: Calls = { count: 0, transitions: [] }

/** In a process that never asks, the first ones are forgotten. */
const transitionsMax = 10_000

export class CarriedOut {
  private committed = none
  private present = none
  private isTaken = false

  /** Begins a transaction; what the last one has added is forgotten if it has not committed. */
  begin(): void {
    this.present = none
    this.isTaken = false
  }

  add(calls: Calls): void {
    this.present = calls
  }

  take(): Calls {
    this.isTaken = true
    return joined(this.committed, this.present)
  }

  commit(): void {
    if (this.isTaken) this.committed = none
    else if (this.present !== none) this.committed = joined(this.committed, this.present)
    this.begin()
  }
}

const joined = (first: Calls, second: Calls): Calls => ({
  count: first.count + second.count,
  transitions: [...first.transitions, ...second.transitions].slice(-transitionsMax),
})
