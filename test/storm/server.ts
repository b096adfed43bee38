/**
 * The server of a storm: it is killed and started again, and makes its clients wait, or ends their connections. It
 * keeps what it has acknowledged, unless it is to lose the last second of it.
 */
import { writeFileSync } from 'node:fs'
import { sleep } from '../harness/sleep.ts'
import type { Loss } from 'jobchart/store-testing'
import { redisServer, type RedisServer } from '../support/redis-process.ts'
import { postgresServer, type PostgresServer } from '../support/postgres-process.ts'
import { serverUrlFile } from './stores.ts'

/** So much of what it has acknowledged it loses, ms. */
const lostMs = 1_000

/** What befalls a server. */
interface Victim {
  readonly url: string
  kill(): Promise<void>
  start(): Promise<void>
  remove(): Promise<void>
  hold(ms: number): Promise<unknown>
  /** @param isFull has it no memory left from now on? */
  fill(isFull: boolean): Promise<unknown>
  /** @returns makes it forget what it was told since, once it was killed */
  forgetLater(): () => void
}

async function redisVictim(): Promise<Victim> {
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--auto-aof-rewrite-percentage', '0']
  const server: RedisServer = await redisServer(...durable)
  return {
    url: server.url,
    kill: () => server.kill(),
    start: () => server.start(),
    remove: () => server.remove(),
    hold: (ms) => server.command('CLIENT', 'PAUSE', String(Math.ceil(ms)), 'ALL'),
    fill: (isFull) => server.command('CONFIG', 'SET', 'maxmemory', isFull ? '1' : '0'),
    forgetLater() {
      const { appended } = server
      return () => server.forgetSince(appended)
    },
  }
}

async function postgresVictim(): Promise<Victim> {
  // Only the power could take what a killed server has written.
  const server: PostgresServer = await postgresServer()
  const refused = (): never => {
    throw new TypeError('a PostgreSQL server of a storm is neither full, nor does it forget')
  }
  return {
    url: server.url,
    kill: () => server.kill(),
    start: () => server.start(),
    remove: () => server.remove(),
    hold: () =>
      server.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
      ),
    fill: refused,
    forgetLater: refused,
  }
}

export class StormServer {
  /** When it has lost what. */
  readonly losses: Loss[] = []
  /** Set while it is down, until it answers again. */
  private restarting: Promise<void> | null = null
  /** Set while its memory is full. */
  private filling: Promise<void> | null = null
  /** Resolves when what holds its clients up, or ends their connections, has been done. */
  private holding: Promise<void> = Promise.resolve()
  private readonly server: Victim

  private constructor(server: Victim) {
    this.server = server
  }

  /** @param folder of the storm, in which the processes find the address */
  static async start(folder: string, store: string): Promise<StormServer> {
    const server = store === 'postgres' ? await postgresVictim() : await redisVictim()
    writeFileSync(serverUrlFile(folder), server.url)
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
    const forget = loses ? server.forgetLater() : null
    if (loses) await sleep(lostMs)
    away()
    await server.kill()
    forget?.()
    await server.start()
    if (loses) this.losses.push({ from, to: Date.now() })
  }

  get isFull(): boolean {
    return this.filling !== null
  }

  /** Its memory is full until this has ended, or until it is started again. */
  fill(during: () => Promise<void>): void {
    this.filling = this.server
      .fill(true)
      .then(during)
      .then(() => this.server.fill(false))
      .then(
        () => {},
        // It is down, and has no limit when it is back.
        () => {},
      )
      .finally(() => (this.filling = null))
  }

  /** No command is carried out for so long, ms, or all connections are ended. */
  hold(ms: number): void {
    const held = this.server.hold(ms).then(
      () => {},
      // It is down.
      () => {},
    )
    this.holding = this.holding.then(() => held)
  }

  async whenUp(): Promise<void> {
    await this.filling
    await this.restarting
    await this.holding
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
