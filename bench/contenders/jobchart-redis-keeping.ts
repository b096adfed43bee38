/** Us, on a Redis server, keeping every job that has ended: as the peers do. */
import { redisStoreAt } from '../harness/stores.ts'
import type { RedisQueue } from '../redis/redis-queue.ts'
import { JobchartQueue } from './jobchart-queue.ts'

const retention = { done: { count: 1_000_000_000 } }

export const contender: RedisQueue = {
  open: async (work) => JobchartQueue.open(await redisStoreAt(work.url, work.prefix), work, { retention }),
}
