/**
 * Hints of other processes, by LISTEN and NOTIFY on a connection of its own. A NOTIFY is a statement of its own, behind
 * the commit that it tells of: in a transaction it would make commits of the whole cluster wait for each other. Without
 * the connection, workers find what there is to do by asking.
 *
 * Ends are told only while a process has asked for them: a busy worker that tells of all spends a fifth of its time on
 * its own messages.
 */
import { createHash, randomUUID } from 'node:crypto'
import { systemClock, type Timer } from '../../core/clock.ts'
import { JobchartError } from '../../core/errors.ts'
import type { Hint } from '../../store.ts'
import { pause, type Connection, type Link } from './connection.ts'

/** What follows a NOTIFY within this time, ms, goes together. */
const togetherMs = 10
/** Bytes of a payload; the server takes 8,000. */
const payloadMax = 7_500
/** After a process has asked for ends others tell of them for so long, ms. It asks again before. */
const endsToldMs = 120_000
const endsAskedEveryMs = 20_000
/** What ended before others were asked is looked for after so long, ms. */
const endsLookMs = 250
/** The connection is asked for a sign of life, and whether it still listens, so often, ms. */
const lookMs = 10_000

/** Names of channels are 63 bytes at most. */
const channelOf = (schema: string): string =>
  `jobchart_${createHash('sha256').update(schema).digest('hex').slice(0, 32)}`

/** Among hints on the channel: whoever ends jobs is to tell of it; a process has come that was not asked yet. */
const [endsAsked, came] = [{ kind: 'ends asked' }, { kind: 'came' }] as const
type Told = Hint | typeof endsAsked | typeof came
const isHint = (told: Told): told is Hint => told.kind !== endsAsked.kind && told.kind !== came.kind

export class Hints {
  private readonly channel: string
  private readonly origin: string
  private readonly connection: Connection
  private readonly news: () => Promise<readonly Hint[]>
  private readonly listeners = new Set<(hint: Hint) => void>()
  private readonly waiting = new Set<string>()
  /** What was told behind the write that it is about, and is not told again. */
  private readonly toldBehind = new WeakSet<Hint>()
  private timer: Timer | null = null
  private isOpen = false
  /** When this process has asked for ends last; monotonic, ms. */
  private endsAskedAt = -Infinity
  /** Until when others are told of those here. Who cannot be asked, because it does not listen, always tells. */
  private endsToldUntil = Infinity

  /**
   * @param origin what the messages of this store begin with
   * @param news what was missed until the connection was there
   */
  constructor(connection: Connection, schema: string, origin: string, news: () => Promise<readonly Hint[]>) {
    this.news = news
    this.connection = connection
    this.channel = channelOf(schema)
    this.origin = origin
  }

  watch(listener: (hint: Hint) => void): () => void {
    const own = (hint: Hint): void => listener(hint)
    this.listeners.add(own)
    if (!this.isOpen) {
      this.isOpen = true
      void this.listen()
    }
    return () => void this.listeners.delete(own)
  }

  close(): void {
    this.isOpen = false
    this.timer?.cancel()
    this.connection.close()
  }

  /** Tells other processes: at once, unless something was told a moment ago. */
  tell(hints: readonly Hint[]): void {
    const tellsEnds = systemClock.monotonic() < this.endsToldUntil
    for (const hint of hints) {
      if (hint.kind === 'ended' && !tellsEnds) continue
      if (!this.toldBehind.has(hint)) this.waiting.add(JSON.stringify(hint))
    }
    if (this.timer === null) this.flush()
  }

  /** Asks others to tell of ends. */
  watchEnds(): void {
    const sinceMs = systemClock.monotonic() - this.endsAskedAt
    if (!this.isOpen || sinceMs < endsAskedEveryMs) return
    this.askForEnds()
    if (sinceMs >= endsToldMs) this.lookForEnds()
  }

  private askForEnds(): void {
    this.endsAskedAt = systemClock.monotonic()
    this.say(endsAsked)
  }

  private lookForEnds(): void {
    systemClock.timer(() => this.notify([{ kind: 'ended' }]), endsLookMs, { keepAlive: false })
  }

  /**
   * Tells other processes behind a write that was just sent, before its answer: an idle worker hears of it one round
   * trip earlier. If the write is refused, they look in vain. Does nothing if something was told a moment ago.
   * @param hints `tell` gets these objects when the write is done
   * @param lane the connection of the write, on which this follows it
   */
  tellBehind(hints: readonly Hint[], lane: Connection): void {
    if (this.timer !== null) return
    for (const hint of hints) this.toldBehind.add(hint)
    this.send(new Set(hints.map((hint) => JSON.stringify(hint))), lane)
  }

  private flush(): void {
    if (this.waiting.size === 0) this.timer = null
    else this.send(this.waiting, this.connection)
    this.waiting.clear()
  }

