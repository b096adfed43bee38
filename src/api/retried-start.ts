/** A start that is repeated while the store does not answer. */
import type { Timer } from '../core/clock.ts'
import { JobchartError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import type { Timers } from '../client/timers.ts'

/** Delays between two tries, ms: doubled each time, from the first to the longest. */
const delayMs = { first: 100, max: 5_000 }

interface RetriedStartOptions {
  readonly timers: Timers
  readonly logger: Logger
  /** Called with the error of each try that failed, and with undefined when a later one has succeeded. */
  readonly storeError: (error: unknown) => void
}

/** What the system says of a folder that is missing or belongs to somebody else, and a server of who may not use it. */
const lastingCodes = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EROFS'])
const lastingAnswers = /^(WRONGPASS|NOAUTH|NOPERM)\b/

/** Does the error say that it stays until a person changes something? */
function isLasting(error: unknown): boolean {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; each = each.cause, depth++) {
    // The same of a connection: the socket of a server that has not started yet, or a network that is not up.
    const isOfConnection = 'syscall' in each && each.syscall === 'connect'
    if (!isOfConnection && 'code' in each && lastingCodes.has(String(each.code))) return true
    if (lastingAnswers.test(each.message)) return true
  }
  return false
}

export class RetriedStart {
  private readonly options: RetriedStartOptions
  private pause: { readonly timer: Timer; readonly end: () => void } | null = null
  private isCancelled = false

  constructor(options: RetriedStartOptions) {
    this.options = options
  }

  /**
   * @param retry is it repeated at all?
   * @throws what `open` throws, but for STORE_UNAVAILABLE while it is repeated; after `cancel`, and where no wait mends
   * it, that, too
   */
  async run(open: () => Promise<void>, retry: boolean): Promise<void> {
    const { logger, storeError } = this.options
    for (let tries = 0; ; tries++) {
      try {
        await open()
        if (tries > 0) storeError(undefined)
        return
      } catch (error) {
        const isAway = error instanceof JobchartError && error.code === 'STORE_UNAVAILABLE'
        if (!retry || !isAway || isLasting(error) || this.isCancelled) throw error
        if (tries === 0) logger.warn('the store does not answer; the start is repeated until it does', { error })
        storeError(error)
        await this.wait(Math.min(delayMs.first * 2 ** Math.min(tries, 20), delayMs.max))
        if (this.isCancelled) throw error
      }
    }
  }

  /** No further try: a pause between two of them ends at once. */
  cancel(): void {
    this.isCancelled = true
    this.pause?.timer.cancel()
    this.pause?.end()
  }

  private async wait(ms: number): Promise<void> {
    await new Promise<void>((end) => {
      this.pause = { timer: this.options.timers.after(ms, end), end }
    })
    this.pause = null
  }
}
