import type { Clock } from '../../core/clock.ts'

/** What several open together: connected by the first, and closed by the last. */
export class Openings<T> {
  private readonly connect: (clock: Clock, signal: AbortSignal) => Promise<T>
  private count = 0
  private opening: Promise<T> | null = null
  private giveUp = new AbortController()

  /** @param connect gives up when the signal aborts */
  constructor(connect: (clock: Clock, signal: AbortSignal) => Promise<T>) {
    this.connect = connect
  }

  /** @param signal aborts when this caller does not need it any more: the attempt is given up if no other does */
  async open(clock: Clock, signal: AbortSignal | undefined): Promise<T> {
    this.count++
    this.opening ??= this.connect(clock, (this.giveUp = new AbortController()).signal)
    const aborted = (): void => {
      if (this.count === 1) this.giveUp.abort()
    }
    signal?.addEventListener('abort', aborted, { once: true })
    try {
      return await this.opening
    } catch (error) {
      if (--this.count === 0) this.opening = null
      throw error
    } finally {
      signal?.removeEventListener('abort', aborted)
    }
  }

  /** @returns was this the last one? */
  close(): boolean {
    return this.count > 0 && --this.count === 0
  }

  /** The next one connects again. */
  forget(): void {
    this.opening = null
  }
}
