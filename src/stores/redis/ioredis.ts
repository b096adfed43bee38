/** The client interface on ioredis. */
import { RedisError, type RedisClient, type Reply } from './connection.ts'

/** What this adapter uses of a client. */
interface Inside {
  readonly status: string
  connect(): Promise<unknown>
  call(command: string, ...args: readonly string[]): Promise<unknown>
  subscribe(channel: string): Promise<unknown>
  on(event: string, listener: (...args: readonly unknown[]) => void): unknown
  disconnect(reconnect?: boolean): void
  duplicate(overrides: object): Inside
}

/** Commands fail at once while there is no connection; the client connects again by itself. */
const own = {
  lazyConnect: true,
  protocol: 2,
  keyPrefix: '',
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 5_000,
  retryStrategy: (tries: number) => Math.min(50 * 2 ** Math.min(tries, 6), 2_000),
}

class IoredisClient implements RedisClient {
  private readonly inside: Inside

  constructor(inside: Inside) {
    this.inside = inside
    // Without a listener errors of the connection would be printed; calls tell of them.
    inside.on('error', () => {})
  }

  async connect(): Promise<void> {
    if (this.inside.status !== 'ready') await this.inside.connect()
  }

  async send([name = '', ...args]: readonly string[]): Promise<Reply> {
    try {
      return (await this.inside.call(name, ...args)) as Reply
    } catch (error) {
      const isAnswer = error instanceof Error && error.constructor.name === 'ReplyError'
      throw isAnswer ? new RedisError(error.message, { cause: error }) : error
    }
  }

  async subscribe(channel: string, told: (message: string) => void): Promise<void> {
    this.inside.on('message', (from, message) => {
      if (from === channel) told(String(message))
    })
    await this.inside.subscribe(channel)
  }

  onChange(lost: (error: unknown) => void, back: () => void): void {
    this.inside.on('close', () => lost(new Error('the connection was closed')))
    this.inside.on('ready', back)
  }

  close(): void {
    this.inside.disconnect()
  }

  duplicate(): RedisClient {
    return new IoredisClient(this.inside.duplicate(own))
  }
}

/** @param given a client of the caller's, which is left as it is: its settings are used for connections of our own */
export const fromIoredis = (given: object): RedisClient => new IoredisClient((given as Inside).duplicate(own))

export async function ioredisAt(url: string): Promise<RedisClient> {
  const { Redis } = await import('ioredis')
  return fromIoredis(new Redis(url, { lazyConnect: true }))
}
