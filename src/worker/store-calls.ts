/**
 * The calls for claims and ends of runs that the store has not answered. Runs of real work end one by one: while enough
 * calls are under way their ends wait, and go together, with the next claim, because a call costs more than what it
 * does for a job. A store that answers at once has no calls under way.
 */
import { BehaviorSubject } from 'rxjs'
import type { Timer } from '../core/clock.ts'
import type { Answer } from '../store.ts'
import type { Timers } from '../client/timers.ts'

/** So long ends wait at most, ms: a call may hang. */
const waitMsMax = 1_000

interface StoreCallsOptions {
  /** How many claims, and how many calls with ends, are worth while at once. */
  readonly max: () => number
  readonly timers: Pick<Timers, 'after'>
}

export class StoreCalls {
  /** Do ends wait for an answer? */
  readonly areEnough = new BehaviorSubject(false)
  private readonly underWay = { claim: 0, ends: 0 }
  private waitLimit: Timer | null = null
  private readonly options: StoreCallsOptions

  constructor(options: StoreCallsOptions) {
    this.options = options
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
    this.hold(Math.max(claim, ends) >= this.options.max())
  }

  private hold(areEnough: boolean): void {
    if (areEnough === this.areEnough.value) return
    this.waitLimit?.cancel()
    this.waitLimit = areEnough ? this.options.timers.after(waitMsMax, () => this.hold(false), false) : null
    this.areEnough.next(areEnough)
  }
}
