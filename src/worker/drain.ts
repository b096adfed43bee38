/**
 * Waits until no job of the known types is queued or running. The counts are read when a job has ended, and polled.
 *
 * Jobs that are scheduled, wait for a retry or an event, or are queued in a paused queue do not count: they may wait
 * for hours, or endlessly. With `retries`, jobs that wait for a retry count.
 */
import type { Timer } from '../core/clock.ts'
import { AbortError } from '../core/errors.ts'
import type { RepeatedCalls } from '../core/repeated-calls.ts'
import type { Store } from '../store.ts'
import type { Timers } from '../client/timers.ts'
import type { Swept } from './sweep.ts'

/** Another process may end the last job, and its hint may be missed. */
const pollMs = 200
const readFailed = 'a drain could not read the counts of jobs; the read is repeated'

/** What a drain waits for. */
export interface DrainScope {
  /** Wait for jobs to be retried, too, except in paused queues. */
  readonly retries: boolean
}

interface DrainWatcherOptions {
  readonly store: Store
  readonly types: ReadonlySet<string>
  readonly timers: Timers
  readonly repeated: RepeatedCalls
  /** Does this process have work that is not in the store yet? */
  readonly busy: () => boolean
  /** Queues jobs that are due: they count as work, though their timer may not have fired yet. */
  readonly promote: () => Promise<Swept>
}

interface Waiter extends DrainScope {
  readonly drained: () => void
}

/** `work` if there is any, else `retries` if there are any. */
type Remaining = 'work' | 'retries' | 'nothing'

export class DrainWatcher {
  private readonly waiters = new Set<Waiter>()
  private timer: Timer | null = null
  private checking = false
  private checkAgain = false
  private readonly options: DrainWatcherOptions

  constructor(options: DrainWatcherOptions) {
    this.options = options
  }

  /** Does anybody wait? */
  get isAwaited(): boolean {
    return this.waiters.size > 0
  }

  /** Calls `drained` once when the work is done, unless the returned function is called before. */
  wait({ retries }: DrainScope, drained: () => void): () => void {
    const waiter: Waiter = { retries, drained }
    this.waiters.add(waiter)
    this.check()
    return () => {
      this.waiters.delete(waiter)
      this.stopPolling()
    }
  }

  /** To be called when a job has ended. Cheap while no drain waits. */
  check(): void {
    if (this.waiters.size === 0 || this.options.busy()) {
      this.schedulePoll()
      return
    }
    if (this.checking) {
      this.checkAgain = true
      return
    }
    this.checking = true
    void this.checkStore()
  }

  private async checkStore(): Promise<void> {
    const { repeated, busy } = this.options
    try {
      do {
        this.checkAgain = false
        let left = await this.remaining()
        if (left === 'work') continue
        const due = await this.dueNow()
        if (due === 'queued') this.checkAgain = true
        if (due !== 'none') continue
        // Another process may have queued what was due.
        left = await this.remaining()
        // A run that has ended meanwhile may have left a retry that is due at once: then the counts are read again.
        if (!this.checkAgain && !busy()) this.release(left)
      } while (this.checkAgain && this.waiters.size > 0)
      repeated.succeeded(readFailed)
    } catch (error) {
      repeated.failed(readFailed, { error })
    }
    this.checking = false
    this.schedulePoll()
  }

  /**
   * Is a job due now? It counts as queued. Asked after the counts: a job that was due when they were read is due now,
   * or was queued since.
   */
  private async dueNow(): Promise<'queued' | 'soon' | 'none'> {
    const { count, nextAt, complete } = await this.options.promote()
    if (count > 0) return 'queued'
    // A due time is a whole number of ms: what is due at once is due at the end of this millisecond.
    return !complete || (nextAt !== null && nextAt <= Math.ceil(this.options.store.now())) ? 'soon' : 'none'
  }

  private release(left: Remaining): void {
    if (left === 'work') return
    for (const waiter of this.waiters) {
      if (left === 'retries' && waiter.retries) continue
      this.waiters.delete(waiter)
      waiter.drained()
    }
  }

  private async remaining(): Promise<Remaining> {
    const { store, types } = this.options
    const counts = await store.counts()
    const known = Object.entries(counts.types).filter(([type]) => types.has(type))
    if (known.some(([, { running, cancelling }]) => running + cancelling > 0)) return 'work'
    let left: Remaining = 'nothing'
    for (const [type, { queued, retrying }] of known) {
      if (queued + retrying === 0 || (await store.queue(type)).paused) continue
      if (queued > 0) return 'work'
      left = 'retries'
    }
    return left
  }

  private schedulePoll(): void {
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
    this.options.repeated.givenUp(readFailed)
  }
}

interface DrainWait {
  /** Resolves when the store is open. */
  readonly ready: Promise<void>
  /** Begins the wait for the end of the work. @returns a function that ends it earlier */
  readonly wait: (drained: () => void) => () => void
  readonly timers: Timers
  /** Calls back when the runtime has stopped. */
  readonly onEnd: (ended: () => void) => () => void
  readonly timeoutMs: number | null
  readonly signal: AbortSignal | undefined
}

/**
 * Resolves with true when the work is done, with false after the timeout or when the runtime has stopped. Both limits
 * hold from the call on, also while the store is still opening.
 * @throws AbortError if the signal aborts; what `ready` rejects with
 */
export function waitForDrain({ ready, wait, timers, onEnd, timeoutMs, signal }: DrainWait): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const offs: (() => void)[] = []
    let isOver = false
    const done = (settle: () => void): void => {
      isOver = true
      for (const off of offs) off()
      settle()
    }
    const onAbort = (): void => done(() => reject(new AbortError('drain was aborted', signal?.reason)))
    signal?.addEventListener('abort', onAbort, { once: true })
    const timer = timeoutMs === null ? null : timers.after(timeoutMs, () => done(() => resolve(false)))
    offs.push(
      () => timer?.cancel(),
      () => signal?.removeEventListener('abort', onAbort),
      onEnd(() => done(() => resolve(false))),
    )
    const drained = (): void => done(() => resolve(true))
    const failed = (error: unknown): void => done(() => reject(error))
    ready.then(() => {
      if (!isOver) offs.push(wait(drained))
    }, failed)
  })
}
