/**
 * The calls for claims and ends of runs that the store has not answered. Runs of real work end one by one: while enough
 * calls are under way their ends wait, and go together, with the next claim, because a call costs more than what it does
 * for a job. A store that answers at once has no calls under way.
 */
import { BehaviorSubject } from 'rxjs'
import type { Answer } from '../store.ts'

export class StoreCalls {
  /** Do ends wait for an answer? */
  readonly areEnough = new BehaviorSubject(false)
  private readonly underWay = { claim: 0, ends: 0 }
  private readonly max: () => number

  /** @param max how many claims, and how many calls with ends, are worth while at once */
  constructor(max: () => number) {
    this.max = max
  }

  /** A call was sent. @returns its answer */
  sent<T>(kind: 'claim' | 'ends', answer: Answer<T>): Answer<T> {
    if (!(answer instanceof Promise)) return answer
    this.change(kind, 1)
    const over = (): void => this.change(kind, -1)
    answer.then(over, over)
    return answer
  }

  private change(kind: 'claim' | 'ends', by: number): void {
    this.underWay[kind] += by
    const { claim, ends } = this.underWay
    const areEnough = Math.max(claim, ends) >= this.max()
    if (areEnough !== this.areEnough.value) this.areEnough.next(areEnough)
  }
}
