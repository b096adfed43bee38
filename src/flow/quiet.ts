/** Quiet: waits until all work of the known types is done. Asked when something has ended, and now and then. */
import type { Timer } from '../clock.ts'
import type { Logger } from '../log.ts'
import type { Store } from '../store.ts'
import type { Timers } from './timers.ts'

/** Other processes may end the last job without a word to this one. */
const pollMs = 200

/** What a drain waits for. Jobs that wait for a time or an event are not in its way; a retry that is due soon is. */
const busyStates = ['queued', 'running', 'cancelling', 'retrying'] as const

export interface QuietOptions {
  readonly store: Store
  readonly types: ReadonlySet<string>
  readonly timers: Timers
  readonly logger: Logger
  /** Is something under way in this process that the store does not know of yet? */
  readonly busy: () => boolean
}

export class Quiet {
  private readonly waiters = new Set<() => void>()
  private timer: Timer | null = null
  private asking = false
  private askAgain = false
  private readonly options: QuietOptions

  constructor(options: QuietOptions) {
    this.options = options
  }

  /** Calls `quiet` once, when all is done, unless the returned function is called before. */
  wait(quiet: () => void): () => void {
    this.waiters.add(quiet)
    this.check()
    return () => {
      this.waiters.delete(quiet)
      this.rest()
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
    const { store, types, logger } = this.options
    try {
      do {
        this.askAgain = false
        const counts = await store.counts()
        const busy = Object.entries(counts.types).some(
          ([type, each]) => types.has(type) && busyStates.some((state) => each[state] > 0),
        )
        if (!busy && !this.options.busy()) {
          for (const quiet of [...this.waiters]) quiet()
          this.waiters.clear()
        }
      } while (this.askAgain && this.waiters.size > 0)
    } catch (error) {
      logger.warn('could not ask whether all is done; asking again', { error })
    }
    this.asking = false
    this.poll()
  }

  private poll(): void {
    if (this.waiters.size === 0) return this.rest()
    this.timer ??= this.options.timers.after(pollMs, () => {
      this.timer = null
      this.check()
    })
  }

  private rest(): void {
    if (this.waiters.size > 0) return
    this.timer?.cancel()
    this.timer = null
  }
}
