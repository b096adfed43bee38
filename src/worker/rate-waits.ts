/**
 * Wakes queues that have reached their rate limit, when its window has passed. Until then no claim of them finds a job:
 * with thousands of such queues, claims of them would be in the way of those that have work.
 */
import type { Observer } from 'rxjs'
import type { Timer } from '../core/clock.ts'
import type { JobDefinition } from '../core/definition.ts'
import type { Store } from '../store.ts'
import type { Timers } from '../client/timers.ts'
import type { WakeCommand } from './commands.ts'

interface RateWaitsOptions {
  readonly store: Store
  readonly jobs: ReadonlyMap<string, JobDefinition>
  readonly timers: Timers
  readonly wakes: Pick<Observer<WakeCommand>, 'next'>
}

export class RateWaits {
  private readonly waits = new Map<string, { readonly at: number; readonly timer: Timer }>()
  private readonly options: RateWaitsOptions

  constructor(options: RateWaitsOptions) {
    this.options = options
  }

  /** Is it certain that no job of the queue may start now? With concurrency keys, another key may be free. */
  isWaiting(type: string): boolean {
    const { jobs, store } = this.options
    const wait = this.waits.get(type)
    return wait !== undefined && store.now() < wait.at && jobs.get(type)?.keyOf === null
  }

  /** Wakes the queue at `at`, by the store's clock. At most one timer per type. */
  wakeAt(type: string, at: number): void {
    const { timers, store, wakes, jobs } = this.options
    const earlier = this.waits.get(type)
    if (earlier !== undefined && earlier.at <= at) return
    earlier?.timer.cancel()
    // At most one window from now: a clock may have been set.
    const { rate, keyRate } = jobs.get(type)?.limits ?? {}
    const windowMs = Math.max(rate?.perMs ?? 0, keyRate?.perMs ?? 0)
    const timer = timers.after(Math.min(at - store.now(), windowMs), () => {
      this.waits.delete(type)
      wakes.next({ type, atMost: Infinity })
    })
    this.waits.set(type, { at, timer })
  }
}
