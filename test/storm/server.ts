/** The Redis server of a storm: it keeps what it has acknowledged, is killed and started again, and makes its clients wait. */
import { writeFileSync } from 'node:fs'
import { redisServer, type RedisServer } from '../support/redis-process.ts'
import { redisUrlFile } from './stores.ts'

export class StormServer {
  /** Set while it is down, until it answers again. */
  private restarting: Promise<void> | null = null
  private readonly server: RedisServer

  private constructor(server: RedisServer) {
    this.server = server
  }

  /** @param folder of the storm, in which the processes find the address */
  static async start(folder: string): Promise<StormServer> {
    const server = await redisServer('--appendonly', 'yes', '--appendfsync', 'always')
    writeFileSync(redisUrlFile(folder), server.url)
    return new StormServer(server)
  }

  get isDown(): boolean {
    return this.restarting !== null
  }

  /** @param back called when it answers again */
  restart(back: () => void): void {
    this.restarting = this.server
      .kill()
      .then(() => this.server.start())
      .then(back)
      .finally(() => (this.restarting = null))
  }

  /** No command is carried out for so long, ms. */
  hold(ms: number): void {
    void this.server.command('CLIENT', 'PAUSE', String(Math.ceil(ms)), 'ALL').catch(() => {})
  }

  async whenUp(): Promise<void> {
    await this.restarting
  }

  async end(): Promise<void> {
    await this.restarting
    await this.server.remove()
  }

  /** Ends it at once. */
  abandon(): void {
    void this.server.kill()
  }
}
