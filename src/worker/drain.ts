/**
 * Drains: waits until the work of the known types is done. The store is asked when something has ended, and now and then.
 *
 * Work is what is queued or runs. What waits for a later time (scheduled, the backoff of a retry) or for an event, and what is
 * queued in a paused queue, is not waited for: it may last for hours, or for ever. A drain may ask for retries.
 */
import type { Timer } from '../core/clock.ts'
import { AbortError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import type { Store } from '../store.ts'
import type { Timers } from '../client/timers.ts'

/** Other processes may end the last job, and no hint of it need come to this one. */
const pollMs = 200

/** What a drain waits for. */
export interface DrainScope {
  /** Retries as well, however long their backoff. Not those of paused queues. */
  readonly retries: boolean
}

export interface DrainWatcherOptions {
  readonly store: Store
  readonly types: ReadonlySet<string>
  readonly timers: Timers
  readonly logger: Logger
  /** Is something under way in this process that the store does not know of yet? */
  readonly busy: () => boolean
  /** Queues what is due: that is work, though no timer has fired for it yet. */
  readonly promote: () => Promise<void>
}

interface Waiter extends DrainScope {
  readonly drained: () => void
}

/** What is left, the most pressing of it. */
type Left = 'work' | 'retries' | 'nothing'

export class DrainWatcher {
  private readonly waiters = new Set<Waiter>()
  private timer: Timer | null = null
  private asking = false
  private askAgain = false
  private readonly options: DrainWatcherOptions

  constructor(options: DrainWatcherOptions) {
    this.options = options
  }

  /** Calls `drained` once, when all is done, unless the returned function is called before. */
  wait({ retries }: DrainScope, drained: () => void): () => void {
    const waiter: Waiter = { retries, drained }
    this.waiters.add(waiter)
    this.check()
    return () => {
      this.waiters.delete(waiter)
      this.stopPolling()
    }
  }

  /** Something has ended. Costs nothing while nobody waits. */
  check(): void {
    if (this.waiters.size === 0 || this.options.busy()) {
      this.poll()
      return
    }
    if (this.asking) {
      this.askAgain = true
      return
    }
    this.asking = true
    void this.ask()
  }

  private async ask(): Promise<void> {
    const { logger, promote, busy } = this.options
    try {
      do {
        this.askAgain = false
        await promote()
        const left = await this.left()
        if (!busy()) this.release(left)
      } while (this.askAgain && this.waiters.size > 0)
    } catch (error) {
      logger.warn('a drain could not count the jobs that are left; it asks again', { error })
    }
    this.asking = false
    this.poll()
  }

  private release(left: Left): void {
    if (left === 'work') return
    for (const waiter of this.waiters) {
      if (left === 'retries' && waiter.retries) continue
      this.waiters.delete(waiter)
      waiter.drained()
    }
  }

  private async left(): Promise<Left> {
    const { store, types } = this.options
    const counts = await store.counts()
    const known = Object.entries(counts.types).filter(([type]) => types.has(type))
    if (known.some(([, { running, cancelling }]) => running + cancelling > 0)) return 'work'
    let left: Left = 'nothing'
    for (const [type, { queued, retrying }] of known) {
      if (queued + retrying === 0 || (await store.queue(type)).paused) continue
      if (queued > 0) return 'work'
      left = 'retries'
    }
    return left
  }

  private poll(): void {
    if (this.waiters.size === 0) return this.stopPolling()
    this.timer ??= this.options.timers.after(pollMs, () => {
      this.timer = null
      this.check()
    })
  }

  private stopPolling(): void {
    if (this.waiters.size > 0) return
    this.timer?.cancel()
    this.timer = null
  }
}

export interface DrainWait extends DrainScope {
  readonly timers: Timers
  /** Calls back when the runtime has stopped. */
  readonly onEnd: (ended: () => void) => () => void
  readonly timeoutMs: number | null
  readonly signal: AbortSignal | undefined
}

/**
 * Resolves with true when all is done, with false after the timeout or when the runtime has stopped.
 * @throws AbortError if the signal aborts
 */
export function waitForDrain(watcher: DrainWatcher, options: DrainWait): Promise<boolean> {
  const { timers, onEnd, timeoutMs, signal } = options
  if (timers.closed) return Promise.resolve(false)
  return new Promise((resolve, reject) => {
    const done = (settle: () => void): void => {
      stopWaiting()
      offEnd()
      timer?.cancel()
      signal?.removeEventListener('abort', onAbort)
      settle()
    }
    const onAbort = (): void => done(() => reject(new AbortError('drain was aborted', signal?.reason)))
    signal?.addEventListener('abort', onAbort, { once: true })
    const timer = timeoutMs === null ? null : timers.after(timeoutMs, () => done(() => resolve(false)))
    const offEnd = onEnd(() => done(() => resolve(false)))
    const stopWaiting = watcher.wait(options, () => done(() => resolve(true)))
  })
}
