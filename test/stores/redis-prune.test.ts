/** Retention on Redis: what a look costs, and a server that is lost in the middle of one. */
import { expect, onTestFinished } from 'vitest'
import { lease, newJob, prune as pruneStore, put, take } from '../../src/store-testing/conformance/acts.ts'
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
