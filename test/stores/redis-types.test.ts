/** Figures and lists of a Redis store with thousands of types: what one call reads and answers. */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { newJob, put } from '../../src/store-testing/conformance/acts.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import type { Store } from '../../src/store.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import { redisSubject } from '../support/redis-subject.ts'
import { movingClock } from './moving-clock.ts'

const server = serverOfFile()

/** A store with a job of each of some types. */
async function withTypes(count: number) {
  const clock = movingClock()
  const subject = await redisSubject(server().url, nodeRedisAt, { prefix: randomUUID(), clock })
  onTestFinished(() => subject.close())
  const { store } = subject
  const types = Array.from({ length: count }, (_, i) => `type ${i}`)
  for (let i = 0; i < count; i += 500) {
    await put(store, ...types.slice(i, i + 500).map((type) => newJob(`job of ${type}`, { type, tags: ['all'] })))
  }
  return { store, clock, types }
}

const numberIn = async (section: string, pattern: RegExp): Promise<number> =>
  Number(pattern.exec(String(await server().command('INFO', section)))?.[1] ?? 0)
const answeredBytes = (): Promise<number> => numberIn('stats', /total_net_output_bytes:(\d+)/)
const scripts = (): Promise<number> => numberIn('commandstats', /cmdstat_fcall:calls=(\d+)/)

const lists: Record<string, (store: Store) => Promise<readonly unknown[]>> = {
  'of all jobs': (store) => store.list({ limit: 5, order: 'newest', fields: ['id', 'state'] }),
  'of ids': (store) => store.list({ limit: 5, order: 'newest', fields: ['id'] }),
  'of a tag': (store) => store.list({ limit: 5, order: 'newest', fields: ['id', 'state'], tag: 'all' }),
  'of a type and state': (store) => store.list({ limit: 1, type: 'type 7', state: 'queued', fields: ['id', 'state'] }),
  'in the order of due times': (store) => store.list({ limit: 5, orderBy: 'due', fields: ['id', 'state'] }),
}
test('a list reads the figures of the types that it needs, not of all', async () => {
  const { store } = await withTypes(1_000)
  await store.list({ limit: 1 })
  for (const [name, ask] of Object.entries(lists)) {
    const before = await answeredBytes()
    await ask(store)
    // The figures of all take 70,000. Some 5,000 are what this test asks for.
    expect((await answeredBytes()) - before, name).toBeLessThan(30_000)
  }
})

test('figures of thousands of types are answered some in a call', async () => {
  const { store, clock, types } = await withTypes(8_200)
  const before = await scripts()
  expect((await store.queues()).length).toBe(types.length)
  expect((await scripts()) - before).toBeGreaterThanOrEqual(41)
  await clock.advance(60_000)
  await put(store, newJob('late', { type: 'type 3' }))
  const since = await store.queuedSince(types)
  expect(since.length).toBe(types.length)
  expect(new Set(since)).toEqual(new Set([store.now() - 60_000]))
  const activity = await store.activity({ period: 'minute', from: store.now() - 600_000, queues: types })
  expect(new Map(activity.map(({ type, buckets }) => [type, buckets.length])).get('type 3')).toBe(2)
  expect(activity.filter(({ buckets }) => buckets.length === 1).length).toBe(types.length - 1)
})
