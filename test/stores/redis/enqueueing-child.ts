/**
 * Enqueues a job with each of some clients and closes it at once, then has nothing more to do: `url driver clients`.
 */
import { createClient as nodeRedis } from '@redis/client'
import { Redis } from 'ioredis'
import { createClient, defineJob } from 'jobchart'
import { redisStore } from 'jobchart/redis'

const [url = '', driver = '', clients = ''] = process.argv.slice(2)
const job = defineJob<number, void>({ type: 'work', run: async () => {} })

for (let i = 0; i < Number(clients); i++) {
  const given = driver === 'ioredis' ? new Redis(url, { lazyConnect: true }) : nodeRedis({ url })
  const client = createClient({ jobs: [job], store: redisStore({ client: given }), logger: {} })
  await client.enqueue(job, i)
  // The connection for wake-ups is at another point of its way for each client.
  for (let turn = 0; turn < i % 8; turn++) await new Promise(setImmediate)
  await client.close()
}
