/**
 * Virtual time: a clock that advances only when told to. It drives a whole runtime (delays, backoff, timeouts, leases,
 * grace) one timer at a time, in order, and awaits all consequences of a timer before the next one. So an hour passes
 * in milliseconds, and a test repeats exactly.
 */
import { byDefault, is, table, type RulesOf } from '../core/checks.ts'
import { nextTurn, timerMsMax, type Clock, type Timer, type TimerOptions } from '../core/clock.ts'
import { Heap, type HeapItem } from '../core/heap.ts'
import { durationMs, type Duration } from '../core/duration.ts'
import { timeMsMax } from '../core/limits.ts'

interface Due extends HeapItem {
  readonly at: number
  readonly order: number
  readonly run: () => void
  readonly keepAlive: boolean
}

export interface VirtualClockOptions {
  /** The initial wall time, ms since the epoch. Default 2026-01-01T00:00:00Z. */
  readonly start?: number
}

const clockOptions = table({
  start: byDefault(
    Date.UTC(2026, 0, 1),
    is('ms since the epoch', (value): value is number => typeof value === 'number' && Math.abs(value) <= timeMsMax),
  ),
} satisfies RulesOf<VirtualClockOptions>)

export class VirtualClock implements Clock {
  readonly isVirtual = true
  private readonly due = new Heap<Due>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order))
  private passedMs = 0
  private wallOffset: number
  private orders = 0
  private awake = 0
  /** Calls under way that decide which time passes. */
  private callers = 0
  private readonly others = new Set<() => Promise<void>>()
  /** What stores do outside of the process. */
  private readonly works = new Set<Promise<unknown>>()
  /** What runs in the next turn of the event loop. */
  private turns = 0

  /** @throws JobchartError INVALID_OPTION */
  constructor(options: VirtualClockOptions = {}) {
    this.wallOffset = clockOptions(options, 'options of VirtualClock').start
  }

  now(): number {
    return this.wallOffset + this.passedMs
  }

  monotonic(): number {
    return this.passedMs
  }

  /** Number of set timers. */
  get pending(): number {
    return this.due.size
  }

  /** @throws RangeError for a delay that exceeds the maximum of platform timers, which would fire at once */
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
    this.turns++
    nextTurn(() => {
      this.turns--
      run()
    })
  }

  /** Awaits all pending work; no time passes. */
  settle(): Promise<void> {
    return this.called(() => this.rest())
  }

  /** From now on `settle` and `advance` await this, too, before time passes. @returns to be called to end that */
  alsoSettle(other: () => Promise<void>): () => void {
    this.others.add(other)
    return () => void this.others.delete(other)
  }

  during(work: Promise<unknown>): void {
    const ended = (): void => void this.works.delete(work)
    this.works.add(work)
    work.then(ended, ended)
  }

  /**
   * Advances the time, firing timers in order.
   * @example await clock.advance('1h')
   */
  advance(duration: Duration): Promise<void> {
    const until = this.passedMs + durationMs(duration, 'advance')
    return this.called(async () => {
      await this.rest()
      for (let next = this.due.peek(); next !== undefined && next.at <= until; next = this.due.peek()) {
        await this.fire(next)
      }
      this.passedMs = until
    })
  }

  /**
   * Advances the time until only housekeeping timers (heartbeats, retention) are set.
   * @param limit limit of fired timers. Default 100,000.
   * @throws RangeError if there are more
   */
  runAll(limit = 100_000): Promise<void> {
    return this.called(async () => {
      await this.rest()
      for (let fired = 0; this.awake > 0; fired++) {
        const next = this.due.peek()
        if (next === undefined) return
        if (fired === limit) throw new RangeError(`timers are still set after ${limit} have fired`)
        await this.fire(next)
      }
    })
  }

  /**
   * Lets time pass by `ms` at most, while `isNeeded` and nobody advances it. A stop with the mode `abort` calls it, for
   * handlers that have not ended.
   */
  pass(ms: number, isNeeded: () => boolean): void {
    void this.passBy(this.passedMs + ms, isNeeded)
  }

  private async passBy(until: number, isNeeded: () => boolean): Promise<void> {
    await this.rest()
    while (isNeeded()) {
      const next = this.due.peek()
      if (this.callers > 0) await macrotask()
      else if (next === undefined || next.at > until) return
      else await this.fire(next)
    }
  }

  private async called(call: () => Promise<void>): Promise<void> {
    this.callers++
    try {
      await call()
    } finally {
      this.callers--
    }
  }

  /** Waits until nothing is under way: what has ended may have begun something else. */
  private async rest(): Promise<void> {
    do {
      await Promise.allSettled(this.works)
      await macrotask()
      for (const other of this.others) {
        await other()
        await macrotask()
      }
    } while (this.works.size > 0 || this.turns > 0)
  }

  /**
   * Resolves after `duration` of virtual time; for handlers under test. Rejects with the signal's reason if it aborts.
   */
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

  /**
   * Sets the wall clock forward or, with a negative number, back, as an operator or NTP would. Timers are not affected.
   */
  jump(ms: number): void {
    this.wallOffset += ms
  }

  /**
   * Advances both clocks like a handler that blocks the event loop: no timer fires. Timers that have become due fire in
   * order with the next advance.
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
    await this.rest()
  }
}

/** Runs after all promise reactions, nested ones included. */
const macrotask = (): Promise<void> => new Promise(nextTurn)
