/**
 * The jobs that readers of the live stream watch. Check-ins and logs of other processes cause no event here, so each
 * job is polled: once for all its readers, and a part of all jobs in one read. Without readers, nothing is read.
 */
import { consoleLogger } from '../core/logger.ts'
import type { JobRecord } from '../core/record.ts'
import type { Store } from '../store.ts'
import { Repeat } from './repeat.ts'

/** Minimum interval between two polls, and between two reads of a job, ms. */
const pollMs = 100
/**
 * The next poll comes this many ms later for each reader of the jobs polled: what readers cost in a second is bounded.
 */
const pollMsPerReader = 2
/** Jobs of one read of the store. */
const readMax = 50

interface Watch {
  readonly readers: Set<() => void>
  /** What was read of the job last; null until it was read. */
  seen: string | null
}

export class JobWatches {
  private readonly store: Store
  /** By job id, ordered by the time of the last poll. */
  private readonly watches = new Map<string, Watch>()
  private readonly polling = new Repeat(() => this.poll())
  private firstReads: Promise<void> | null = null

  constructor(store: Store) {
    this.store = store
  }

  /** Calls `changed` after each change of a job that `known` has read, until the returned function is called. */
  watch(id: string, changed: () => void): () => void {
    const watch = this.watches.get(id) ?? { readers: new Set(), seen: null }
    watch.readers.add(changed)
    this.watches.set(id, watch)
    this.polling.start(pollMs)
    return () => {
      watch.readers.delete(changed)
      if (watch.readers.size === 0) this.watches.delete(id)
      if (this.watches.size === 0) this.polling.stop()
    }
  }

  /**
   * Resolves when a watched job has been read, so that no later change is missed.
   * @throws JobchartError STORE_UNAVAILABLE
   */
  async known(id: string): Promise<void> {
    while (this.watches.get(id)?.seen === null) {
      this.firstReads ??= this.readFirst().finally(() => {
        this.firstReads = null
      })
      await this.firstReads
    }
  }

  /** Reads the jobs that have not been read, also those that are watched meanwhile. */
  private async readFirst(): Promise<void> {
    // Those that are asked for in this turn are read together.
    await Promise.resolve()
    for (;;) {
      const ids = this.take(readMax, ({ seen }) => seen === null)
      if (ids.length === 0) return
      await this.read(ids)
    }
  }

  /** Reads the jobs whose last poll is longest ago. */
  private async poll(): Promise<number> {
    const ids = this.take(readMax, ({ seen }) => seen !== null)
    let readers = 0
    for (const id of ids) {
      const watch = this.watches.get(id) as Watch
      readers += watch.readers.size
      this.watches.delete(id)
      this.watches.set(id, watch)
    }
    try {
      if (ids.length > 0) await this.read(ids)
    } catch (error) {
      // The reader is told by its next message that the store does not answer.
      consoleLogger.debug('the dashboard could not read the watched jobs', { error })
    }
    return Math.max(pollMs, readers * pollMsPerReader)
  }

  private take(count: number, isWanted: (watch: Watch) => boolean): string[] {
    const found = this.watches.entries().filter(([, watch]) => isWanted(watch))
    return found
      .take(count)
      .map(([id]) => id)
      .toArray()
  }

  private async read(ids: readonly string[]): Promise<void> {
    const records = await this.store.get(ids)
    ids.forEach((id, i) => {
      const watch = this.watches.get(id)
      if (watch === undefined) return
      const seen = seenOf(records[i] ?? null)
      const isChanged = watch.seen !== null && seen !== watch.seen
      watch.seen = seen
      if (isChanged) for (const changed of watch.readers) changed()
    })
  }
}

/** Differs after each transition, checkpoint, check-in, log line and message. */
function seenOf(record: JobRecord | null): string {
  if (record === null) return ''
  const { state, history, checkpoint, checkin, logs, inbox, deferred, lastMessageNumber, unsupported } = record
  const messages = [lastMessageNumber, inbox.length, deferred.length]
  return JSON.stringify([state, history.at(-1)?.seq, checkpoint?.number, checkin, logs, messages, unsupported !== null])
}
