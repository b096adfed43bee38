/**
 * Results: who waits for the end of a job is told, wherever it ends. The store is asked as soon as an event of this process
 * or a hint says that the job has ended, before anything can let its record go; and now and then for all that are awaited.
 */
import type { Timer } from '../core/clock.ts'
import type { JobchartError } from '../core/errors.ts'
import type { JobRecord } from '../core/record.ts'
import { isEnded } from '../core/lifecycle.ts'
import type { Logger } from '../core/logger.ts'
import type { Hint, Store } from '../store.ts'
import type { EventHub } from './event-hub.ts'
import type { CallDeadline } from './call-deadline.ts'
import type { Timers } from './timers.ts'

/** Jobs of one call. */
const askMax = 500
/** Across processes a hint may be missed: so many jobs at most are asked for, on average, in so much time. */
const pollMs = 1_000

/** Called once, with the ended job, or null if it is not there (any more). */
export type WhenEnded = (record: JobRecord | null) => void

interface Waiter {
  readonly ended: WhenEnded
  readonly closed: (reason: JobchartError) => void
}

export interface ResultsOptions {
  readonly store: Store
  readonly hub: EventHub
  readonly timers: Timers
  readonly logger: Logger
}

export class Results {
  private readonly waiting = new Map<string, Set<Waiter>>()
  /** Those of them that have ended, and are being asked for. */
  private readonly fetching = new Set<string>()
  private timer: Timer | null = null
  private timerAt = Infinity
  /** Why nobody will know any more, if so. */
  private closed: JobchartError | null = null
  private readonly options: ResultsOptions

  constructor(options: ResultsOptions) {
    this.options = options
  }

  /**
   * Calls `told` when the job has ended, also if it has already, or `closed` when nobody will know any more; until the
   * returned function is called.
   */
  whenEnded(id: string, told: WhenEnded, closed: Waiter['closed'] = () => {}): () => void {
    const waiter: Waiter = { ended: told, closed }
    const waiters = this.waiting.get(id) ?? new Set()
    waiters.add(waiter)
    if (waiters.size === 1) this.waiting.set(id, waiters)
    // An event of this process is the quickest word; the record follows from the store, which has it already.
    const off = this.options.hub.onJob(id, ({ to }) => {
      if (isEnded(to)) this.fetch([id])
    })
    void this.ask([id]).then(() => {
      // Who asks after the close, and finds no end, would wait for ever.
      if (this.closed !== null) this.refuse([id], this.closed)
    })
    this.pollLater()
    return () => {
      off()
      waiters.delete(waiter)
      if (waiters.size === 0 && this.waiting.get(id) === waiters) this.waiting.delete(id)
      if (this.waiting.size === 0) this.stopPolling()
    }
  }

  hint(hint: Hint): void {
    if (this.waiting.size === 0 || hint.kind !== 'ended') return
    if (hint.ids === undefined) this.askIn(0)
    else this.fetch(hint.ids)
  }

  /** Asks for jobs that have ended, once for each however many say so; in this very call, so that nothing prunes them first. */
  private fetch(ended: readonly string[]): void {
    const ids = ended.filter((id) => this.waiting.has(id) && !this.fetching.has(id))
    for (const id of ids) this.fetching.add(id)
    for (let i = 0; i < ids.length; i += askMax) {
      const some = ids.slice(i, i + askMax)
      void this.ask(some).then(() => {
        for (const id of some) this.fetching.delete(id)
      })
    }
  }

  /** Looks a last time, then tells those who still wait that it was the last. */
  async close(reason: JobchartError, leave: CallDeadline): Promise<void> {
    this.stopPolling()
    if (this.waiting.size > 0) await leave.wait(this.ask([...this.waiting.keys()]))
    this.stopPolling()
    this.closed = reason
    this.refuse([...this.waiting.keys()], reason)
  }

  private refuse(ids: readonly string[], reason: JobchartError): void {
    for (const id of ids) {
      const waiters = this.waiting.get(id) ?? []
      this.waiting.delete(id)
      for (const { closed } of waiters) closed(reason)
    }
  }

  private stopPolling(): void {
    this.timer?.cancel()
    this.timer = null
    this.timerAt = Infinity
  }

  private pollLater(): void {
    // Within one process every end is hinted at.
    if (this.options.store.capabilities.shared) this.askIn(pollMs * Math.ceil(this.waiting.size / askMax))
  }

  private askIn(delayMs: number): void {
    const at = this.options.timers.clock.monotonic() + delayMs
    if (at >= this.timerAt) return
    this.timer?.cancel()
    this.timerAt = at
    this.timer = this.options.timers.after(delayMs, () => {
      this.stopPolling()
      void this.ask([...this.waiting.keys()]).then(() => {
        if (this.waiting.size > 0) this.pollLater()
      })
    })
  }

  private async ask(ids: readonly string[]): Promise<void> {
    try {
      for (let i = 0; i < ids.length; i += askMax) {
        const some = ids.slice(i, i + askMax)
        const records = await this.options.store.get(some)
        some.forEach((id, at) => this.notify(id, records[at] ?? null))
      }
    } catch (error) {
      this.options.logger.warn('the store could not be asked for the ends of jobs; it is asked again', {
        error,
        jobs: ids.length,
      })
      this.askIn(pollMs)
    }
  }

  private notify(id: string, record: JobRecord | null): void {
    if (record !== null && !isEnded(record.state)) return
    const waiters = this.waiting.get(id)
    if (waiters === undefined) return
    this.waiting.delete(id)
    for (const { ended: told } of waiters) told(record)
  }
}
