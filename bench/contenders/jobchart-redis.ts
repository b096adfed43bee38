/** Us, on a Redis server. */
import { redisStoreAt } from '../harness/stores.ts'
import type { RedisQueue } from '../redis/redis-queue.ts'
import { JobchartQueue } from './jobchart-queue.ts'

export const contender: RedisQueue = {
  open: async (work) => JobchartQueue.open(await redisStoreAt(work.url, work.prefix), work),
}
