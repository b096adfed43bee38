/**
 * The last entries of the store's transition log and the counts, read once for all readers of the dashboard: four times
 * a second while there is a listener; without readers, nothing is read.
 */
import { consoleLogger } from '../core/logger.ts'
import type { Client, Counts } from '../index.ts'
import type { TransitionEntry } from '../store.ts'
import { Repeat } from './repeat.ts'

/** Minimum interval between two reads of the log, and between two messages to readers, ms. */
const tickMs = 250
/** With more than 100 listeners, the interval is this many ms for each of them: what they cost is bounded. */
const tickMsPerListener = 2.5
const pageSize = 500
/** How many entries are kept: a store's log has 10,000 by default. */
const entriesMax = 10_000
/** The cursor of a reader that connected when the log had no entry. */
const startCursor = 'start'

export class Feed {
  private readonly client: Client
  /** Null until they were read. */
  counts: Counts | null = null
  /** Grows with each change of the counts. */
  countsNumber = 0
  /** Why the last read has failed; null if it has not. */
  error: Error | null = null
  private entries: TransitionEntry[] = []
  /** How many entries were read before the first one kept. */
  private dropped = 0
  /** The cursor before the first entry that is kept; null: it is not known. */
  private beforeFirst: string | null = startCursor
  /** The cursor of the last entry read; null while there is none. */
  private cursor: string | null = null
  private countsText = ''
  private reading: Promise<void> | null = null
  private readonly repeat = new Repeat(() => this.readAndNotify())
  private readonly listeners = new Set<() => void>()

  constructor(client: Client) {
    this.client = client
  }

  /** How many entries were read: the place of the next one. */
  get head(): number {
    return this.dropped + this.entries.length
  }

  /**
   * The place after the entry with this cursor, or null if that is not kept; `startCursor` is the place before the
   * first one.
   */
  placeAfter(cursor: string): number | null {
    if (cursor === this.beforeFirst) return this.dropped
    const found = this.entries.findLastIndex((entry) => entry.cursor === cursor)
    return found === -1 ? null : this.dropped + found + 1
  }

  /** The cursor of the entry before a place. */
  cursorBefore(place: number): string {
    return this.entries[place - this.dropped - 1]?.cursor ?? this.beforeFirst ?? startCursor
  }

  /** Entries from a place on, at most `limit`; null if some of them are not kept any more. */
  from(place: number, limit: number): readonly TransitionEntry[] | null {
    if (place < this.dropped) return null
    return this.entries.slice(place - this.dropped, place - this.dropped + limit)
  }

  /** Reads the new entries of the log. @throws JobchartError STORE_UNAVAILABLE */
  catchUp(): Promise<void> {
    return (this.reading ??= this.read().finally(() => {
      this.reading = null
    }))
  }

  /** Calls the listener after each read of the log, until the returned function is called. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener)
    this.repeat.start(0)
    return () => {
      this.listeners.delete(listener)
      if (this.listeners.size === 0) this.repeat.stop()
    }
  }

  private async readAndNotify(): Promise<number> {
    try {
      await this.catchUp()
      this.error = null
    } catch (error) {
      this.error = error instanceof Error ? error : new Error(String(error))
      consoleLogger.debug('the dashboard could not read the transition log', { error })
    }
    for (const listener of this.listeners) listener()
    return Math.max(tickMs, this.listeners.size * tickMsPerListener)
  }

  /** After a gap in the log, or a rollback of it: every reader gets a reset. @param cursor before the next entry */
  private dropAll(cursor: string | null): void {
    this.dropped += this.entries.length + 1
    this.entries = []
    this.beforeFirst = cursor
  }

  private async read(): Promise<void> {
    // This opens the store as well.
    const counts = await this.client.counts()
    this.setCounts(counts)
    const before = this.cursor
    for (;;) {
      const { transitions, next, lost } = await this.client.store.transitions(this.cursor, pageSize)
      if (lost && this.cursor !== null) {
        const jumps = this.cursor !== counts.cursor
        this.dropAll(jumps ? counts.cursor : null)
        // What is left of the log would be read for nobody: every reader loads anew.
        if (jumps) {
          this.cursor = counts.cursor
          continue
        }
      }
      this.entries.push(...transitions)
      this.cursor = next
      if (this.entries.length > 2 * entriesMax) {
        this.dropped += this.entries.length - entriesMax
        this.beforeFirst = this.entries.at(-entriesMax - 1)?.cursor ?? null
        this.entries = this.entries.slice(-entriesMax)
      }
      if (transitions.length < pageSize) break
    }
    if (this.cursor !== before) this.setCounts(await this.client.counts())
  }

  private setCounts(counts: Counts): void {
    const text = JSON.stringify(counts)
    if (text === this.countsText) return
    this.countsText = text
    this.counts = counts
    this.countsNumber++
  }
}