  private send(hints: ReadonlySet<string>, connection: Connection): void {
    this.timer = systemClock.timer(() => this.flush(), togetherMs, { keepAlive: false })
    this.publish('jobchart notify', [...hints], connection)
  }

  /** What is no hint is rare, and holds up none. */
  private say(told: Told): void {
    this.publish('jobchart say', [JSON.stringify(told)], this.connection)
  }

  private publish(name: string, hints: readonly string[], connection: Connection): void {
    // What is lost here costs others time, not jobs: this commit does not wait for the disk.
    connection
      .query(
        "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, p) FROM unnest($2::text[]) AS p",
        [this.channel, payloadsOf(this.origin, hints)],
        name,
      )
      .catch(ignoreUnavailable)
  }

  /** Listens until it is closed; after a connection was lost, hints may have been lost, too. */
  private async listen(): Promise<void> {
    const told = (payload: string): void => this.receive(payload)
    for (let tries = 0; this.isOpen; tries++) {
      try {
        if (await this.isDeaf()) continue
        const link = await this.connection.listen(this.channel, told)
        tries = 0
        this.endsToldUntil = -Infinity
        this.say(came)
        await this.tellNews()
        await this.untilLost(link)
      } catch (error) {
        ignoreUnavailable(error)
      }
      this.endsToldUntil = Infinity
      if (this.isOpen) await pause(Math.min(50 * 2 ** Math.min(tries, 6), 2_000))
    }
  }

  /** Tells here of what was missed. */
  async tellNews(): Promise<void> {
    if (this.isOpen) this.notify(await this.news())
  }

  /** Resolves with true when a connection on which no notification arrives has ended. */
  private async isDeaf(): Promise<boolean> {
    const link = await this.connection.current()
    if (!link.isPooled || (await arrives(this.connection))) return false
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    link.onEnd(resolve)
    this.notify([{ kind: 'missed', error: unheard(this.connection.where) }, ...(await this.news())])
    await ended
    return true
  }

  private async untilLost(link: Link): Promise<void> {
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    link.onEnd(resolve)
    while (this.isOpen) {
      await Promise.race([pause(lookMs), ended])
      if (!this.isOpen || (await this.connection.current()) !== link) return
      const rows = await this.connection.query('SELECT pg_listening_channels()')
      if (!rows.some(([channel]) => channel === this.channel)) return
    }
  }

  private notify(hints: readonly Hint[]): void {
    for (const hint of hints) for (const listener of this.listeners) listener(hint)
  }

  private receive(payload: string): void {
    const space = payload.indexOf(' ')
    if (payload.slice(0, space) === this.origin) return
    const told = JSON.parse(payload.slice(space + 1)) as Told[]
    const now = systemClock.monotonic()
    const isTold = ({ kind }: typeof endsAsked | typeof came): boolean => told.some((each) => each.kind === kind)
    if (isTold(endsAsked)) this.endsToldUntil = now + endsToldMs
    if (isTold(came) && now - this.endsAskedAt < endsToldMs) {
      this.askForEnds()
      this.lookForEnds()
    }
    this.notify(told.filter(isHint))
  }
}

/** For so long a notification is waited for, ms. */
const arrivalMsMax = 2_000

/** Do notifications of other connections arrive on this one? */
export async function arrives(connection: Connection): Promise<boolean> {
  const channel = `jobchart_${randomUUID().replaceAll('-', '')}`
  const { promise: heard, resolve } = Promise.withResolvers<boolean>()
  await connection.listen(channel, () => resolve(true))
  const other = connection.another()
  try {
    await other.query(`NOTIFY ${channel}`)
    return await Promise.race([heard, pause(arrivalMsMax).then(() => false)])
  } finally {
    other.close()
  }
}

const unheard = (where: string): JobchartError =>
  new JobchartError('UNSUPPORTED', `PostgreSQL at ${where}: notifications do not arrive, a pooler is in the way`, {
    hint: 'Workers look for jobs of other processes every few seconds. Let jobchart connect to the server itself.',
  })

/** Hints that go together, in as few messages as hold them. One that is too large says that something was missed. */
function payloadsOf(origin: string, hints: readonly string[]): string[] {
  const payloads: string[][] = []
  let bytes = 0
  for (const hint of hints) {
    const own = Buffer.byteLength(hint) > payloadMax - 100 ? '{"kind":"missed"}' : hint
    bytes += Buffer.byteLength(own) + 1
    if (payloads.length === 0 || bytes > payloadMax - 100) {
      payloads.push([])
      bytes = Buffer.byteLength(own)
    }
    payloads.at(-1)?.push(own)
  }
  return payloads.map((each) => `${origin} [${each.join(',')}]`)
}

export function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof JobchartError)) throw error
}
