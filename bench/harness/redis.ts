/** The Redis server of a section, and its counters. */
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { freePort, redisServer, RedisServer } from '../../test/support/redis-process.ts'
import type { Counters } from './queue-work.ts'

/**
 * Calls `use` with the address of a new server, which is gone afterwards.
 * @param settings of the server; without them it keeps nothing
 */
export async function withServer<T>(use: (url: string) => Promise<T>, settings: readonly string[] = []): Promise<T> {
  return using(await redisServer(...settings), use)
}

async function using<T>(server: RedisServer, use: (url: string) => Promise<T>): Promise<T> {
  try {
    return await use(server.url)
  } finally {
    await server.remove()
  }
}

/** jemalloc, which Redis is built with, gives no memory back to the system. */
const keepsMemory = { MALLOC_CONF: 'dirty_decay_ms:-1,muzzy_decay_ms:-1' }
const valueBytes = 500_000

/**
 * Calls `use` with the address of a new server that has used so much memory before, and keeps it. The time that a
 * system takes to hand out memory, some 15 µs per page in virtual machines, is then in no measurement.
 */
export async function withUsedServer<T>(bytes: number, use: (url: string) => Promise<T>): Promise<T> {
  const server = new RedisServer(await freePort(), [], keepsMemory)
  await server.start()
  return using(server, async (url) => {
    const client = await nodeRedisAt(url)
    await client.connect()
    const names = Array.from({ length: Math.ceil(bytes / valueBytes) }, (_, n) => `value ${n}`)
    for (const name of names) await client.send(['SET', name, 'x'.repeat(valueBytes)])
    for (const name of names) await client.send(['DEL', name])
    client.close()
    return use(url)
  })
}

export interface ServerCounters extends Counters {
  /** Carried out, those of scripts too. */
  readonly commands: number
  /** Received and sent. */
  readonly bytes: number
  /** CPU time of its main thread, µs. */
  readonly cpuMicros: number
}

/** A connection that reads the counters of a server; its own commands are few, and counted. */
export class ServerView {
  private readonly client: Awaited<ReturnType<typeof nodeRedisAt>>

  private constructor(client: Awaited<ReturnType<typeof nodeRedisAt>>) {
    this.client = client
  }

  static async at(url: string): Promise<ServerView> {
    const client = await nodeRedisAt(url)
    await client.connect()
    return new ServerView(client)
  }

  async counters(): Promise<ServerCounters> {
    const info = String(await this.client.send(['INFO', 'ALL']))
    const value = (name: string): number => Number(new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1] ?? 'NaN')
    return {
      commands: value('total_commands_processed'),
      bytes: value('total_net_input_bytes') + value('total_net_output_bytes'),
      cpuMicros: (value('used_cpu_user_main_thread') + value('used_cpu_sys_main_thread')) * 1e6,
    }
  }

  /** Removes all keys. */
  async clear(): Promise<void> {
    await this.client.send(['FLUSHALL', 'SYNC'])
  }

  close(): void {
    this.client.close()
  }
}
