/** Redis servers that tests start for themselves: each in a folder of its own, on a free port. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { afterAll, beforeAll, test } from 'vitest'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { temporaryFolder } from './temporary-folder.ts'

const program = process.env['JOBCHART_REDIS_SERVER'] ?? 'redis-server'

/** Why no server can be started here; null = one can. */
const missing =
  spawnSync(program, ['--version']).status === 0 ? null : `${program} is not installed: apt-get install redis-server`

if (missing !== null) console.error(`Tests of the Redis store are left out: ${missing}`)

/** A test that needs a server. Under CI=true a test that is left out fails the run. */
export const redisTest = test.skipIf(missing !== null)

export class RedisServer {
  readonly port: number
  private readonly settings: readonly string[]
  private readonly folder = temporaryFolder()
  private process: ChildProcess | null = null

  constructor(port: number, settings: readonly string[]) {
    this.port = port
    this.settings = settings
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  async start(): Promise<void> {
    const own = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.folder.path, '--save', '']
    this.process = spawn(program, [...own, ...this.settings], { stdio: 'ignore' })
    for (;;) {
      try {
        if ((await this.command('PING')) === 'PONG') return
      } catch {
        if (this.process.exitCode !== null) throw new Error(`${program} has ended with ${this.process.exitCode}`)
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    }
  }

  /** A command of an administrator. */
  async command(...command: readonly string[]): Promise<unknown> {
    const client = await nodeRedisAt(this.url)
    try {
      await client.connect()
      return await client.send(command)
    } finally {
      client.close()
    }
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const { process } = this
    this.process = null
    if (process === null || process.exitCode !== null) return
    const ended = once(process, 'exit')
    process.kill(signal)
    await ended
  }

  async remove(): Promise<void> {
    await this.kill()
    this.folder.remove()
  }
}

export async function redisServer(...settings: readonly string[]): Promise<RedisServer> {
  const server = new RedisServer(await freePort(), settings)
  await server.start()
  return server
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** One server for the tests of a file. */
export function serverOfFile(...settings: readonly string[]): () => RedisServer {
  let server: RedisServer | null = null
  beforeAll(async () => {
    if (missing === null) server = await redisServer(...settings)
  })
  afterAll(() => server?.remove())
  return () => {
    if (server === null) throw new Error(missing ?? 'the server has not been started')
    return server
  }
}
