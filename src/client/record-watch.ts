/**
 * Reads watched jobs whenever they may have changed. An event of this process, or a hint with the job's id, causes a
 * read of that job alone; a poll reads a part of all jobs in one call. So the cost per job does not grow with the
 * number of watched jobs.
 */
import type { Timer } from '../core/clock.ts'
import type { JobRecord } from '../core/record.ts'
import type { Hint, Store } from '../store.ts'
import type { EventHub } from './event-hub.ts'
import type { Timers } from './timers.ts'

/** Polling interval: hints of other processes may be missed. */
const pollMs = 250
/**
 * The same where jobs are shown as they change, of a store that other processes write to and that cannot announce their
 * writes; ten times as long as the last read took, if that is more: then reading takes a tenth of the time at most.
 */
const shownPollMs = 25
const readPart = 10
/** Writes of a shown job are announced for so long, and again after a part of that. */
const announcedMs = 60_000
const announceEveryMs = 20_000
/** Minimum time between the last read and a read caused by a hint without ids. */
const hintedMs = 25
/** Jobs per call of the store, and per poll. */
const readMax = 500
/**
 * Jobs of a read that a hint without ids has caused: such hints come with every wake of any job, and most concern other
 * jobs.
 */
const hintedMax = 50

/** Gets the current record, null if the job is not in the store, or the error of the read. */
interface RecordWatcher {
  readonly record: (record: JobRecord | null) => void
  readonly failed: (error: unknown) => void
}

interface RecordWatchOptions {
  readonly store: Store
  readonly hub: EventHub
  readonly timers: Timers
  readonly ready: () => Promise<void>
  /** Are the jobs shown as they change? Otherwise a state of them is awaited, of which hints tell. */
  readonly shows: boolean
}

export class RecordWatch {
  private readonly options: RecordWatchOptions
  /** By job id, ordered by the time of the last poll. */
  private readonly watchers = new Map<string, Set<RecordWatcher>>()
  /** When the writes of shown jobs were announced last, by job id. */
  private readonly announcedAt = new Map<string, number>()
  /** Ids of the jobs to read next. */
  private wanted = new Set<string>()
  private reading = false
  private scheduled = false
  private timer: Timer | null = null
  private timerAt = Infinity
  private readAt = -Infinity
  /** How long the last read took, ms. */
  private readMs = 0

  constructor(options: RecordWatchOptions) {
    this.options = options
  }

  /** Do other processes write to the store? */
  get hasOtherWriters(): boolean {
    return this.options.store.capabilities.shared
  }

  /** Reads a job now and after changes, until the returned function is called. */
  watch(id: string, watcher: RecordWatcher): () => void {
    const watchers = this.watchers.get(id) ?? new Set()
    watchers.add(watcher)
    this.watchers.set(id, watchers)
    const off = this.options.hub.onJob(id, () => this.want([id]))
    this.want([id])
    this.readIn(this.everyMs, readMax)
    return () => {
      off()
      watchers.delete(watcher)
      if (watchers.size === 0 && this.watchers.get(id) === watchers) {
        this.watchers.delete(id)
        this.announcedAt.delete(id)
      }
      if (this.watchers.size === 0) this.stopPolling()
    }
  }

  hint(hint: Hint): void {
    if (this.watchers.size === 0) return
    const { kind } = hint
    if ('ids' in hint && hint.ids !== undefined) this.want(hint.ids)
    else if (!this.announces) this.readSoon()
    else if (kind === 'missed' || kind === 'rollback' || kind === 'restart') {
      // The store may have forgotten whose writes it announces.
      this.announcedAt.clear()
      this.readSoon()
    }
  }

  /** Are writes of the jobs announced? Then no other hint tells more. */
  private get announces(): boolean {
    return this.options.shows && this.options.store.announce !== undefined
  }

  private readSoon(): void {
    this.readIn(Math.max(0, this.readAt + hintedMs - this.options.timers.clock.monotonic()), hintedMax)
  }

  /** Reads jobs together at the end of this turn, or after the read in flight. */
  private want(ids: readonly string[]): void {
    for (const id of ids) if (this.watchers.has(id)) this.wanted.add(id)
    if (this.wanted.size === 0 || this.reading || this.scheduled) return
    this.scheduled = true
    queueMicrotask(() => {
      this.scheduled = false
      void this.read()
    })
  }

  private readIn(delayMs: number, count: number): void {
    const { clock } = this.options.timers
    const at = clock.monotonic() + delayMs
    if (at >= this.timerAt) return
    this.timer?.cancel()
    this.timerAt = at
    this.timer = this.options.timers.after(delayMs, () => {
      this.stopPolling()
      this.want(this.nextPolled(count))
      this.readIn(this.everyMs, readMax)
    })
  }

  /** The interval of polls, ms. */
  private get everyMs(): number {
    if (!this.options.shows || !this.hasOtherWriters || this.announces) return pollMs
    return Math.min(pollMs, Math.max(shownPollMs, readPart * this.readMs))
  }

  /** The jobs whose last poll is longest ago. */
  private nextPolled(count: number): string[] {
    const ids = this.watchers.keys().take(count).toArray()
    for (const id of ids) {
      const watchers = this.watchers.get(id) as Set<RecordWatcher>
      this.watchers.delete(id)
      this.watchers.set(id, watchers)
    }
    return ids
  }

  private stopPolling(): void {
    this.timer?.cancel()
    this.timer = null
    this.timerAt = Infinity
  }

  private async read(): Promise<void> {
    this.reading = true
    const { ready, store, timers } = this.options
    while (this.wanted.size > 0) {
      const ids = [...this.wanted].slice(0, readMax)
      for (const id of ids) this.wanted.delete(id)
      try {
        await ready()
        if (!this.announces) store.watchEnds?.()
        await this.announce(ids)
        this.readAt = timers.clock.monotonic()
        const records = await store.get(ids)
        this.readMs = timers.clock.monotonic() - this.readAt
        ids.forEach((id, i) => this.each(id, ({ record }) => record(records[i] ?? null)))
      } catch (error) {
        for (const id of ids) this.each(id, ({ failed }) => failed(error))
      }
    }
    this.reading = false
  }

  /** Has writes of shown jobs announced, before they are read: so that none between is missed. */
  private async announce(ids: readonly string[]): Promise<void> {
    if (!this.announces) return
    const now = this.options.timers.clock.monotonic()
    const isLate = (id: string): boolean => now - (this.announcedAt.get(id) ?? -Infinity) >= announceEveryMs
    const late = ids.filter((id) => this.watchers.has(id) && isLate(id))
    if (late.length === 0) return
    await this.options.store.announce?.(late, announcedMs)
    for (const id of late) if (this.watchers.has(id)) this.announcedAt.set(id, now)
  }

  private each(id: string, tell: (watcher: RecordWatcher) => void): void {
    for (const watcher of this.watchers.get(id) ?? []) tell(watcher)
  }
}
