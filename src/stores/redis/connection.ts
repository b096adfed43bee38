/** What the store needs of a Redis client. Two adapters make it of @redis/client and of ioredis. */
import { systemClock, type Timer } from '../../core/clock.ts'
import { JobchartError } from '../../core/errors.ts'

export type Command = readonly string[]

/** What a command is answered: texts, numbers, lists of them. */
export type Reply = string | number | null | readonly Reply[]

/** A connection of one client. */
export interface RedisClient {
  /** Connects; rejects if the server cannot be reached now. Afterwards the client connects again by itself. */
  connect(): Promise<void>
  /** Sends a command; it rejects at once while there is no connection. */
  send(command: Command): Promise<Reply>
  /** Calls `told` with each message of a channel, on this connection: it sends nothing else from then on. */
  subscribe(channel: string, told: (message: string) => void): Promise<void>
  /** Calls the listener each time it has connected again, before anything else is sent. */
  onReady(listener: () => void): void
  /** Ends it at once, whatever is under way. */
  close(): void
  /** Another client of the same server. */
  duplicate(): RedisClient
}

/** An error that the server has answered, as opposed to one of the way there. */
export class RedisError extends Error {
  override readonly name = 'RedisError'
}

/** So long a connection may take, ms. */
export const connectMsMax = 5_000

/** The delay before the client connects again, ms, after so many tries in vain. */
export const reconnectMs = (tries: number): number => Math.min(50 * 2 ** Math.min(tries, 6), 2_000)

/** So long an answer is waited for, ms. */
const answerMsMax = 10_000

/** A client with the errors of this library, in which no command waits for ever. */
export class Redis {
  readonly client: RedisClient
  private readonly where: string
  /** Reject the calls that are not answered yet. */
  private readonly unanswered = new Set<(error: Error) => void>()
  /** When the server was heard last, or was asked after a time in which nothing was asked; monotonic time, ms. */
  private heardAt = 0

  constructor(client: RedisClient, where: string) {
    this.client = client
    this.where = where
  }

  connect(): Promise<void> {
    return this.within(this.client.connect())
  }

  /** Ends the connection, and rejects what is not answered: no driver does that in each of its states. */
  close(): void {
    this.client.close()
    for (const reject of this.unanswered) reject(new Error('the store was closed'))
  }

  send(command: Command): Promise<Reply> {
    return this.within(this.client.send(command))
  }

  /** Sends commands one after the other without waiting: they go together. */
  pipeline(commands: readonly Command[]): Promise<Reply[]> {
    return this.within(Promise.all(commands.map((command) => this.client.send(command))))
  }

  /** Resolves with a promise, or before it when a call is not answered and the server has not been heard for so long, ms. */
  async unlessSilent(promise: Promise<unknown>, ms: number): Promise<void> {
    const { promise: silence, resolve } = Promise.withResolvers<void>()
    const lookIn = (delayMs: number): Timer =>
      systemClock.timer(
        () => {
          const silentMs = this.unanswered.size === 0 ? 0 : systemClock.monotonic() - this.heardAt
          if (silentMs >= ms) resolve()
          else timer = lookIn(ms - silentMs)
        },
        delayMs,
        { keepAlive: true },
      )
    let timer = lookIn(this.unanswered.size === 0 ? ms : 0)
    await Promise.race([promise, silence]).finally(() => timer.cancel())
  }

  /** @throws JobchartError STORE_UNAVAILABLE; RedisError NOSCRIPT, after which the text of the script is sent */
  private async within<T>(answer: Promise<T>): Promise<T> {
    // Network time is real time, also where a host has a clock of its own.
    const { promise: late, reject } = Promise.withResolvers<never>()
    const tooLate = (): void => reject(new Error(`no answer within ${answerMsMax} ms`))
    const timer = systemClock.timer(tooLate, answerMsMax, { keepAlive: true })
    if (this.unanswered.size === 0) this.heardAt = systemClock.monotonic()
    this.unanswered.add(reject)
    try {
      const reply = await Promise.race([answer, late])
      this.heardAt = systemClock.monotonic()
      return reply
    } catch (error) {
      if (error instanceof RedisError) this.heardAt = systemClock.monotonic()
      if (error instanceof RedisError && error.message.startsWith('NOSCRIPT')) throw error
      if (error instanceof RedisError && !isPassing(error)) throw refused(this.where, error)
      // Without a connection a client rejects in the call: whoever asks again at once would never let it connect.
      await new Promise<void>((resolve) => systemClock.nextTurn(resolve))
      throw unavailable(this.where, error)
    } finally {
      this.unanswered.delete(reject)
      timer.cancel()
    }
  }
}

/** Answers of a server that will work again: it starts, has no memory left, is a replica now, or cannot write to its disk. */
const isPassing = ({ message }: RedisError): boolean =>
  /^(LOADING|OOM|READONLY|MASTERDOWN|MISCONF|BUSY|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|UNBLOCKED)\b/.test(message)

const refused = (where: string, cause: RedisError): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `Redis at ${where}: ${cause.message}`, {
    hint: 'Look at the rights of the user, and whether another program writes keys of this prefix.',
    cause,
  })

export function unavailable(where: string, cause: unknown): JobchartError {
  const message = cause instanceof Error && cause.message !== '' ? cause.message : String(cause)
  return new JobchartError('STORE_UNAVAILABLE', `Redis at ${where}: ${message}`, {
    hint: 'Is the server running and reachable? Calls succeed again as soon as it is; writes may be repeated.',
    cause,
  })
}
