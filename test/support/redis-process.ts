/**
 * Redis servers of our own: each a process in a folder of its own, on a free port, without persistence if it is not
 * asked for.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, statSync, truncateSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { temporaryFolder } from './temporary-folder.ts'

export const program = process.env['JOBCHART_REDIS_SERVER'] ?? 'redis-server'

export class RedisServer {
  readonly port: number
  private readonly settings: readonly string[]
  private readonly env: Readonly<Record<string, string>>
  private readonly folder = temporaryFolder()
  private process: ChildProcess | null = null

  /** @param env variables of its environment beside those of this process */
  constructor(port: number, settings: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.port = port
    this.settings = settings
    this.env = env
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  async start(): Promise<void> {
    const own = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.folder.path, '--save', '']
    const env = { ...process.env, ...this.env }
    this.process = spawn(program, [...own, ...this.settings], { stdio: 'ignore', env })
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

  /**
   * The bytes that were appended to the file of commands. The server must be set to append, and not to rewrite its
   * file.
   */
  get appended(): number {
    return statSync(this.commandFile).size
  }

  /**
   * Of a server that was killed: removes what was appended since its file had this size, as a computer that loses power
   * does.
   */
  forgetSince(appended: number): void {
    truncateSync(this.commandFile, appended)
  }

  private get commandFile(): string {
    const folder = join(this.folder.path, 'appendonlydir')
    const [file, ...others] = readdirSync(folder).filter((name) => name.endsWith('.incr.aof'))
    if (file === undefined || others.length > 0) throw new Error(`${folder} has not one file of commands`)
    return join(folder, file)
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

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
