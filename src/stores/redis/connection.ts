/** What the store needs of a Redis client. Two adapters make it of @redis/client and of ioredis. */
import { systemClock, type Clock, type Timer } from '../../core/clock.ts'
import { JobchartError } from '../../core/errors.ts'
import { closedMeanwhile } from '../remote/closed.ts'

export type Command = readonly string[]

/** What a command is answered: texts, numbers, lists of them. */
export type Reply = string | number | null | readonly Reply[]

/** Sends commands to the server. */
export interface Commands {
  /** @throws JobchartError STORE_UNAVAILABLE */
  send(command: Command): Promise<Reply>
  /** Sends commands one after the other without waiting: they go together. */
  pipeline(commands: readonly Command[]): Promise<Reply[]>
  /** Do all commands go to one server? False in a cluster. */
  readonly hasOneServer: boolean
}

/** A connection of one client. */
export interface RedisClient {
  /** Connects; rejects if the server cannot be reached now. Afterwards the client connects again by itself. */
  connect(): Promise<void>
  /** Sends a command; it rejects at once while there is no connection. */
  send(command: Command): Promise<Reply>
  /**
   * Calls `told` with each message of a channel, on this connection: it sends nothing else from then on but calls for
   * other channels. A call for the same channel changes nothing.
   */
  subscribe(channel: string, told: (message: string) => void): Promise<void>
  /** Calls the listener each time it has connected again, before anything else is sent. */
  onReady(listener: () => void): void
  /** Ends it at once, whatever is under way. */
  close(): void
  /** Another client of the same server. */
  duplicate(): RedisClient
  /** Do all commands go to one server? False in a cluster. */
  readonly hasOneServer: boolean
}

/** An error that the server has answered, as opposed to one of the way there. */
export class RedisError extends Error {
  override readonly name = 'RedisError'
}

/** So long a connection may take, ms. */
export const connectMsMax = 5_000

/** The delay before the client connects again, ms, after so many tries in vain. */
export const reconnectMs = (tries: number): number => Math.min(50 * 2 ** Math.min(tries, 6), 2_000)

/**
 * Each connection is looked at so often, ms. What follows is counted in these looks: one that comes late does not make
 * others late.
 */
const lookMs = 1_000

const looksMax = {
  /** A call waits for so long, whatever else is answered. */
  call: 10,
  /** A connection that leads nowhere is replaced after so long: the server was asked, and nothing was heard. */
  silence: 5,
  /** A connection that has not been heard yet is replaced after so long: a Sentinel or a cluster may be asked first. */
  setUp: 10,
  /** A connection on which nothing was asked for so long is asked for a sign of life. */
  idle: 5,
} as const

const withoutAnswer = (looks: number): Error => new Error(`no answer within ${looks * lookMs} ms`)

interface Subscription {
  readonly channels: readonly string[]
  readonly told: (message: string) => void
  /** Called when messages arrive from now on; those before may be lost. */
  readonly began: () => void
}

/**
 * A client with the errors of this library, in which no command waits for ever: if the server is asked and nothing is
 * heard of it, the client is replaced by another one. Drivers connect again when a connection was closed, not when its
 * packets vanish.
 */
export class Redis implements Commands {
  private client: RedisClient
  private readonly where: string
  private readonly subscription: Subscription | null
  private readonly channels: string[]
  /** Network time is real time, also where a host has a clock of its own. */
  private readonly clock: Clock
  private readyListener: (() => void) | null = null
  /** Reject the calls that are not answered yet, with the number of the look before each; the oldest first. */
  private readonly unanswered = new Map<(error: Error) => void, number>()
  private looks = 0
  /** Looks since the server was heard, or was asked for the first time after it. */
  private looksSince = 0
  /** Was the server asked for something since it was heard last? */
  private wasAsked = false
  private wasHeard = false
  private isSubscribed = false
  private timer: Timer | null = null
  private isClosed = false

  /** @param subscription the channels that this connection is for: it is used for nothing else */
  constructor(
    client: RedisClient,
    where: string,
    subscription: Subscription | null = null,
    clock: Clock = systemClock,
  ) {
    this.client = client
    this.where = where
    this.subscription = subscription
    this.channels = [...(subscription?.channels ?? [])]
    this.clock = clock
    // A driver that connects again comes to its channels again.
    if (subscription !== null) {
      this.onReady(() => {
        if (this.isSubscribed) subscription.began()
      })
    }
  }

  async connect(): Promise<void> {
    this.lookLater()
    await this.within(() => this.client.connect())
    await this.subscribe()
  }

  /** Calls the listener each time it has connected again, before anything else is sent. */
  onReady(listener: () => void): void {
    this.readyListener = listener
    this.client.onReady(listener)
  }

  /** Comes to another channel, on a connection that is for channels. */
  addChannel(channel: string): void {
    this.channels.push(channel)
    if (!this.isSubscribed) return
    this.subscribe([channel]).catch(() => {
      // A look comes to all of them again.
      this.isSubscribed = false
    })
  }

  /** Another client of the same server. */
  duplicate(): RedisClient {
    return this.client.duplicate()
  }

  get hasOneServer(): boolean {
    return this.client.hasOneServer
  }

  /** Ends the connection, and rejects what is not answered: no driver does that in each of its states. */
  close(): void {
    this.isClosed = true
    this.timer?.cancel()
    this.rejectAll(closedMeanwhile(`Redis at ${this.where}`))
    this.client.close()
  }

  send(command: Command): Promise<Reply> {
    return this.within(() => this.client.send(command))
  }

  /** Sends commands one after the other without waiting: they go together. */
  pipeline(commands: readonly Command[]): Promise<Reply[]> {
    return this.within(() => Promise.all(commands.map((command) => this.client.send(command))))
  }

