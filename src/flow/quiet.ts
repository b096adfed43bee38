/** Quiet: waits until all work of the known types is done. Asked when something has ended, and now and then. */
import type { Timer } from '../clock.ts'
import { AbortError } from '../errors.ts'
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
          for (const quiet of this.waiters) quiet()
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

export interface QuietWait {
  readonly timers: Timers
  /** Calls back when the runtime has stopped. */
  readonly onEnd: (ended: () => void) => () => void
  readonly timeoutMs: number | null
  readonly signal: AbortSignal | undefined
}

/**
 * Resolves with true when all is quiet, with false after the timeout or when the runtime has stopped.
 * @throws AbortError if the signal aborts
 */
export function waitForQuiet(quiet: Quiet, { timers, onEnd, timeoutMs, signal }: QuietWait): Promise<boolean> {
  if (timers.closed) return Promise.resolve(false)
  return new Promise((resolve, reject) => {
    const done = (settle: () => void): void => {
      offQuiet()
      offEnd()
      timer?.cancel()
      signal?.removeEventListener('abort', onAbort)
      settle()
    }
    const onAbort = (): void => done(() => reject(new AbortError('drain was aborted', signal?.reason)))
    signal?.addEventListener('abort', onAbort, { once: true })
    const timer = timeoutMs === null ? null : timers.after(timeoutMs, () => done(() => resolve(false)))
    const offEnd = onEnd(() => done(() => resolve(false)))
    const offQuiet = quiet.wait(() => done(() => resolve(true)))
  })
}
