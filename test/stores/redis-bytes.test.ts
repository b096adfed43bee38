/** Scripts of a bounded number of jobs and bytes, because a script holds up every other client. */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { lease, newJob, noLimits, put, take } from '../../src/store-testing/conformance/acts.ts'
import type { JobFilter } from '../../src/store.ts'
import type { RedisClient } from '../../src/stores/redis/connection.ts'
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
  ['without keys', 100, () => null, {}],
  ['with keys', 50, (i: number) => `key ${i % 3}`, { perKey: 1_000 }],
] as const)('a claim of small jobs %s is a script for each %i, and all of them', async ([, each, keyOf, limits]) => {
  const subject = await redisSubject(server().url, nodeRedisAt, { prefix: randomUUID() })
  onTestFinished(() => subject.close())
  const ids = Array.from({ length: 1_000 }, (_, i) => `job ${i}`)
  await put(subject.store, ...ids.map((id, i) => newJob(id, { concurrencyKey: keyOf(i) })))
  const before = await scripts()
  const demand = [{ type: 'mail', max: 1_000, limits: { ...noLimits, ...limits } }]
  const { jobs } = await subject.store.claim({ worker: 'w', leaseMs: 60_000, token: 't', demand })
  expect(jobs.map(({ id }) => id)).toEqual(ids)
  expect((await scripts()) - before).toBe(1_000 / each)
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

test('ends of failed runs are written 50 at a time, others 200 at a time', async () => {
  const subject = await redisSubject(server().url, nodeRedisAt, { prefix: randomUUID() })
  onTestFinished(() => subject.close())
  await put(subject.store, ...Array.from({ length: 800 }, (_, i) => newJob(`job ${i}`)))
  const jobs = (await take(subject.store, { max: 800 })).map(lease)
  const before = await scripts()
  const error = { name: 'Error', message: 'boom' }
  await subject.store.settle(
    jobs.slice(0, 400).map((each) => ({ ...each, event: 'FAIL', to: 'retrying', error, delayMs: 1_000 })),
  )
  expect((await scripts()) - before).toBe(8)
  await subject.store.settle(jobs.slice(400).map((each) => ({ ...each, event: 'COMPLETE', to: 'done' })))
  expect((await scripts()) - before).toBe(10)
  expect(await subject.store.counts()).toMatchObject({ done: 400, retrying: 400 })
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

test('a list of few ended jobs reads at most 500 rows in one command, also beside many that have been retried', async () => {
  const lengths: number[] = []
  const clientAt = async (url: string): Promise<RedisClient> => counting(await nodeRedisAt(url), lengths)
  const subject = await redisSubject(server().url, clientAt)
  onTestFinished(() => subject.close())
  const { store } = subject
  const ids = Array.from({ length: 2_400 }, (_, i) => `job ${i}`)
  await put(store, ...ids.map((id) => newJob(id, { maxAttempts: 1 })))
  const error = { name: 'Error', message: 'boom' }
  const jobs = (await take(store, { max: ids.length })).map(lease)
  await store.settle(jobs.map((each) => ({ ...each, event: 'FAIL', to: 'dead', error })))
  await store.retry(ids.slice(60))
  lengths.length = 0
  const page = await store.list({ state: 'dead', limit: 100, order: 'newest' })
  expect(page.map(({ id }) => id)).toEqual(ids.slice(0, 60).toReversed())
  expect(Math.max(...lengths)).toBeLessThanOrEqual(500)
})

test.for([{ type: 'rare' }, { type: 'rare', state: ['done', 'dead'] }] as const)(
  'a list of %o, of which all have ended, reads no rows of other types',
  async (filter) => {
    const lengths: number[] = []
    const clientAt = async (url: string): Promise<RedisClient> => counting(await nodeRedisAt(url), lengths)
    const subject = await redisSubject(server().url, clientAt)
    onTestFinished(() => subject.close())
    const { store } = subject
    const error = { name: 'Error', message: 'boom' }
    const end = async (type: string, max: number): Promise<void> => {
      const jobs = (await take(store, { type, max })).map(lease)
      await store.settle(
        jobs.map((each) =>
          each.id === 'b' ? { ...each, event: 'FAIL', to: 'dead', error } : { ...each, event: 'COMPLETE', to: 'done' },
        ),
      )
    }
    await put(store, ...['a', 'b', 'c'].map((id) => newJob(id, { type: 'rare', maxAttempts: 1 })))
    await end('rare', 3)
    await put(store, ...Array.from({ length: 1_000 }, (_, i) => newJob(`job ${i}`)))
    await end('mail', 500)
    lengths.length = 0
    const page = await store.list({ ...filter, limit: 50, order: 'newest' })
    expect(page.map(({ id }) => id)).toEqual(['c', 'b', 'a'])
    expect(lengths.reduce((sum, rows) => sum + rows, 0)).toBeLessThan(50)
    // One that waits again is in none of these indexes.
    await store.retry(['b'])
    const found = await store.list({ ...filter, limit: 50, order: 'newest' })
    expect(found.map(({ id }) => id)).toEqual('state' in filter ? ['c', 'a'] : ['c', 'b', 'a'])
  },
)

const rare = { type: 'rare\0', tags: ['a "tag"', 'ä'], concurrencyKey: 'tenant\x01', delayMs: 3_600_000 }

test('lists by what no index has look through the rows in the server, and read those that are found', async () => {
  const lengths: number[] = []
  const clientAt = async (url: string): Promise<RedisClient> => counting(await nodeRedisAt(url), lengths)
  const subject = await redisSubject(server().url, clientAt)
  onTestFinished(() => subject.close())
  const { store } = subject
  const rareAt = new Map([10, 3_000, 5_950].map((at) => [at, newJob(`rare ${at}`, { ...rare, key: `key ${at}` })]))
  const jobs = Array.from({ length: 6_000 }, (_, i) => rareAt.get(i) ?? newJob(`job ${i}`, { tags: ['common'] }))
  for (let i = 0; i < jobs.length; i += 1_000) await put(store, ...jobs.slice(i, i + 1_000))
  // Their rows have grown.
  const taken = (await take(store, { max: 100 })).map(lease)
  await store.settle(taken.slice(0, 50).map((job) => ({ ...job, event: 'COMPLETE', to: 'done' })))
  const all = ['rare 10', 'rare 3000', 'rare 5950']
  const filters: readonly (readonly [JobFilter, readonly string[]])[] = [
    [{ tag: 'ä' }, all],
    [{ tag: 'a "tag"' }, all],
    [{ tag: 'tag' }, []],
    [{ key: 'key 3000' }, ['rare 3000']],
    [{ concurrencyKey: 'tenant\x01' }, all],
    [{ concurrencyKey: 'tenant\x01', tag: 'common' }, []],
    [{ type: 'rare\0' }, all],
    [{ type: ['none', 'rare\0'], tag: 'ä' }, all],
    [{ state: 'scheduled' }, all],
    [{ state: ['scheduled', 'retrying'], type: 'rare\0', key: 'key 10' }, ['rare 10']],
  ]
  for (const [filter, ids] of filters) {
    for (const [order, wanted] of [
      ['oldest', ids],
      ['newest', ids.toReversed()],
    ] as const) {
      lengths.length = 0
      const found: string[] = []
      let after: string | undefined
      do {
        const page = await store.list({ ...filter, order, limit: 1, ...(after !== undefined && { after }) })
        found.push(...page.map(({ id }) => id))
        after = page.next
      } while (after !== undefined)
      expect([filter, order, found]).toEqual([filter, order, wanted])
      expect(lengths.reduce((sum, rows) => sum + rows, 0)).toBeLessThan(60)
    }
  }
  // What is in so many rows that pages are full of them.
  const common = jobs.flatMap(({ id }) => (id.startsWith('rare') ? [] : [id]))
  for (const order of ['oldest', 'newest'] as const) {
    const first = await store.list({ tag: 'common', limit: 50, order })
    const second = await store.list({ tag: 'common', limit: 50, order, after: first.next ?? '' })
    const wanted = order === 'oldest' ? common.slice(0, 100) : common.slice(-100).toReversed()
    expect([...first, ...second].map(({ id }) => id)).toEqual(wanted)
  }
})

test('a script looks through a megabyte of rows', async () => {
  const subject = await redisSubject(server().url, nodeRedisAt, { prefix: randomUUID() })
  onTestFinished(() => subject.close())
  const { store } = subject
  await put(store, newJob('first', { type: 'other' }))
  const input = 'x'.repeat(4_000)
  for (let i = 0; i < 3; i++) await put(store, ...Array.from({ length: 200 }, (_, n) => newJob(`${i} ${n}`, { input })))
  const before = await scripts()
  const found = await store.list({ type: 'other', order: 'newest' })
  expect(found.map(({ id }) => id)).toEqual(['first'])
  // 2.4 MB, and the counts.
  expect((await scripts()) - before).toBeGreaterThanOrEqual(4)
})

test('a call looks through 40,000 rows, and the next one goes on behind them', async () => {
  const subject = await redisSubject(server().url, nodeRedisAt)
  onTestFinished(() => subject.close())
  const { store } = subject
  await put(store, newJob('tagged', { tags: ['rare'] }))
  for (let i = 0; i < 41; i++) await put(store, ...Array.from({ length: 1_000 }, (_, n) => newJob(`job ${i} ${n}`)))
  const first = await store.list({ tag: 'rare', limit: 50, order: 'newest' })
  expect([first.length, first.next !== undefined]).toEqual([0, true])
  const second = await store.list({ tag: 'rare', limit: 50, order: 'newest', after: first.next ?? '' })
  expect([second.map(({ id }) => id), second.next]).toEqual([['tagged'], undefined])
})

/** A client that tells how many rows each of its commands reads. */
function counting(client: RedisClient, lengths: number[]): RedisClient {
  return {
    connect: () => client.connect(),
    send(command) {
      if (command[0] === 'HMGET') lengths.push(command.length - 2)
      return client.send(command)
    },
    subscribe: (channel, told) => client.subscribe(channel, told),
    onReady: (listener) => client.onReady(listener),
    close: () => client.close(),
    duplicate: () => counting(client.duplicate(), lengths),
    hasOneServer: client.hasOneServer,
  }
}
