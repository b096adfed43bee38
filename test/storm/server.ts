/**
 * The Redis server of a storm: it is killed and started again, and makes its clients wait. It keeps what it has
 * acknowledged, unless it is to lose the last second of it.
 */
import { writeFileSync } from 'node:fs'
import { sleep } from '../harness/sleep.ts'
import type { Loss } from 'jobchart/store-testing'
import { redisServer, type RedisServer } from '../support/redis-process.ts'
import { redisUrlFile } from './stores.ts'

/** So much of what it has acknowledged it loses, ms. */
const lostMs = 1_000

export class StormServer {
  /** When it has lost what. */
  readonly losses: Loss[] = []
  /** Set while it is down, until it answers again. */
  private restarting: Promise<void> | null = null
  /** Set while its memory is full. */
  private filling: Promise<void> | null = null
  private readonly server: RedisServer

  private constructor(server: RedisServer) {
    this.server = server
  }

  /** @param folder of the storm, in which the processes find the address */
  static async start(folder: string): Promise<StormServer> {
    const server = await redisServer(
      '--appendonly',
      'yes',
      '--appendfsync',
      'always',
      '--auto-aof-rewrite-percentage',
      '0',
    )
    writeFileSync(redisUrlFile(folder), server.url)
    return new StormServer(server)
  }

  get isDown(): boolean {
    return this.restarting !== null
  }

  /** @param away called when it is killed @param back called when it answers again */
  restart(away: () => void, back: () => void, loses: boolean): void {
    this.restarting = this.killAndStart(away, loses)
      .then(back)
      .finally(() => (this.restarting = null))
  }

  private async killAndStart(away: () => void, loses: boolean): Promise<void> {
    const { server } = this
    const from = Date.now()
    const { appended } = server
    if (loses) await sleep(lostMs)
    away()
    await server.kill()
    if (loses) server.forgetSince(appended)
    await server.start()
    if (loses) this.losses.push({ from, to: Date.now() })
  }

  get isFull(): boolean {
    return this.filling !== null
  }

  /** Its memory is full until this has ended, or until it is started again. */
  fill(during: () => Promise<void>): void {
    const limit = (bytes: string): Promise<unknown> => this.server.command('CONFIG', 'SET', 'maxmemory', bytes)
    this.filling = limit('1')
      .then(during)
      .then(() => limit('0'))
      .then(
        () => {},
        // It is down, and has no limit when it is back.
        () => {},
      )
      .finally(() => (this.filling = null))
  }

  /** No command is carried out for so long, ms. */
  hold(ms: number): void {
    void this.server.command('CLIENT', 'PAUSE', String(Math.ceil(ms)), 'ALL').catch(() => {})
  }

  async whenUp(): Promise<void> {
    await this.filling
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
