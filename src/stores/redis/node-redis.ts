/** The client interface on @redis/client. */
import { RedisError, type RedisClient, type Reply } from './connection.ts'

/** What this adapter uses of it. */
interface Inside {
  readonly options?: { readonly socket?: object }
  readonly isOpen: boolean
  readonly isReady: boolean
  connect(): Promise<unknown>
  sendCommand(command: readonly string[]): Promise<unknown>
  subscribe(channel: string, told: (message: string) => void): Promise<unknown>
  on(event: string, listener: (error: unknown) => void): unknown
  destroy(): void
  duplicate(overrides: object): Inside
}

/** Version 2 of the protocol: lists and texts alone. Commands fail at once while there is no connection. */
const own = ({ options }: Inside): object => ({
  RESP: 2,
  maintNotifications: 'disabled',
  disableOfflineQueue: true,
  socket: {
    ...options?.socket,
    connectTimeout: 5_000,
    reconnectStrategy: (tries: number) => Math.min(50 * 2 ** Math.min(tries, 6), 2_000),
  },
})

class NodeRedisClient implements RedisClient {
  private readonly inside: Inside

  constructor(inside: Inside) {
    this.inside = inside
    // Without a listener an error of the connection would end the process; calls tell of it.
    inside.on('error', () => {})
  }

  async connect(): Promise<void> {
    const { inside } = this
    if (inside.isReady) return
    const failed = new Promise<never>((_, reject) => inside.on('error', reject))
    await Promise.race([inside.connect(), failed])
  }

  async send(command: readonly string[]): Promise<Reply> {
    try {
      return (await this.inside.sendCommand(command)) as Reply
    } catch (error) {
      throw isAnswer(error) ? new RedisError(error.message, { cause: error }) : error
    }
  }

  async subscribe(channel: string, told: (message: string) => void): Promise<void> {
    await this.inside.subscribe(channel, told)
  }

  onChange(lost: (error: unknown) => void, back: () => void): void {
    this.inside.on('error', lost)
    this.inside.on('ready', back)
  }

  close(): void {
    if (this.inside.isOpen) this.inside.destroy()
  }

  duplicate(): RedisClient {
    return new NodeRedisClient(this.inside.duplicate(own(this.inside)))
  }
}

const isAnswer = (error: unknown): error is Error =>
  error instanceof Error && ['SimpleError', 'BlobError', 'ErrorReply'].includes(error.constructor.name)

/** @param given a client of the caller's, which is left as it is: its settings are used for connections of our own */
export function fromNodeRedis(given: object): RedisClient {
  const inside = given as Inside
  return new NodeRedisClient(inside.duplicate(own(inside)))
}

export async function nodeRedisAt(url: string): Promise<RedisClient> {
  const { createClient } = await import('@redis/client')
  return fromNodeRedis(createClient({ url }))
}
