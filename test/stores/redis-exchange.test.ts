/** How often the server is called for settlements and claims. */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test as always } from 'vitest'
import type { Settlement } from '../../src/core/settlement.ts'
import { lease, newJob, put, take, takeOne } from '../../src/store-testing/conformance/acts.ts'
import { RedisExchange } from '../../src/stores/redis/exchange.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import type { ClaimedJob, Hint, Store } from '../../src/store.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import { redisSubject } from '../support/redis-subject.ts'

const server = serverOfFile()

async function withThreeJobs(): Promise<Store> {
  const { store } = await redisSubject(server().url, nodeRedisAt, { prefix: randomUUID() })
  onTestFinished(() => store.close())
  await put(store, newJob('a'), newJob('b'), newJob('c'))
  return store
}

const callsUntilNow = async (): Promise<number> =>
  Number(/cmdstat_fcall:calls=(\d+)/.exec(String(await server().command('INFO', 'commandstats')))?.[1])

async function takeTwo(store: Store): Promise<[ClaimedJob, ClaimedJob]> {
  const [first, second] = await take(store, { max: 2 })
  if (first === undefined || second === undefined) throw new Error('two jobs were to be claimed')
  return [first, second]
}

const ended = (job: ClaimedJob): Settlement => ({ ...lease(job), event: 'COMPLETE', to: 'done' })

test('a settlement and the claim of the same turn are one call', async () => {
  const store = await withThreeJobs()
  const [first, second] = await takeTwo(store)
  const before = await callsUntilNow()
  const [[settled], next] = await Promise.all([store.settle([ended(first)]), takeOne(store, { token: 't2' })])
  expect([settled?.to, next.id]).toEqual(['done', 'c'])
  expect(await callsUntilNow()).toBe(before + 1)
  await store.settle([ended(second)])
  expect(await take(store)).toEqual([])
  expect(await callsUntilNow()).toBe(before + 3)
})

test('of several settlements of a turn, the last one goes with the claim', async () => {
  const store = await withThreeJobs()
  const [first, second] = await takeTwo(store)
  const before = await callsUntilNow()
  const settling = [store.settle([ended(first)]), store.settle([ended(second)])]
  const next = takeOne(store, { token: 't2' })
  expect((await Promise.all(settling)).flat().map(({ outcome }) => outcome)).toEqual(['settled', 'settled'])
  expect((await next).id).toBe('c')
  expect(await callsUntilNow()).toBe(before + 2)
})

test('a type that the claim has found at its cap has room when the next run ends', async () => {
  const store = await withThreeJobs()
  const limits = { concurrency: 1 }
  const first = await takeOne(store, { limits })
  const [, second] = await Promise.all([store.settle([ended(first)]), takeOne(store, { limits, token: 't2' })])
  const told: Hint[] = []
  store.watch((hint) => void told.push(hint))
  await store.settle([ended(second)])
  expect(told).toContainEqual({ kind: 'ready', type: 'mail', atMost: 1 })
})

always('when the call fails, the settlement and the claim fail', async () => {
  const names: string[] = []
  const cut = async (name: string): Promise<never> => {
    names.push(name)
    throw new Error('cut')
  }
  const exchange = new RedisExchange({ run: cut, runPlain: () => cut('exchangePlain'), notify: () => {} })
  const both = await Promise.allSettled([
    exchange.end({ types: [], items: () => ['a'], plain: null }),
    exchange.claim({ types: [], request: () => 'b', plain: null }),
  ])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(names).toEqual(['exchange'])
})
