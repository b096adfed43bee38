/**
 * The Redis store on a cluster, and behind a Sentinel that replaces a server which is killed; with each of the drivers.
 */
import { createCluster, createSentinel, RESP_TYPES } from '@redis/client'
import { Cluster, Redis } from 'ioredis'
import { createRuntime, defineJob } from 'jobchart'
import { redisStore } from 'jobchart/redis'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { fromIoredis } from '../../src/stores/redis/ioredis.ts'
import { fromNodeRedis } from '../../src/stores/redis/node-redis.ts'
import { storeConformance } from '../../src/store-testing/conformance/index.ts'
import { everyNth, isLong } from '../harness/long-form.ts'
import { redisCluster, watchedServers, type RedisCluster } from '../support/redis-cluster.ts'
import { canStartRedis, redisTest as test } from '../support/redis-server.ts'
import { redisSubject } from '../support/redis-subject.ts'

let cluster: RedisCluster | null = null

beforeAll(async () => {
  if (canStartRedis) cluster = await redisCluster()
})
afterAll(() => cluster?.remove())

const nodes = (): RedisCluster['nodes'] => cluster?.nodes ?? []

/** Clients as a user makes them; they never connect themselves. */
const clusterClients = {
  '@redis/client': () =>
    createCluster({ rootNodes: nodes().map(({ host, port }) => ({ url: `redis://${host}:${port}` })) }),
  ioredis: () => new Cluster([...nodes()], { lazyConnect: true }),
}

// Each case has a prefix of its own, so that the cases are spread over the servers.
storeConformance({
  name: 'redis cluster, @redis/client',
  test: everyNth(24, test),
  create: () => redisSubject('a cluster', async () => fromNodeRedis(clusterClients['@redis/client']())),
  random: { seed: 2_001, sequences: isLong ? 60 : 4 },
})
storeConformance({
  name: 'redis cluster, ioredis',
  test: everyNth(24, test),
  create: () => redisSubject('a cluster', async () => fromIoredis(clusterClients.ioredis())),
  random: { seed: 2_002, sequences: isLong ? 60 : 4 },
})

const double = defineJob<number, number>({ type: 'double', run: (n) => 2 * n })

test.each(['@redis/client', 'ioredis'] as const)('a runtime works on a cluster, %s', async (driver) => {
  const at = () => redisStore({ client: clusterClients[driver](), prefix: `works-${driver}` })
  await using runtime = createRuntime({ jobs: [double], store: at() })
  await using other = createRuntime({ jobs: [double], store: at() })
  await runtime.start()
  const jobs = await other.enqueueMany(double, [1, 2, 3])
  expect(await Promise.all(jobs.map((job) => job.result()))).toEqual([2, 4, 6])
  expect(await other.store.repair?.()).toMatchObject({ jobs: 3, counts: 0 })
})

const ownWays = {
  '@redis/client': () =>
    clusterClients['@redis/client']().duplicate({
      RESP: 3,
      clientSideCache: { maxEntries: 10 },
      commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
    }),
  ioredis: () => new Cluster([...nodes()], { lazyConnect: true, redisOptions: { stringNumbers: true } }),
}

test.each(['@redis/client', 'ioredis'] as const)(
  'what a client of a cluster makes of answers does not matter, %s',
  async (driver) => {
    const store = redisStore({ client: ownWays[driver](), prefix: `own-ways-${driver}` })
    await using runtime = createRuntime({ jobs: [double], store })
    await runtime.start()
    expect(await runtime.run(double, 2)).toBe(4)
  },
)

test('a client of one server of a cluster is told to be one of the cluster', async () => {
  const opened = nodes().map(({ host, port }) => redisStore({ url: `redis://${host}:${port}`, prefix: 'one' }))
  const results = await Promise.allSettled(opened.map((store) => store.open({ clock: systemClock })))
  for (const store of opened) onTestFinished(() => store.close())
  const refused = results.filter(({ status }) => status === 'rejected')
  const reason = expect.objectContaining({
    code: 'STORE_UNAVAILABLE',
    hint: expect.stringContaining('cluster') as string,
  })
  expect(refused).toEqual(Array.from({ length: 2 }, () => ({ status: 'rejected', reason })))
})

test.each(['@redis/client', 'ioredis'] as const)(
  'a replica takes the place of a killed server, and no job is lost, %s',
  async (driver) => {
    const servers = await watchedServers()
    onTestFinished(() => servers.remove())
    const { name, sentinel } = servers
    const client =
      driver === 'ioredis'
        ? () => new Redis({ sentinels: [sentinel], name, lazyConnect: true })
        : () => createSentinel({ name, sentinelRootNodes: [sentinel] })
    const begun = Promise.withResolvers<void>()
    const failedOver = Promise.withResolvers<void>()
    const slow = defineJob<number, number>({
      type: 'slow',
      run: async (n) => {
        begun.resolve()
        await failedOver.promise
        return n
      },
    })
    const warned: string[] = []
    const warn = (message: string): void => void warned.push(message)
    await using runtime = createRuntime({
      jobs: [slow],
      store: redisStore({ client: client() }),
      concurrency: 4,
      logger: { debug() {}, info() {}, warn, error: warn },
    })
    await runtime.start()
    const jobs = await runtime.enqueueMany(slow, [1, 2, 3, 4, 5, 6, 7, 8])
    await begun.promise
    await servers.caughtUp()
    await servers.master.kill()
    await expect.poll(() => servers.replica.command('INFO', 'replication')).toContain('role:master')
    failedOver.resolve()
    expect(await Promise.all(jobs.map((job) => job.result()))).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    const after = await runtime.enqueue(slow, 9)
    expect(await after.result()).toBe(9)
    expect(await runtime.counts()).toMatchObject({ done: 9, dead: 0 })
  },
)
