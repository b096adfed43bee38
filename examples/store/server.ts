/**
 * A small server of texts by key, as many a database is one: it reads several keys in one snapshot, and writes several
 * under the condition that some still have the version that was read. Several processes may be thought to use it: a
 * call takes turns of the event loop, and may fail before it is carried out, or after.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'

export interface Entry {
  readonly value: string
  /** Another one after each write of the key. */
  readonly version: number
}

/** One key, or all that begin with a prefix. */
export type Range = { readonly key: string } | { readonly prefix: string }

export interface Snapshot {
  readonly entries: ReadonlyMap<string, Entry>
  /** The server's time, ms since the epoch. */
  readonly now: number
}

/** `before`: the call is not carried out · `after`: it is carried out, and its reply is lost. */
export type Fault = 'before' | 'after'

export class KeyValueServer {
  /** Which of the calls fail. */
  faultOf: (call: number) => Fault | null = () => null
  private readonly now: () => number
  private readonly entries = new Map<string, Entry>()
  private readonly listeners = new Set<(message: string) => void>()
  private calls = 0
  private writes = 0

  constructor(now: () => number) {
    this.now = now
  }

  read(ranges: readonly Range[]): Promise<Snapshot> {
    return this.call(() => {
      const found = new Map<string, Entry>()
      for (const range of ranges) for (const [key, entry] of this.inRange(range)) found.set(key, entry)
      return { entries: found, now: this.now() }
    })
  }

  /**
   * Writes all, if each key that is expected has its version (0: it is not there), and else nothing.
   * @param values null removes a key
   * @returns was it written?
   */
  write(expected: ReadonlyMap<string, number>, values: ReadonlyMap<string, string | null>): Promise<boolean> {
    return this.call(() => {
      for (const [key, version] of expected) if ((this.entries.get(key)?.version ?? 0) !== version) return false
      const version = ++this.writes
      for (const [key, value] of values) {
        if (value === null) this.entries.delete(key)
        else this.entries.set(key, { value, version })
      }
      return true
    })
  }

  /** Sends a message to all that listen. */
  publish(message: string): Promise<void> {
    return this.call(() => {
      for (const listener of this.listeners) listener(message)
    })
  }

  subscribe(listener: (message: string) => void): () => void {
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }

  private inRange(range: Range): Iterable<readonly [string, Entry]> {
    if ('prefix' in range) return this.entries.entries().filter(([key]) => key.startsWith(range.prefix))
    const entry = this.entries.get(range.key)
    return entry === undefined ? [] : [[range.key, entry]]
  }

  private async call<T>(carryOut: () => T): Promise<T> {
    const call = ++this.calls
    const fault = this.faultOf(call)
    // Some are longer on their way than others.
    for (let turns = call % 3; turns >= 0; turns--) await nextTurn()
    if (fault === 'before') throw new Error('connection refused')
    const answer = carryOut()
    if (fault === 'after') throw new Error('connection lost')
    return answer
  }
}
