/** What another process does is in the live stream of a dashboard within half a second. */
import { test } from 'vitest'
import { redisTest, serverOfFile } from '../support/redis-server.ts'
import { expectSoon, onRedis, onSqlite, rounds, watching, type Place } from './latency.ts'
import type { Report } from './reporting-process.ts'
import type { ShownJob } from './shapes.ts'
import { messages } from './world.ts'

const server = serverOfFile()

async function isLive(place: Place): Promise<void> {
  const { dashboard, tell } = await watching(place)
  const call = (path: string) => dashboard.fetch(new Request(`http://localhost/api/v1${path}`))
  const stream = messages(await call('/events?job=reporting-1'))
  await stream.next()
  const shown = async () => (await (await call('/jobs/reporting-1')).json()) as ShownJob
  const lateMs: Record<'checkin' | 'log', number[]> = { checkin: [], log: [] }
  for (let round = 0; round < 2 * rounds; round++) {
    const isLog = round % 2 === 1
    const before = await shown()
    const what = isLog ? 'log' : 'checkin'
    tell(what)
    for await (const { event } of { [Symbol.asyncIterator]: () => ({ next: () => stream.next() }) }) {
      if (event !== 'job') continue
      const { job } = await shown()
      const line = job.logs.length > before.job.logs.length ? job.logs.at(-1)?.message : undefined
      const at = isLog ? Number(line?.split(' ').at(-1)) : (job.checkin?.value as unknown as Report | undefined)?.at
      if (isLog ? line === undefined : job.checkin?.at === before.job.checkin?.at) continue
      lateMs[what].push(Date.now() - (at ?? NaN))
      break
    }
  }
  await stream.return(undefined)
  expectSoon(lateMs.checkin)
  expectSoon(lateMs.log)
}

test('check-ins and logs of another process are live, on one file', () => isLive(onSqlite()))
redisTest('check-ins and logs of another process are live, on Redis', () => isLive(onRedis(server())))
