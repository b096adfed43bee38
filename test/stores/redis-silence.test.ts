/** Packets vanish, and connections stay open: every connection is replaced in time, with each of the drivers. */
import { randomUUID } from 'node:crypto'
import { createClient, createRuntime, defineJob } from 'jobchart'
import { redisStore } from 'jobchart/redis'
import { describe, test, type TestContext } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import type { RedisClient } from '../../src/stores/redis/connection.ts'
import { ioredisAt } from '../../src/stores/redis/ioredis.ts'
import { namespaceOf } from '../../src/stores/redis/keys.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { redisStoreOf } from '../../src/stores/redis/store.ts'
import { newJob, put, take } from '../../src/store-testing/conformance/acts.ts'
import { CuttingProxy } from '../support/cutting-proxy.ts'
import { canStartRedis, serverOfFile } from '../support/redis-server.ts'

const server = serverOfFile()

type MakeClient = (url: string) => Promise<RedisClient>

/** Two stores of one prefix: one behind a proxy, and one beside it. */
async function twoStores(makeClient: MakeClient, { onTestFinished }: TestContext) {
  const proxy = new CuttingProxy(server().port, 1)
  const port = await proxy.start()
  const prefix = randomUUID()
  const store = redisStoreOf({
    makeClient: () => makeClient(`redis://127.0.0.1:${port}`),
    where: 'the proxy',
    namespace: namespaceOf(prefix),
    transitionsMax: 100,
  })
  const beside = redisStore({ url: server().url, prefix })
  for (const each of [store, beside]) {
    await each.open({ clock: systemClock })
    onTestFinished(() => each.close())
  }
  onTestFinished(() => proxy.end())
  return { proxy, store, beside }
}

const drivers = [['@redis/client', nodeRedisAt] as const, ['ioredis', ioredisAt] as const]

// They wait for seconds of real time, so they wait together.
describe.skipIf(!canStartRedis)('of a silent connection', () => {
  test.concurrent.for(drivers)(
    'calls are rejected together, later ones are answered, and the worker runs jobs again: %s',
    async ([, makeClient], context) => {
      const { expect, onTestFinished } = context
      const { proxy, store, beside } = await twoStores(makeClient, context)
      const job = defineJob<null, void>({ type: 'job', run: async () => {} })
      const runtime = createRuntime({ jobs: [job], store, logger: {} })
      onTestFinished(() => runtime.stop({ timeout: '1s' }).then(() => {}))
      await runtime.start()
      const client = createClient({ jobs: [job], store: beside })
      // The connection for reads is opened by the first one.
      await store.get(['a'])
      proxy.silence()
      const calls = await Promise.allSettled([1, 2, 3].map(() => store.get(['a'])))
      const unavailable = expect.objectContaining({ code: 'STORE_UNAVAILABLE' }) as unknown
      expect(calls).toEqual([1, 2, 3].map(() => ({ status: 'rejected', reason: unavailable })))
      // Of the calls that follow some may find the new connection not set up; none meets the silent one.
      await expect.poll(() => store.get(['a']).catch(() => null), { interval: 20, timeout: 4_000 }).toEqual([null])
      await (await client.enqueue(job, null)).result({ timeout: '60s' })
    },
  )

  test.concurrent.for(drivers)('wake-ups come again: %s', async ([, makeClient], context) => {
    const { expect, onTestFinished } = context
    const { proxy, store, beside } = await twoStores(makeClient, context)
    const heard = new Set<string>()
    onTestFinished(store.watch((hint) => heard.add(hint.kind)))
    let count = 0
    const isHeard = async (): Promise<boolean> => {
      await put(beside, newJob(`job ${count++}`))
      // Others are told of a type again when a claim has found fewer jobs than it asked for.
      await take(beside, { max: 10 })
      return heard.has('ready')
    }
    await expect.poll(isHeard, { interval: 20 }).toBe(true)
    proxy.silence(({ subscribes }) => subscribes)
    expect(proxy.harm.silenced).toBe(1)
    heard.clear()
    await expect.poll(() => heard.has('missed'), { interval: 100 }).toBe(true)
    heard.clear()
    await expect.poll(isHeard, { interval: 100 }).toBe(true)
    // The connection for commands is as it was.
    expect(proxy.accepted).toBe(3)
  })

  test.concurrent.for(drivers)(
    'that is being set up another one takes the place: %s',
    async ([, makeClient], context) => {
      const { expect } = context
      const { proxy, store } = await twoStores(makeClient, context)
      proxy.silencesNew = true
      proxy.cutAll()
      await expect.poll(() => proxy.harm.silenced, { interval: 20 }).toBeGreaterThan(0)
      proxy.silencesNew = false
      await expect.poll(() => store.get(['a']).catch(() => null), { interval: 20 }).toEqual([null])
    },
  )
})
