/** Wake-ups: those of this store's own writes at once, those of others by a channel, on a connection of its own. */
import type { Clock, Timer } from '../../core/clock.ts'
import type { Hint } from '../../store.ts'
import type { RedisClient } from './connection.ts'
import { scriptText, textOfScript } from './row-text.ts'

/** The connection is asked for a sign of life so often, and has so long to give it, ms. */
const watchdogMs = { every: 10_000, patience: 5_000 }

/** Wake-ups as a script has written them. */
export const hintsFrom = (text: string): Hint[] =>
  (JSON.parse(text) as Hint[]).map((hint) =>
    'type' in hint && hint.type !== undefined ? { ...hint, type: textOfScript(hint.type) } : hint,
  )

/** A wake-up as scripts pass it on. */
export const hintForScript = (hint: Hint): Hint =>
  'type' in hint && hint.type !== undefined ? { ...hint, type: scriptText(hint.type) } : hint

export class Hints {
  private readonly channel: string
  private readonly origin: string
  private readonly listeners = new Set<(hint: Hint) => void>()
  private makeClient: (() => RedisClient) | null = null
  private clock: Clock | null = null
  private client: RedisClient | null = null
  private timer: Timer | null = null
  private subscribed = false

  /** @param origin what the messages of this store begin with */
  constructor(channel: string, origin: string) {
    this.channel = channel
    this.origin = origin
  }

  /** Once until it is closed, also if several open the store: with the clock of the first. */
  open(clock: Clock, makeClient: () => RedisClient): void {
    if (this.makeClient !== null) return
    this.clock = clock
    this.makeClient = makeClient
    if (this.listeners.size > 0) this.connect()
  }

  close(): void {
    this.makeClient = null
    this.disconnect()
  }

  watch(listener: (hint: Hint) => void): () => void {
    // A function of its own per call: the same listener may watch twice.
    const own = (hint: Hint): void => listener(hint)
    this.listeners.add(own)
    if (this.client === null && this.makeClient !== null) this.connect()
    return () => {
      this.listeners.delete(own)
      if (this.listeners.size === 0) this.disconnect()
    }
  }

  notify(hints: readonly Hint[]): void {
    for (const hint of hints) for (const listener of this.listeners) listener(hint)
  }

  private connect(): void {
    const client = (this.client = this.makeClient?.() ?? null)
    this.subscribed = false
    if (client === null) return
    this.check()
    // While there is no connection, workers find what there is to do by asking.
    void client
      .connect()
      .then(() => client.subscribe(this.channel, (message) => this.receive(message)))
      .then(() => (this.subscribed = true))
      .catch(() => {})
  }

  private disconnect(): void {
    this.timer?.cancel()
    this.timer = null
    this.client?.close()
    this.client = null
  }

  private receive(message: string): void {
    const space = message.indexOf(' ')
    if (message.slice(0, space) !== this.origin) this.notify(hintsFrom(message.slice(space + 1)))
  }

  /** A connection that was cut without a word, or never came to its channel, is made anew. */
  private check(): void {
    const { clock, client } = this
    if (clock === null || client === null) return
    let alive = true
    this.timer = clock.timer(
      () => {
        alive = false
        client.send(['PING']).then(
          () => (alive = this.subscribed),
          () => {},
        )
        this.timer = clock.timer(
          () => {
            if (this.client !== client) return
            if (alive) return this.check()
            this.disconnect()
            this.connect()
          },
          watchdogMs.patience,
          { keepAlive: false },
        )
      },
      watchdogMs.every,
      { keepAlive: false },
    )
  }
}
