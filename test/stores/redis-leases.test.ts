/** Leases of claims on a Redis server: jobs of a claim have one lease while nothing else happens to them. */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { newJob, put, take, workerInfo } from '../../src/store-testing/conformance/acts.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import { redisSubject } from '../support/redis-subject.ts'
import { movingClock } from './moving-clock.ts'

const server = serverOfFile()

test.for([
  [120, 1],
  [4, 150],
] as const)(
  'the jobs of %d claims of %d jobs whose leases end together are rescued by one call',
  async ([claims, jobs]) => {
    const clock = movingClock()
    const subject = await redisSubject(server().url, nodeRedisAt, { prefix: randomUUID(), clock })
    onTestFinished(() => subject.close())
    const { store } = subject
    await put(store, ...Array.from({ length: claims * jobs }, (_, i) => newJob(`job ${i}`)))
    for (let i = 0; i < claims; i++) await take(store, { max: jobs, token: `token ${i}`, leaseMs: 1_000 })
    await clock.advance(1_001)
    const { transitions, more } = await store.rescue(1_000)
    expect(transitions.length).toBe(claims * jobs)
    expect(more).toBe(false)
    expect((await store.counts()).queued).toBe(claims * jobs)
  },
)

test('the jobs of workers are read some at a time', async () => {
  const { store } = await redisSubject(server().url, nodeRedisAt)
  onTestFinished(() => store.close())
  await store.worker('w1', workerInfo('w1'))
  await put(store, ...Array.from({ length: 1_200 }, (_, i) => newJob(`job ${i}`)))
  await take(store, { max: 1_200 })
  const reads = async (): Promise<number> =>
    Number(/cmdstat_hmget:calls=(\d+)/.exec(String(await server().command('INFO', 'commandstats')))?.[1] ?? 0)
  const before = await reads()
  const [worker] = await store.workers()
  expect(worker?.running.length).toBe(1_200)
  // Three parts, each of rows and of check-ins.
  expect((await reads()) - before).toBeGreaterThanOrEqual(6)
})
