/**
 * Wake-ups: those of this store's own writes at once, those of others by channels, on a connection of its own. Ends
 * have a channel for those who wait for one: a message to each process, for every call that ends jobs, costs a busy
 * process half as much again as the call.
 */
import type { Hint } from '../../store.ts'
import { Redis, type RedisClient } from './connection.ts'
import type { Keys } from './keys.ts'
import { scriptText, textOfScript } from './row-text.ts'

/** The server, and where that is, for messages. */
interface Source {
  readonly makeClient: () => RedisClient
  readonly where: string
}

/** Wake-ups as a script has written them. */
export function hintsFrom(text: string): Hint[] {
  const hints = JSON.parse(text) as Hint[]
  // Few names of types are written otherwise in scripts.
  if (!text.includes(escapedMarker)) return hints
  return hints.map((hint) =>
    'type' in hint && hint.type !== undefined ? { ...hint, type: textOfScript(hint.type) } : hint,
  )
}

const escapedMarker = String.raw`\u0001`

/** A wake-up as scripts pass it on. */
export const hintForScript = (hint: Hint): Hint =>
  'type' in hint && hint.type !== undefined ? { ...hint, type: scriptText(hint.type) } : hint

export class Hints {
  private readonly keys: Keys
  private readonly origin: string
  private readonly listeners = new Set<(hint: Hint) => void>()
  private source: Source | null = null
  private connection: Redis | null = null
  private watchesEnds = false

  /** @param origin what the messages of this store begin with */
  constructor(keys: Keys, origin: string) {
    this.keys = keys
    this.origin = origin
  }

  /** Once until it is closed, also if several open the store. */
  open(source: Source): void {
    if (this.source !== null) return
    this.source = source
    if (this.listeners.size > 0) this.connect(source)
  }

  close(): void {
    this.source = null
    this.watchesEnds = false
    this.disconnect()
  }

  watch(listener: (hint: Hint) => void): () => void {
    // A function of its own per call: the same listener may watch twice.
    const own = (hint: Hint): void => listener(hint)
    this.listeners.add(own)
    if (this.connection === null && this.source !== null) this.connect(this.source)
    return () => {
      this.listeners.delete(own)
      if (this.listeners.size === 0) this.disconnect()
    }
  }

  /** Hears of ends from now on, until it is closed. */
  watchEnds(): void {
    if (this.watchesEnds) return
    this.watchesEnds = true
    this.connection?.addChannel(this.keys.ends)
  }

  notify(hints: readonly Hint[]): void {
    for (const hint of hints) for (const listener of this.listeners) listener(hint)
  }

  private connect({ makeClient, where }: Source): void {
    const { hints, ends } = this.keys
    const channels = this.watchesEnds ? [hints, ends] : [hints]
    const began = (): void => this.notify([{ kind: 'missed' }])
    this.connection = new Redis(makeClient(), where, { channels, told: (message) => this.receive(message), began })
    // While there is no connection, workers find what there is to do by asking.
    this.connection.connect().catch(() => {})
  }

  private disconnect(): void {
    this.connection?.close()
    this.connection = null
  }

  private receive(message: string): void {
    const space = message.indexOf(' ')
    if (message.slice(0, space) !== this.origin) this.notify(hintsFrom(message.slice(space + 1)))
  }
}