  /**
   * One promise for a call, its answer and a connection that leads nowhere: each call goes through here.
   * @throws JobchartError STORE_UNAVAILABLE
   */
  private within<T>(ask: () => Promise<T>): Promise<T> {
    const { client } = this
    if (this.isClosed) return Promise.reject(closedMeanwhile(`Redis at ${this.where}`))
    if (!this.wasAsked) this.looksSince = 0
    this.wasAsked = true
    return new Promise<T>((resolve, reject) => {
      const failed = (error: unknown): void => {
        if (!this.unanswered.delete(failed)) return
        if (error instanceof RedisError && client === this.client) this.heard()
        if (error instanceof RedisError && hintOf(error) === undefined) reject(refused(this.where, error))
        // Without a connection a client rejects in the call: a caller that asks again at once would never let it
        // connect.
        else this.clock.nextTurn(() => reject(error instanceof JobchartError ? error : unavailable(this.where, error)))
      }
      this.unanswered.set(failed, this.looks)
      ask().then((answer) => {
        if (!this.unanswered.delete(failed)) return
        if (client === this.client) this.heard()
        resolve(answer)
      }, failed)
    })
  }

  private heard(): void {
    this.looksSince = 0
    this.wasHeard = true
    this.wasAsked = this.unanswered.size > 0
  }

  private rejectAll(error: Error): void {
    for (const reject of this.unanswered.keys()) reject(error)
  }

  // ── silence ──────────────────────────────────────────────────────────────────────────────────────────────────────

  private lookLater(): void {
    // An open connection keeps the process alive by itself.
    this.timer = this.clock.timer(() => this.look(), lookMs, { keepAlive: false })
  }

  /** Answers that arrived while the event loop was blocked are read between two looks. */
  private look(): void {
    this.looks++
    this.looksSince++
    for (const [reject, askedAt] of this.unanswered) {
      if (this.looks - askedAt <= looksMax.call) break
      reject(withoutAnswer(looksMax.call))
    }
    const { silence, setUp, idle } = looksMax
    if (this.wasAsked && this.looksSince > (this.wasHeard ? silence : setUp)) this.replace()
    else if (!this.wasAsked && this.looksSince >= idle) void this.askForLife().catch(ignore)
    this.lookLater()
  }

  /** A connection that has not come to its channels tries again. */
  private async askForLife(): Promise<void> {
    if (this.subscription === null || this.isSubscribed) await this.send(['PING'])
    else await this.subscribe()
  }

  /** @param channels all: also those that are added meanwhile */
  private async subscribe(channels: readonly string[] = this.channels): Promise<void> {
    if (this.subscription === null) return
    const { client } = this
    const { told } = this.subscription
    for (const channel of channels) await this.within(() => client.subscribe(channel, told))
    if (client !== this.client) return
    this.isSubscribed = true
    this.subscription.began()
  }

  /** What is not answered is rejected: it may have been carried out, or not. */
  private replace(): void {
    const { client: silent, wasHeard } = this
    this.client = silent.duplicate()
    if (this.readyListener !== null) this.client.onReady(this.readyListener)
    this.looksSince = 0
    this.wasHeard = this.isSubscribed = false
    silent.close()
    this.rejectAll(withoutAnswer(wasHeard ? looksMax.silence : looksMax.setUp))
    void this.connectAgain(this.client)
  }

  /** Not every driver tries again by itself if its first try has failed. */
  private async connectAgain(client: RedisClient): Promise<void> {
    for (let tries = 0; client === this.client && !this.isClosed; tries++) {
      try {
        await this.within(() => client.connect())
        await this.subscribe()
        return
      } catch {
        await new Promise<void>((resolve) => this.clock.timer(resolve, reconnectMs(tries), { keepAlive: false }))
      }
    }
  }
}

const ignore = (): void => {}

const isReachable = 'Is the server running and reachable? Calls succeed again as soon as it is; writes may be repeated.'

/** Answers of a server that will work again, and what to do meanwhile. */
const passing: Readonly<Record<string, string>> = {
  LOADING: 'The server has started and reads its data: calls succeed when it has.',
  OOM: 'The memory of the server is full: raise its maxmemory, or let the workers end jobs. `capacity` bounds the backlog.',
  READONLY: 'The server is a replica: name the primary. A client for Sentinel or a cluster finds it by itself.',
  MOVED: 'The server is one of a cluster: pass a client of the cluster.',
  MISCONF: 'The server cannot save its data, and takes no writes until it can: look at its disk and its log.',
  BUSY: 'A script of another program holds up the server: SCRIPT KILL ends one that has written nothing.',
  NOREPLICAS: 'The server has fewer replicas than min-replicas-to-write, and takes no writes until they are back.',
  MASTERDOWN: isReachable,
  CLUSTERDOWN: isReachable,
  TRYAGAIN: isReachable,
  UNBLOCKED: isReachable,
}

const hintOf = (answer: unknown): string | undefined =>
  answer instanceof RedisError ? passing[/^[A-Z]+/.exec(answer.message)?.[0] ?? ''] : undefined

const refused = (where: string, cause: RedisError): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `Redis at ${where}: ${cause.message}`, {
    hint: 'Look at the user, its password and its rights, and whether another program writes keys of this prefix.',
    cause,
  })

export function unavailable(where: string, cause: unknown): JobchartError {
  const message = cause instanceof Error && cause.message !== '' ? cause.message : String(cause)
  return new JobchartError('STORE_UNAVAILABLE', `Redis at ${where}: ${message}`, {
    hint: hintOf(cause) ?? isReachable,
    cause,
  })
}
