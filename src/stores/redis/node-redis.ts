/** The client interface on @redis/client: one server, one that a Sentinel chooses, or a cluster. */
import { importNodeRedis } from './peer.ts'
import { connectMsMax, reconnectMs, RedisError, type Command, type RedisClient, type Reply } from './connection.ts'

/** What this adapter uses of each of the three. */
interface Common {
  readonly isOpen: boolean
  readonly isReady: boolean
  connect(): Promise<unknown>
  subscribe(channel: string, told: (message: string) => void): Promise<unknown>
  on(event: 'error' | 'ready', listener: (error: unknown) => void): unknown
  off(event: 'error', listener: (error: unknown) => void): unknown
  destroy(): unknown
}

interface Single extends Common {
  readonly options?: { readonly socket?: object }
  sendCommand(command: Command): Promise<unknown>
  duplicate(overrides: object): Single
}

interface Sentinel extends Common {
  sendCommand(isReadonly: boolean, command: Command): Promise<unknown>
  duplicate(overrides: object): Sentinel
  getMasterNode(): unknown
}

interface Cluster extends Common {
  sendCommand(firstKey: string | undefined, isReadonly: boolean, command: Command): Promise<unknown>
  duplicate(overrides: object): Cluster
  getSlotMaster(slot: number): unknown
}

type Given = Single | Sentinel | Cluster

/** Version 2 of the protocol: lists and texts alone, whatever the given client makes of answers. */
const plainAnswers = { RESP: 2, clientSideCache: undefined, commandOptions: {} }

/**
 * Commands fail at once while there is no connection. The driver makes no timer for each of them: see `Redis`.
 * @param closed ends a socket that is connecting: `destroy` of the driver knows none before it is connected, and leaves
 * it open
 */
const ownOptions = ({ options }: Single, closed: AbortSignal): object => ({
  ...plainAnswers,
  emitInvalidate: false,
  maintNotifications: 'disabled',
  disableOfflineQueue: true,
  commandOptions: { timeout: 0 },
  socket: { ...options?.socket, connectTimeout: connectMsMax, reconnectStrategy: reconnectMs, signal: closed },
})

class NodeRedisClient implements RedisClient {
  private readonly inside: Common
  private readonly command: (command: Command) => Promise<unknown>
  private readonly closing: AbortController
  readonly duplicate: () => RedisClient
  /** Why there is no connection: calls are told no more than that there is none. */
  private failure: unknown = null

  get hasOneServer(): boolean {
    return !('getSlotMaster' in this.inside)
  }

  /**
   * @param command sends a command to the server that has its keys
   * @param closing aborted by `close`
   */
  constructor(
    inside: Common,
    command: (command: Command) => Promise<unknown>,
    duplicate: () => RedisClient,
    closing = new AbortController(),
  ) {
    this.inside = inside
    this.command = command
    this.duplicate = duplicate
    this.closing = closing
    // Without a listener an error of the connection would end the process.
    inside.on('error', (error) => (this.failure = error))
    inside.on('ready', () => (this.failure = null))
  }

  async connect(): Promise<void> {
    const { inside, closing } = this
    if (inside.isReady || closing.signal.aborted) return
    const { promise: failed, reject } = Promise.withResolvers<never>()
    inside.on('error', reject)
    try {
      await Promise.race([inside.connect(), failed]).catch(rethrow)
    } finally {
      inside.off('error', reject)
      // What was being made at the close: clients of a cluster and of a Sentinel do not look at the signal.
      if (closing.signal.aborted) this.destroy()
    }
  }

  send(command: Command): Promise<Reply> {
    const failed = (error: unknown): never => rethrow(this.inside.isReady ? error : (this.failure ?? error))
    return this.command(command).catch(failed) as Promise<Reply>
  }

  async subscribe(channel: string, told: (message: string) => void): Promise<void> {
    await this.inside.subscribe(channel, told)
  }

  onReady(listener: () => void): void {
    this.inside.on('ready', listener)
  }

  close(): void {
    if (this.inside.isOpen) this.destroy()
    this.closing.abort()
  }

  /** A client that tears down a connection under way rejects, or throws; nothing is waiting for it. */
  private destroy(): void {
    void (async () => this.inside.destroy())().catch(() => {})
  }
}

function rethrow(error: unknown): never {
  throw isAnswer(error) ? new RedisError(error.message, { cause: error }) : error
}

const isAnswer = (error: unknown): error is Error =>
  error instanceof Error && ['SimpleError', 'BlobError', 'ErrorReply'].includes(error.constructor.name)

/** In a cluster a command goes to the server of its first key; one without keys, to any. */
function firstKeyOf([name, key, , scriptKey]: Command): string | undefined {
  return name === 'EVALSHA' || name === 'EVAL' ? scriptKey : key
}

/**
 * @param given a client of the caller's, which is left as it is: its settings are used for connections of our own
 * @param url if it is not the one of the given client
 */
export function fromNodeRedis(given: object, url: { readonly url?: string } = {}): RedisClient {
  const client = given as Given
  if ('getSlotMaster' in client) {
    const inside = client.duplicate(plainAnswers)
    const send = (command: Command): Promise<unknown> => inside.sendCommand(firstKeyOf(command), false, command)
    return new NodeRedisClient(inside, send, () => fromNodeRedis(inside))
  }
  if ('getMasterNode' in client) {
    const inside = client.duplicate(plainAnswers)
    return new NodeRedisClient(
      inside,
      (command) => inside.sendCommand(false, command),
      () => fromNodeRedis(inside),
    )
  }
  const closing = new AbortController()
  const inside = client.duplicate({ ...ownOptions(client, closing.signal), ...url })
  return new NodeRedisClient(
    inside,
    (command) => inside.sendCommand(command),
    () => fromNodeRedis(inside),
    closing,
  )
}

export async function nodeRedisAt(url: string): Promise<RedisClient> {
  const { createClient } = await importNodeRedis('@redis/client')
  // Of clients with the same options the driver makes one class, with all commands of Redis: 10 ms. So this one has
  // none.
  return fromNodeRedis(createClient(), { url })
}
