/** The client interface on ioredis: one server, one that a Sentinel chooses, or a cluster. */
import { importIoredis } from './peer.ts'
import { connectMsMax, reconnectMs, RedisError, type Command, type RedisClient, type Reply } from './connection.ts'

/** What this adapter uses of a client. */
interface Common {
  readonly status: string
  connect(): Promise<unknown>
  call(command: string, ...args: readonly string[]): Promise<unknown>
  subscribe(channel: string): Promise<unknown>
  on(event: string, listener: (...args: readonly unknown[]) => void): unknown
  disconnect(reconnect?: boolean): void
}

interface Single extends Common {
  readonly isCluster?: false
  duplicate(overrides: object): Single
}

interface Cluster extends Common {
  readonly isCluster: true
  duplicate(startupNodes: readonly never[], overrides: object): Cluster
}

/** A connection that is closed while the server is silent keeps the process for so long, ms. */
const disconnectTimeout = 100

/** Version 2 of the protocol: lists, texts and numbers, whatever the given client makes of answers. */
const connection = {
  protocol: 2,
  replyMapping: 'legacy',
  stringNumbers: false,
  keyPrefix: '',
  connectTimeout: connectMsMax,
  disconnectTimeout,
}

/** Commands fail at once while there is no connection; the client connects again by itself. */
const ownOptions = {
  ...connection,
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResubscribe: true,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: reconnectMs,
}

const clusterOptions = {
  lazyConnect: true,
  keyPrefix: '',
  enableOfflineQueue: false,
  clusterRetryStrategy: reconnectMs,
  redisOptions: connection,
}

class IoredisClient implements RedisClient {
  private readonly inside: Single | Cluster
  /** Why there is no connection: calls are told no more than that there is none. */
  private failure: unknown = null
  /** Who is told of messages, by channel. */
  private readonly told = new Map<string, (message: string) => void>()

  constructor(inside: Single | Cluster) {
    this.inside = inside
    inside.on('message', (channel, message) => this.told.get(String(channel))?.(String(message)))
    // Without a listener errors of the connection would be printed.
    inside.on('error', (error) => (this.failure = error))
    inside.on('ready', () => (this.failure = null))
  }

  async connect(): Promise<void> {
    if (this.inside.status !== 'ready') await this.inside.connect().catch(rethrow)
  }

  async send([name = '', ...args]: Command): Promise<Reply> {
    try {
      return (await this.inside.call(name, ...args)) as Reply
    } catch (error) {
      return rethrow(this.inside.status === 'ready' ? error : (this.failure ?? error))
    }
  }

  async subscribe(channel: string, told: (message: string) => void): Promise<void> {
    this.told.set(channel, told)
    await this.inside.subscribe(channel)
  }

  onReady(listener: () => void): void {
    this.inside.on('ready', listener)
  }

  get hasOneServer(): boolean {
    return this.inside.isCluster !== true
  }

  close(): void {
    this.inside.disconnect()
  }

  duplicate(): RedisClient {
    return fromIoredis(this.inside)
  }
}

/** The name of the class of answers depends on the version of ioredis. */
function rethrow(error: unknown): never {
  throw error instanceof Error && error.name === 'ReplyError' ? new RedisError(error.message, { cause: error }) : error
}

/** @param given a client of the caller's, which is left as it is: its settings are used for connections of our own */
export function fromIoredis(given: object): RedisClient {
  const client = given as Single | Cluster
  return new IoredisClient(
    client.isCluster === true ? client.duplicate([], clusterOptions) : client.duplicate(ownOptions),
  )
}

export async function ioredisAt(url: string): Promise<RedisClient> {
  const { Redis } = await importIoredis('ioredis')
  return fromIoredis(new Redis(url, { lazyConnect: true }))
}
