/**
 * The connection for what users read: lists, records, figures, the log. A large answer holds up what is behind it on
 * its connection, and this one has no claim, no heartbeat and no end of a run. It is made by the first read.
 */
import { Redis, type Command, type Commands, type RedisClient, type Reply } from './connection.ts'

export class Reads implements Commands {
  readonly hasOneServer: boolean
  private readonly makeClient: () => RedisClient
  private readonly where: string
  /** Has the connection for writes asked whether the server is the same as before. */
  private readonly greet: () => Promise<void>
  private redis: Redis | null = null
  private opening: Promise<Redis> | null = null
  private meeting: Promise<void> | null = null
  /** How often it has connected, and of how many of these the server was met: see `greet`. */
  private connected = 0
  private met = 0
  private isClosed = false

  /**
   * @param beside the connection for writes
   * @param greet has it ask whether the server is the one that is known
   */
  constructor(beside: Redis, where: string, greet: () => Promise<void>) {
    this.makeClient = () => beside.duplicate()
    this.hasOneServer = beside.hasOneServer
    this.where = where
    this.greet = greet
  }

  async send(command: Command): Promise<Reply> {
    return (await this.ready()).send(command)
  }

  async pipeline(commands: readonly Command[]): Promise<Reply[]> {
    return (await this.ready()).pipeline(commands)
  }

  close(): void {
    this.isClosed = true
    this.redis?.close()
  }

  /** A server that was started again has another log: what is read of it must not be taken for the known one. */
  private async ready(): Promise<Redis> {
    const redis = await (this.opening ??= this.open())
    if (this.met < this.connected) await (this.meeting ??= this.meet())
    return redis
  }

  private async open(): Promise<Redis> {
    const redis = (this.redis = new Redis(this.makeClient(), this.where))
    if (this.isClosed) redis.close()
    redis.onReady(() => this.connected++)
    try {
      await redis.connect()
      return redis
    } catch (error) {
      redis.close()
      // The next read tries again.
      this.opening = null
      throw error
    }
  }

  private async meet(): Promise<void> {
    const { connected } = this
    try {
      await this.greet()
      this.met = connected
    } finally {
      this.meeting = null
    }
  }
}
