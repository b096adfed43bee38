/** Scripts of a bounded number of jobs and bytes, because a script holds up every other client. */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { lease, newJob, noLimits, put, take } from '../../src/store-testing/conformance/acts.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import { redisSubject } from '../support/redis-subject.ts'

const server = serverOfFile()

async function scripts(): Promise<number> {
  const stats = String(await server().command('INFO', 'commandstats'))
  return Number(/cmdstat_fcall:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

test.for([
  ['without keys', () => null, {}],
  ['with keys', (i: number) => `key ${i % 3}`, { perKey: 20 }],
] as const)(
  'a claim of large jobs %s gets all of them, a megabyte at a time, in their order',
  async ([, keyOf, limits]) => {
    const subject = await redisSubject(server().url, nodeRedisAt, { prefix: randomUUID() })
    onTestFinished(() => subject.close())
    const { store } = subject
    const ids = Array.from({ length: 40 }, (_, i) => `job ${i}`)
    for (const [i, id] of ids.entries()) {
      await put(store, newJob(id, { input: 'x'.repeat(180_000), concurrencyKey: keyOf(i) }))
    }
    await put(store, newJob('small', { type: 'note' }))
    const before = await scripts()
    const demand = [
      { type: 'mail', max: 50, limits: { ...noLimits, ...limits } },
      { type: 'note', max: 1, limits: noLimits },
    ]
    const { jobs, shortfalls } = await store.claim({ worker: 'w', leaseMs: 60_000, token: 't', demand })
    expect(jobs.filter(({ type }) => type === 'mail').map(({ id }) => id)).toEqual(ids)
    expect(jobs.filter(({ type }) => type === 'note').length).toBe(1)
    expect(shortfalls).toEqual([{ type: 'mail', reason: 'empty' }])
    // 7.2 MB.
    expect((await scripts()) - before).toBeGreaterThanOrEqual(4)
  },
)

test.for([
  ['without keys', () => null, {}],
  ['with keys', (i: number) => `key ${i % 3}`, { perKey: 1_000 }],
] as const)('a claim of small jobs %s is a script for each 100, and all of them', async ([, keyOf, limits]) => {
  const subject = await redisSubject(server().url, nodeRedisAt, { prefix: randomUUID() })
  onTestFinished(() => subject.close())
  const ids = Array.from({ length: 1_000 }, (_, i) => `job ${i}`)
  await put(subject.store, ...ids.map((id, i) => newJob(id, { concurrencyKey: keyOf(i) })))
  const before = await scripts()
  const demand = [{ type: 'mail', max: 1_000, limits: { ...noLimits, ...limits } }]
  const { jobs } = await subject.store.claim({ worker: 'w', leaseMs: 60_000, token: 't', demand })
  expect(jobs.map(({ id }) => id)).toEqual(ids)
  expect((await scripts()) - before).toBe(10)
})

test('ends of runs with large outputs are written a megabyte at a time', async () => {
  const subject = await redisSubject(server().url, nodeRedisAt, { prefix: randomUUID() })
  onTestFinished(() => subject.close())
  await put(subject.store, ...Array.from({ length: 40 }, (_, i) => newJob(`job ${i}`)))
  const jobs = await take(subject.store, { max: 40 })
  const before = await scripts()
  const output = 'x'.repeat(180_000)
  const answers = await subject.store.settle(
    jobs.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done', output })),
  )
  expect(answers.map(({ outcome }) => outcome)).toEqual(jobs.map(() => 'settled'))
  // 7.2 MB, 5 jobs to a script.
  expect((await scripts()) - before).toBe(8)
  expect((await subject.store.counts()).done).toBe(40)
})

test('inserts of large jobs are written a megabyte at a time, and answered in their order', async () => {
  const subject = await redisSubject(server().url, nodeRedisAt, { prefix: randomUUID() })
  onTestFinished(() => subject.close())
  const ids = Array.from({ length: 40 }, (_, i) => `job ${i}`)
  await put(subject.store, newJob('first'))
  const before = await scripts()
  const requests = ids.map((id) => ({ jobs: [newJob(id, { input: 'x'.repeat(180_000) })], capacity: null }))
  const answers = await subject.store.insert(requests)
  expect(answers.map(([answer]) => answer?.id)).toEqual(ids)
  expect(answers.every(([answer]) => answer?.outcome === 'inserted')).toBe(true)
  // 7.2 MB, 5 jobs to a script.
  expect((await scripts()) - before).toBe(8)
  expect((await subject.store.counts()).queued).toBe(41)
})

test('inserts of small jobs are one script', async () => {
  const subject = await redisSubject(server().url, nodeRedisAt, { prefix: randomUUID() })
  onTestFinished(() => subject.close())
  await put(subject.store, newJob('first'))
  const before = await scripts()
  await subject.store.insert(Array.from({ length: 200 }, (_, i) => ({ jobs: [newJob(`job ${i}`)], capacity: null })))
  expect((await scripts()) - before).toBe(1)
})
