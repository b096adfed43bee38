/**
 * The floor: what one would write by hand and then make fast. A job is a member of a list and a value in a hash; one
 * script stores a batch, and one script ends a batch and hands out the next. No leases, history, retries, priorities or
 * events.
 */
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import type { RedisClient } from '../../src/stores/redis/connection.ts'
import type { Handler, Input } from '../contender.ts'
import type { OpenQueue, EnqueueMode } from '../open-queue.ts'
import type { RedisQueue, RedisWork } from '../redis/redis-queue.ts'

const insert = `
local ids, values = {}, {}
for i = 1, #ARGV, 2 do
  ids[#ids + 1] = ARGV[i]
  values[#values + 1] = ARGV[i]
  values[#values + 1] = ARGV[i + 1]
end
redis.call('HSET', KEYS[1], unpack(values))
redis.call('RPUSH', KEYS[2], unpack(ids))
return #ids
`
const take = `
if #ARGV > 1 then
  local ended = { unpack(ARGV, 2) }
  redis.call('HDEL', KEYS[1], unpack(ended))
  redis.call('ZREM', KEYS[3], unpack(ended))
end
local ids = redis.call('LPOP', KEYS[2], ARGV[1])
if not ids then return { {}, {} } end
local now = redis.call('TIME')[1]
local leases = {}
for _, id in ipairs(ids) do
  leases[#leases + 1] = now
  leases[#leases + 1] = id
end
redis.call('ZADD', KEYS[3], unpack(leases))
return { ids, redis.call('HMGET', KEYS[1], unpack(ids)) }
`

class Floor implements OpenQueue {
  private readonly client: RedisClient
  private readonly work: RedisWork
  private readonly keys: readonly [jobs: string, waiting: string, running: string]
  private readonly scripts: { readonly insert: string; readonly take: string }

  private constructor(client: RedisClient, work: RedisWork, scripts: { insert: string; take: string }) {
    this.client = client
    this.work = work
    this.scripts = scripts
    this.keys = [`${work.prefix}:jobs`, `${work.prefix}:waiting`, `${work.prefix}:running`]
  }

  static async open(work: RedisWork): Promise<Floor> {
    const client = await nodeRedisAt(work.url)
    await client.connect()
    const [inserts, takes] = [
      await client.send(['SCRIPT', 'LOAD', insert]),
      await client.send(['SCRIPT', 'LOAD', take]),
    ]
    return new Floor(client, work, { insert: String(inserts), take: String(takes) })
  }

  async enqueue(count: number, { size }: EnqueueMode): Promise<void> {
    const [jobs, waiting] = this.keys
    const types = this.work.handlers.length
    for (let first = 0; first < count; first += size) {
      const args: string[] = []
      for (let i = first; i < Math.min(first + size, count); i++) args.push(`${i % types}:${i}`, JSON.stringify({ i }))
      await this.client.send(['EVALSHA', this.scripts.insert, '2', jobs, waiting, ...args])
    }
  }

  async process(): Promise<void> {
    const { handlers, slots } = this.work
    let ids: readonly string[] = []
    do {
      const command = ['EVALSHA', this.scripts.take, '3', ...this.keys, String(slots), ...ids]
      const [taken, inputs] = (await this.client.send(command)) as [readonly string[], readonly string[]]
      await Promise.all(
        taken.map((id, i) => (handlers[Number(id[0])] as Handler)(JSON.parse(inputs[i] ?? '') as Input)),
      )
      ids = taken
    } while (ids.length > 0)
  }

  async left(): Promise<number> {
    return Number(await this.client.send(['HLEN', this.keys[0]]))
  }

  async close(): Promise<void> {
    this.client.close()
  }
}

export const contender: RedisQueue = { open: (work) => Floor.open(work) }
