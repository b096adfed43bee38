/**
 * Decides when to poll for writes of other processes: at short intervals while jobs change state, at longer ones when
 * idle. Where the system reports writes to the write-ahead log (`fs.watch`), an idle process waits for the report; it
 * still polls every quarter of a second, because reports may be missed.
 */
import { watch, type FSWatcher } from 'node:fs'
import type { Clock, Timer } from '../../core/clock.ts'

/** The result of a poll: no write · another process has written · it has written something that gives hints. */
export type LookResult = 'unchanged' | 'changed' | 'news'

/**
 * The interval of polls is a hundredth of the time since the last write of another process, within these limits, ms.
 */
const everyMs = { min: 1, max: 16, maxWatched: 250 }
const quietPart = 100

/**
 * How long the commit of a reported write is polled for at the shortest interval, ms: it is visible when it is synced.
 */
const commitMs = 50

interface ChangePollerOptions {
  readonly clock: Clock
  /** The file that grows with every commit. */
  readonly log: string
  readonly look: () => LookResult
}

export class ChangePoller {
  private readonly options: ChangePollerOptions
  private on = false
  private timer: Timer | null = null
  /** The delay of the timer, ms. */
  private delayMs = 0
  private newsAt = 0
  /** When a write was reported whose commit has not been seen yet. */
  private writtenAt: number | null = null
  private watcher: FSWatcher | null = null
  /** When a transaction of this process has seen what others had written, monotonic ms. */
  private lookedAt = -Infinity

  constructor(options: ChangePollerOptions) {
    this.options = options
  }

  set(on: boolean): void {
    if (on === this.on) return
    this.on = on
    this.stopWatching()
    this.timer?.cancel()
    this.timer = null
    this.writtenAt = null
    if (!on) return
    this.newsAt = this.options.clock.monotonic()
    this.arm()
  }

  /** Jobs have changed state here: writes of other processes are likely to follow. */
  soon(): void {
    this.newsAt = this.options.clock.monotonic()
    this.stopWatching()
    if (this.on && this.delayMs > everyMs.min) this.arm()
  }

  /** A transaction has seen what other processes had written: it was as good as a poll. */
  looked(): void {
    this.lookedAt = this.options.clock.monotonic()
  }

  private arm(): void {
    const { clock } = this.options
    this.timer?.cancel()
    this.delayMs = this.nextDelayMs(clock.monotonic())
    this.timer = clock.timer(() => this.timeOut(), this.delayMs, { keepAlive: false })
  }

  private timeOut(): void {
    if (this.options.clock.monotonic() - this.lookedAt < everyMs.min) this.arm()
    else this.poll()
  }

  private nextDelayMs(now: number): number {
    if (this.writtenAt !== null && now - this.writtenAt < commitMs) return everyMs.min
    this.writtenAt = null
    const wantedMs = Math.max((now - this.newsAt) / quietPart, everyMs.min)
    if (wantedMs < everyMs.max) return wantedMs
    if (this.watcher !== null) return Math.min(wantedMs, everyMs.maxWatched)
    // Writes before the watch began are found by an early poll.
    this.startWatching()
    return everyMs.max
  }

  private poll(): void {
    try {
      const look = this.options.look()
      if (look !== 'unchanged') this.writtenAt = null
      if (look === 'news') this.soon()
    } finally {
      if (this.on) this.arm()
    }
  }

  private startWatching(): void {
    try {
      const watcher = watch(this.options.log, { persistent: false })
      watcher.on('change', (event) => this.written(event))
      watcher.on('error', () => this.stopWatching())
      this.watcher = watcher
    } catch {
      // There is no log yet, or no watch is available: polls and attempts to watch continue at the shorter interval.
    }
  }

  private stopWatching(): void {
    this.watcher?.close()
    this.watcher = null
  }

  private written(event: string): void {
    // The file is no longer at this path, so its writes are of no interest.
    if (event === 'rename') this.stopWatching()
    if (this.writtenAt !== null) return
    this.writtenAt = this.options.clock.monotonic()
    this.poll()
  }
}
