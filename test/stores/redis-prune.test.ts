/** Retention on Redis: what a look costs, and a server that is lost in the middle of one. */
import { expect, onTestFinished } from 'vitest'
import { cancel, lease, newJob, prune as pruneStore, put, take } from '../../src/store-testing/conformance/acts.ts'
import { RemoteDriver } from '../../src/stores/remote/driver.ts'
import { prune } from '../../src/stores/redis/prune.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import type { RedisServer } from '../../src/stores/redis/server.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import { redisSubject } from '../support/redis-subject.ts'

const server = serverOfFile()

test('a look whose reads all fail rejects, and leaves no rejection to the process', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  const lost = async (): Promise<never> => {
    throw new Error('the connection was lost')
  }
  const lostServer = {
    redis: { pipeline: async () => [['type'], [], []], send: lost },
    keys: {},
    time: { now: () => 0 },
    run: lost,
  } as unknown as RedisServer
  await expect(prune({ server: lostServer, driver: new RemoteDriver(lostServer) }, 100)).rejects.toThrow(
    'the connection was lost',
  )
  // Node tells of it when the turn is over.
  await new Promise((resolve) => setImmediate(resolve))
  expect(unhandled).toEqual([])
})

test('a busy worker removes as many jobs as it ends: 500 of them take six scripts', async () => {
  const { store } = await redisSubject(server().url, nodeRedisAt)
  onTestFinished(() => store.close())
  for (let first = 0; first < 1_200; first += 100) {
    await put(store, ...Array.from({ length: 100 }, (_, i) => newJob(`job ${first + i}`)))
    const claimed = await take(store, { max: 100 })
    await store.settle(claimed.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' })))
  }
  const calls = async (): Promise<number> =>
    Number(/cmdstat_fcall:calls=(\d+)/.exec(String(await server().command('INFO', 'commandstats')))?.[1] ?? 0)
  const none = { count: 0, ageMs: 0 }
  const policies = { done: none, dead: none, cancelled: none }
  expect(await pruneStore(store, policies, 1)).toMatchObject({ pruned: 1, more: true })
  for (const left of [699, 199]) {
    const before = await calls()
    expect(await store.prune(500)).toMatchObject({ pruned: 500, more: true })
    expect((await calls()) - before).toBeLessThanOrEqual(6)
    expect((await store.counts()).done).toBe(left)
  }
  expect(await store.prune(500)).toMatchObject({ pruned: 199, more: false })
  expect((await store.list({ limit: 10 })).length).toBe(0)
})

test('of many types with jobs to go as many are looked at as one prune removes, not as many as may go of each', async () => {
  const { store } = await redisSubject(server().url, nodeRedisAt)
  onTestFinished(() => store.close())
  const types = Array.from({ length: 60 }, (_, i) => `type ${i}`)
  for (const type of types) {
    await put(store, ...Array.from({ length: 100 }, (_, i) => newJob(`${type} ${i}`, { type })))
    const claimed = await take(store, { type, max: 100 })
    await store.settle(claimed.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' })))
  }
  // Rows are read twenty at a time.
  const reads = async (): Promise<number> =>
    Number(/cmdstat_hmget:calls=(\d+)/.exec(String(await server().command('INFO', 'commandstats')))?.[1] ?? 0)
  const none = { count: 0, ageMs: 0 }
  expect(await pruneStore(store, { done: none, dead: none, cancelled: none }, 1)).toMatchObject({ pruned: 1 })
  const before = await reads()
  expect(await store.prune(500)).toMatchObject({ pruned: 500, more: true })
  // It took 392.
  expect((await reads()) - before).toBeLessThan(200)
  expect(await store.prune(10_000)).toMatchObject({ pruned: 5_499, more: false })
  expect((await store.counts()).done).toBe(0)
})

test('a type of which nothing is to be removed is looked at again when its bound is reached, not at each prune', async () => {
  const { store } = await redisSubject(server().url, nodeRedisAt, { prefix: 'bound' })
  onTestFinished(() => store.close())
  const dueAt = async (): Promise<string> => String(await server().command('ZSCORE', '{bound}:looks', 'mail'))
  let last = 0
  const end = async (count: number): Promise<void> => {
    await put(store, ...Array.from({ length: count }, () => newJob(`job ${last++}`)))
    const claimed = await take(store, { max: count })
    await store.settle(claimed.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' })))
  }
  const hour = 3_600_000
  const bounds = { count: 40, ageMs: 3 * hour, minAgeMs: hour, countMax: 60 }
  const policies = { done: bounds, dead: bounds, cancelled: bounds }
  await end(1)
  expect(await dueAt()).toBe('0')
  expect(await pruneStore(store, policies, 100)).toMatchObject({ pruned: 0 })
  const oldest = Number(await dueAt())
  expect(oldest).toBeGreaterThan(store.now() + 2 * hour)
  await end(39)
  expect(Number(await dueAt())).toBe(oldest)
  // Of more than are kept for long, the first one goes earlier.
  await end(1)
  expect(await dueAt()).toBe('0')
  expect(await store.prune(100)).toMatchObject({ pruned: 0 })
  expect(Number(await dueAt())).toBe(oldest - 2 * hour)
  await end(19)
  expect(Number(await dueAt())).toBe(oldest - 2 * hour)
  // And of more than are kept at all at once.
  await end(2)
  expect(await dueAt()).toBe('0')
  expect(await store.prune(100)).toMatchObject({ pruned: 2, more: false })
  expect(await store.prune(100)).toMatchObject({ pruned: 0 })
  await end(1)
  expect(await store.prune(100)).toMatchObject({ pruned: 1 })
  // Other ends are always looked at.
  await store.prune(100)
  await put(store, newJob('cancelled'))
  await cancel(store, ['cancelled'])
  expect(await dueAt()).toBe('0')
})

test('a policy of a type has this type looked at again, that of the others has all', async () => {
  const { store } = await redisSubject(server().url, nodeRedisAt, { prefix: 'policies' })
  onTestFinished(() => store.close())
  const dueNow = async (): Promise<string> =>
    String(await server().command('ZRANGE', '{policies}:looks', '0', '0', 'BYSCORE'))
  for (const type of ['mail', 'news', 'report']) {
    await put(store, newJob(`${type} 1`, { type }))
    const claimed = await take(store, { type })
    await store.settle(claimed.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' })))
  }
  const policyOf = (count: number) => {
    const bounds = { count, ageMs: 3_600_000 }
    return { done: bounds, dead: bounds, cancelled: bounds }
  }
  await store.retain({ others: policyOf(1_000), types: new Map([['mail', policyOf(1_000)]]) })
  await store.prune(100)
  expect(await dueNow()).toBe('')
  await store.retain({ others: policyOf(1_000), types: new Map([['mail', policyOf(1_000)]]) })
  expect(await dueNow()).toBe('')
  const ofOne = new Map([
    ['news', policyOf(10)],
    ['unknown', policyOf(10)],
  ])
  await store.retain({ others: policyOf(1_000), types: ofOne })
  expect(await dueNow()).toBe('news')
  await store.retain({ others: policyOf(10), types: new Map() })
  expect(await dueNow()).toBe('mail,news,report')
})

test('nothing is left in the indexes of jobs that were discarded, or retried, and are gone', async () => {
  const { store } = await redisSubject(server().url, nodeRedisAt, { prefix: 'gone' })
  onTestFinished(() => store.close())
  const indexes = async (): Promise<string[]> =>
    ((await server().command('KEYS', '{gone}:*')) as string[])
      .map((key) => key.slice('{gone}:'.length))
      .filter((key) => /^(all|tidied|ended|in-order|jobs|queue|list)/.test(key))
      .toSorted()
  const ids = Array.from({ length: 60 }, (_, i) => `job ${i}`)
  await put(store, ...ids.map((id, i) => newJob(id, { type: i % 2 === 0 ? 'mail' : 'report' })))
  for (const type of ['mail', 'report']) {
    const claimed = await take(store, { type, max: 60 })
    await store.settle(
      claimed.map((job) => ({
        ...lease(job),
        event: 'FAIL',
        to: 'dead',
        fatal: true,
        error: { name: 'E', message: '' },
      })),
    )
  }
  expect(await indexes()).toContain('ended:dead:mail')
  await store.retry(ids)
  expect((await indexes()).filter((key) => key.startsWith('ended'))).toEqual([])
  await cancel(store, ids)
  // One by one: of the blocks that are looked at none is empty before the last job goes.
  for (const id of ids) await store.discard([id])
  expect(await indexes()).toEqual([])
  await put(store, newJob('later'))
  expect((await store.list({ fields: ['id'] })).map(({ id }) => id)).toEqual(['later'])
})
