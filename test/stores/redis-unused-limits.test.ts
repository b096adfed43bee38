/**
 * What the Redis store keeps for the limits of types is removed when nobody has used it for a day, in steps of a
 * bounded size.
 */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { idsOf, lease, newJob, put, take, workerInfo } from '../../src/store-testing/conformance/acts.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import type { ClaimedJob, Store, TypeLimits } from '../../src/store.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import { redisSubject } from '../support/redis-subject.ts'
import { movingClock } from './moving-clock.ts'

const server = serverOfFile()

const dayMs = 86_400_000
const limits: TypeLimits = {
  concurrency: null,
  perKey: 5,
  rate: { limit: 5_000, perMs: 1_000 },
  keyRate: { limit: 5, perMs: 60_000 },
}
const worker = workerInfo('w1')

async function world() {
  const [clock, prefix] = [movingClock(), randomUUID()]
  const subject = await redisSubject(server().url, nodeRedisAt, { prefix, clock })
  onTestFinished(() => subject.close())
  const command = (name: string, key: string, ...args: readonly string[]): Promise<unknown> =>
    server().command(name, `{${prefix}}:${key}`, ...args)
  /** What is kept for limits: keys, and hashes that have the type. */
  const kept = async (): Promise<string[]> => {
    const keys = ((await command('KEYS', '*')) as string[]).map((key) => key.slice(prefix.length + 3))
    const own = keys.filter((name) =>
      /^(key-rate|lapses|rate|limit|limits|limited|held|starts|unarranged)\b.*:/.test(name),
    )
    const shared = ['shares', 'caps', 'key-rates', 'key-rates-at', 'terms']
    const has = await Promise.all(shared.map((name) => command('HEXISTS', name, 'mail')))
    const looks = (await command('ZCARD', 'limit-looks')) === 0 ? [] : ['limit-looks']
    return [...own, ...shared.filter((_, i) => has[i] === 1), ...looks]
  }
  const windows = async (): Promise<number> => (await kept()).filter((name) => name.startsWith('key-rate:')).length
  return { store: subject.store, clock, kept, windows }
}

/** Claims jobs with a key each, and ends them. */
async function useKeys(store: Store, keys: number): Promise<void> {
  await put(store, ...Array.from({ length: keys }, (_, n) => newJob(randomUUID(), { concurrencyKey: `key ${n}` })))
  const jobs: ClaimedJob[] = []
  // A claim arranges some hundred keys.
  for (let i = 0; i < 5 && jobs.length < keys; i++) {
    jobs.push(...(await take(store, { max: keys - jobs.length, limits, keyShares: true })))
  }
  expect(jobs.length).toBe(keys)
  await store.settle(jobs.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' })))
}

test('a day after its last claim, nothing is left of the limits of a type that no worker lists and no job uses', async () => {
  const { store, clock, kept, windows } = await world()
  await useKeys(store, 3)
  await clock.advance(dayMs - 1)
  await store.prune(100)
  expect(await windows()).toBe(3)
  await clock.advance(1)
  await store.prune(100)
  expect(await kept()).toEqual([])
  // What is claimed then begins anew.
  await useKeys(store, 3)
  expect(await windows()).toBe(3)
})

test('while a worker lists the type, or a job of it is live, only windows that have passed are removed', async () => {
  const { store, clock, kept, windows } = await world()
  await useKeys(store, 3)
  await store.worker('w1', worker)
  await clock.advance(dayMs)
  await store.prune(100)
  expect(await windows()).toBe(0)
  expect(await kept()).toEqual(expect.arrayContaining(['shares', 'caps', 'terms', 'rate:mail']))
  await store.worker('w1', null)
  await put(store, newJob('later', { delayMs: 30 * dayMs }))
  await clock.advance(dayMs)
  await store.prune(100)
  expect(await kept()).toEqual(expect.arrayContaining(['shares', 'caps', 'terms', 'rate:mail']))
  await store.cancel([{ ids: ['later'], reason: null, graceMs: 0 }])
  await clock.advance(dayMs)
  await store.prune(100)
  expect(await kept()).toEqual([])
})

const weekly = { limit: 1, perMs: 7 * dayMs }

test.for([
  ['rate', { rate: weekly }],
  ['keyRate', { keyRate: weekly }],
] as const)('a %s whose time is longer than a day holds until it has passed', async ([, own]) => {
  const { store, clock } = await world()
  await put(store, newJob('a', { concurrencyKey: 'x' }))
  const jobs = await take(store, { limits: own })
  await store.settle(jobs.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' })))
  await clock.advance(7 * dayMs - 1)
  await store.prune(100)
  await put(store, newJob('b', { concurrencyKey: 'x' }))
  expect(await take(store, { limits: own })).toEqual([])
  await clock.advance(1)
  expect(idsOf(await take(store, { limits: own }))).toEqual(['b'])
})

test('a window that is longer than a day is removed when its time has passed', async () => {
  const { store, clock, kept, windows } = await world()
  await put(store, newJob('a', { concurrencyKey: 'x' }))
  const jobs = await take(store, { limits: { keyRate: weekly } })
  await store.settle(jobs.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' })))
  for (const [ms, left] of [
    [dayMs, 1],
    [6 * dayMs, 0],
  ] as const) {
    await clock.advance(ms)
    await store.prune(100)
    expect(await windows()).toBe(left)
  }
  expect(await kept()).toEqual([])
})

test('a prune removes 500 windows at most, and the next ones go on', async () => {
  const { store, clock, kept, windows } = await world()
  await useKeys(store, 1_200)
  await clock.advance(dayMs)
  const left: number[] = []
  for (let i = 0; i < 4; i++) {
    await store.prune(100)
    left.push(await windows())
  }
  expect(left).toEqual([700, 200, 0, 0])
  expect(await kept()).toEqual([])
})

test('the time of a rate by key is not taken for a limit of another type', async () => {
  const { store } = await world()
  for (const type of ['mail', 'mail at', 'mail']) {
    await put(store, newJob(randomUUID(), { type, concurrencyKey: 'x' }))
    expect((await take(store, { type, limits })).length).toBe(1)
  }
})
