/**
 * Virtual time: a clock that stands still until it is told to go on. It drives a whole runtime (delays, backoff, timeouts,
 * leases, grace) one timer at a time, in order, and lets everything that a timer set off come to rest before the next one,
 * so that an hour passes in milliseconds and twice in the same way.
 */
import { timerMsMax, type Clock, type Timer, type TimerOptions } from '../core/clock.ts'
import { Heap, type HeapItem } from '../core/heap.ts'
import { durationMs, type Duration } from '../core/duration.ts'

interface Due extends HeapItem {
  readonly at: number
  readonly order: number
  readonly run: () => void
  readonly keepAlive: boolean
}

export interface VirtualClockOptions {
  /** The wall time at which it starts, ms since the epoch. Default 2026-01-01T00:00:00Z. */
  readonly start?: number
}

export class VirtualClock implements Clock {
  private readonly due = new Heap<Due>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order))
  private passedMs = 0
  private wallOffset: number
  private orders = 0
  private awake = 0

  constructor({ start = Date.UTC(2026, 0, 1) }: VirtualClockOptions = {}) {
    this.wallOffset = start
  }

  now(): number {
    return this.wallOffset + this.passedMs
  }

  monotonic(): number {
    return this.passedMs
  }

  /** Timers that are set. */
  get pending(): number {
    return this.due.size
  }

  /** @throws RangeError for a delay that a platform timer would not take: the platform fires it at once */
  timer(run: () => void, delayMs: number, options: TimerOptions): Timer {
    if (!(delayMs <= timerMsMax)) throw new RangeError(`a timer takes 0 to ${timerMsMax} ms, not ${delayMs}`)
    return this.set(run, delayMs, options)
  }

  private set(run: () => void, delayMs: number, { keepAlive }: TimerOptions): Timer {
    const due: Due = { heapIndex: -1, at: this.passedMs + Math.max(0, delayMs), order: this.orders++, run, keepAlive }
    this.due.push(due)
    if (keepAlive) this.awake++
    return {
      cancel: () => {
        if (due.heapIndex < 0) return
        this.due.remove(due)
        if (keepAlive) this.awake--
      },
    }
  }

  nextTurn(run: () => void): void {
    setImmediate(run)
  }

  /** Lets everything that is under way come to rest; no time passes. */
  async settle(): Promise<void> {
    // A macrotask comes after all promise reactions, and after the reactions to those.
    await new Promise((resolve) => setImmediate(resolve))
  }

  /**
   * Lets time pass.
   * @example await clock.advance('1h')
   */
  async advance(duration: Duration): Promise<void> {
    const until = this.passedMs + durationMs(duration, 'advance')
    await this.settle()
    for (let next = this.due.peek(); next !== undefined && next.at <= until; next = this.due.peek()) {
      await this.fire(next)
    }
    this.passedMs = until
  }

  /**
   * Lets time pass until no timer is set but those that only look after things (heartbeats, retention).
   * @param limit timers at most. Default 100,000.
   * @throws RangeError if there are more
   */
  async runAll(limit = 100_000): Promise<void> {
    await this.settle()
    for (let fired = 0; this.awake > 0; fired++) {
      const next = this.due.peek()
      if (next === undefined) return
      if (fired === limit) throw new RangeError(`timers are still set after ${limit} have fired`)
      await this.fire(next)
    }
  }

  /** Resolves after `duration` of virtual time; for handlers under test. Rejects with the signal's reason if it aborts. */
  sleep(duration: Duration, signal?: AbortSignal): Promise<void> {
    const delayMs = durationMs(duration, 'sleep')
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      const onAbort = (): void => {
        timer.cancel()
        reject(signal?.reason as Error)
      }
      const timer = this.set(
        () => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        },
        delayMs,
        { keepAlive: true },
      )
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  /** Sets the wall clock forward or, with a negative number, back, as an operator or NTP would; no timer notices. */
  jump(ms: number): void {
    this.wallOffset += ms
  }

  /**
   * Lets time pass as a handler does that blocks the event loop: on both clocks, and no timer fires. Those that have become
   * due fire in their order when time is let pass again.
   * @example run: () => clock.block('2m')
   */
  block(duration: Duration): void {
    this.passedMs += durationMs(duration, 'block')
  }

  private async fire(next: Due): Promise<void> {
    this.due.remove(next)
    if (next.keepAlive) this.awake--
    this.passedMs = Math.max(this.passedMs, next.at)
    next.run()
    await this.settle()
  }
}
