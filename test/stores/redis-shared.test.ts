/** The Redis store while others work on the same server: stores in turn, at the same moment, and beside each other. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { createClient, RESP_TYPES } from '@redis/client'
import { Redis as Ioredis } from 'ioredis'
import { createRuntime, defineJob, JobchartError, schedule } from 'jobchart'
import { redisStore } from 'jobchart/redis'
import { checkHistory, finalState, recordingStore, type HistoryLine } from 'jobchart/store-testing'
import { systemClock } from '../../src/core/clock.ts'
import { failureOf } from '../../src/core/fingerprint.ts'
import { ioredisAt } from '../../src/stores/redis/ioredis.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import {
  ask,
  boom,
  cancel,
  lease,
  newJob,
  noLimits,
  prune,
  put,
  take,
  takeOne,
  workerInfo,
  changeMatching,
} from '../../src/store-testing/conformance/acts.ts'
import { storeConformance } from '../../src/store-testing/conformance/index.ts'
import type { ClaimedJob, Hint, Store } from '../../src/store.ts'
import { delayedStore } from '../support/delayed-redis.ts'
import { everyNth, isLong } from '../harness/long-form.ts'
import { subjectInTurn } from '../support/in-turn.ts'
import { redisServer } from '../support/redis-process.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import { redisSubject } from '../support/redis-subject.ts'
import { addressFor, addressWithoutFunctions } from '../support/redis-user.ts'
import { movingClock } from './moving-clock.ts'

const server = serverOfFile()

storeConformance({
  name: 'redis, asked by two stores in turn',
  test: everyNth(6, test),
  random: { sequences: isLong ? 40 : 6, seed: 2_001 },
  async create() {
    const clock = movingClock()
    const prefix = randomUUID()
    const [one, other] = [
      await redisSubject(server().url, nodeRedisAt, { prefix, clock }),
      await redisSubject(server().url, nodeRedisAt, { prefix, clock }),
    ]
    return subjectInTurn(one.store, other.store, clock)
  },
})

async function opened(prefix: string, url = server().url): Promise<Store> {
  const store = redisStore({ url, prefix })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

test('four stores that want the same jobs keep every promise', async () => {
  const lines: HistoryLine[] = []
  const prefix = randomUUID()
  const stores = await Promise.all(
    [1, 2, 3, 4].map(async () => recordingStore(await opened(prefix), (line) => lines.push(line))),
  )
  const limits = { concurrency: 6, perKey: 2, rate: null }
  const [first] = stores as [Store]
  let left = 300
  const produce = async (store: Store, number: number): Promise<void> => {
    for (let i = 0; i < 25; i++) {
      const jobs = [0, 1, 2].map((j) => {
        const key = (i + j) % 5 === 0 ? { key: `k${i % 3}`, onConflict: 'follow' as const } : {}
        return newJob(`${number}-${i}-${j}`, { ...key, concurrencyKey: `c${(i + j) % 4}`, priority: j })
      })
      const [answers = []] = await store.insert([{ jobs, capacity: null }])
      left -= answers.filter(({ outcome }) => outcome !== 'inserted').length
    }
  }
  const work = async (store: Store, number: number): Promise<void> => {
    for (let turn = 0; left > 0; turn++) {
      const token = `${number}/${turn}`
      const { jobs } = await store.claim({
        worker: `w${number}`,
        leaseMs: 30_000,
        token,
        demand: [{ type: 'mail', max: 3, limits }],
      })
      const answers = await store.settle(jobs.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' as const })))
      left -= answers.filter(({ outcome }) => outcome === 'settled').length
      await store.promote(10)
    }
  }
  await Promise.all(stores.flatMap((store, i) => [produce(store, i), work(store, i)]))
  const { violations, figures } = checkHistory(lines, { final: await finalState(first), limits: { mail: limits } })
  expect(violations).toEqual([])
  expect(figures.attempts).toBeGreaterThan(150)
  const { transitions } = await first.transitions(null, 10_000)
  expect(transitions.map(({ seq }) => seq)).toEqual(transitions.map((_, i) => i + 1))
})

test('cancels, retries and claims of four stores of the same jobs end in one state each', async () => {
  const prefix = randomUUID()
  const stores = await Promise.all([1, 2, 3, 4].map(() => opened(prefix)))
  const [first] = stores as [Store]
  const ids = Array.from({ length: 20 }, (_, i) => `job ${i}`)
  await put(first, ...ids.map((id) => newJob(id, { key: id })))
  await Promise.all(
    stores.map(async (store, n) => {
      for (let i = 0; i < 8; i++) {
        if ((n + i) % 3 === 0) await store.cancel([{ ids, reason: null, graceMs: 0 }])
        else if ((n + i) % 3 === 1) await store.retry(ids)
        else {
          const jobs = await take(store, { token: `${n}/${i}`, max: 5 })
          await store.settle(jobs.map((job) => ({ ...lease(job), event: 'FAIL', to: 'dead', fatal: true }) as const))
        }
      }
    }),
  )
  const { types, ...counts } = await first.counts()
  const states = (await first.list({})).map(({ state }) => state)
  expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(ids.length)
  for (const [state, count] of Object.entries(counts))
    expect(states.filter((each) => each === state).length).toBe(count)
  expect(types['mail']).toEqual(counts)
})

test('counts and their cursor are of one instant while other stores write', async () => {
  const prefix = randomUUID()
  const [reader, ...writers] = (await Promise.all([1, 2, 3].map(() => opened(prefix)))) as [Store, ...Store[]]
  const writing = writers.map(async (store, n) => {
    for (let i = 0; i < 200; i++) await put(store, newJob(`${n}/${i}`))
  })
  const seen: { readonly queued: number; readonly cursor: string }[] = []
  for (let i = 0; i < 60; i++) seen.push(await reader.counts())
  await Promise.all(writing)
  const { transitions } = await reader.transitions(null, 10_000)
  const before = new Map(transitions.map(({ cursor }, i) => [cursor, i + 1]))
  expect(seen.map(({ queued }) => queued)).toEqual(seen.map(({ cursor }) => before.get(cursor) ?? 0))
})

test('of inserts of several stores exactly as many succeed as there is room for', async () => {
  const prefix = randomUUID()
  const stores = await Promise.all([1, 2, 3].map(() => opened(prefix)))
  const answers = await Promise.all(
    stores.flatMap((store, n) =>
      Array.from({ length: 10 }, (_, i) => store.insert([{ jobs: [newJob(`${n}/${i}`)], capacity: 12 }])),
    ),
  )
  expect(answers.flat(2).filter(({ outcome }) => outcome === 'inserted').length).toBe(12)
  expect((await stores[0]?.counts())?.queued).toBe(12)
})

test('one store hears of what another one does', async () => {
  const prefix = randomUUID()
  const [store, other] = [await opened(prefix), await opened(prefix)]
  const hints: Hint[] = []
  onTestFinished(store.watch((hint) => hints.push(hint)))
  const heard = async (kind: Hint['kind']): Promise<Hint[]> => {
    while (!hints.some((hint) => hint.kind === kind)) await store.counts()
    return hints.splice(0)
  }
  // The channel is there.
  await heard('missed')
  await put(other, newJob('job 0'))
  expect(await heard('ready')).toEqual([{ kind: 'ready', type: 'mail' }])
  await takeOne(other, { max: 1 })
  await cancel(other, ['job 0'])
  await heard('cancelled')
})

test('two prefixes know nothing of each other, and a colon at the end is not doubled', async () => {
  const [one, other] = [await opened('shop:'), await opened('{eu}:shop')]
  await put(one, newJob('a', { key: 'k' }))
  await put(other, newJob('a', { key: 'k', type: 'sms' }))
  await one.queue('sms', { paused: true })
  expect((await one.get(['a']))[0]?.type).toBe('mail')
  expect((await other.queue('sms')).paused).toBe(false)
  const keys = (await server().command('KEYS', '*')) as string[]
  expect(keys).toContain('{shop}:jobs')
  expect(keys).toContain('{eu}:shop:jobs')
  expect((await (await opened('shop')).get(['a']))[0]?.type).toBe('mail')
  for (const prefix of ['', 'a{b', '{}', 'a}'])
    expect(() => redisStore({ url: 'redis://x', prefix })).toThrow(JobchartError)
})

test('names with zero bytes are told from each other, and come back as they were', async () => {
  const store = await opened(randomUUID())
  const hints: Hint[] = []
  onTestFinished(store.watch((hint) => hints.push(hint)))
  const type = 'a\0b\x01'
  await put(store, newJob('one', { type, concurrencyKey: 'k\0' }), newJob('two', { type, concurrencyKey: 'k\x010' }))
  const limits = { ...noLimits, perKey: 1 }
  const claim = { worker: 'w\0\x01', leaseMs: 1_000, token: 't\0', demand: [{ type, max: 3, limits }] }
  const { jobs } = await store.claim(claim)
  expect(jobs.map(({ id, token }) => [id, token])).toEqual(['one', 'two'].map((id) => [id, 't\0']))
  expect((await store.claim(claim)).shortfalls).toEqual([{ type, reason: 'empty' }])
  const settled = await store.settle(jobs.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' })))
  expect(settled.map(({ outcome }) => outcome)).toEqual(['settled', 'settled'])
  const records = await store.get(['one', 'two'])
  expect(records.map((record) => record?.concurrencyKey)).toEqual(['k\0', 'k\x010'])
  expect(records[0]).toMatchObject({ type, worker: 'w\0\x01', state: 'done' })
  expect((await store.counts()).types[type]?.done).toBe(2)
  expect((await store.transitions(null, 10)).transitions.map((each) => each.type)).toEqual(Array(6).fill(type))
  await store.queue(type, { paused: true })
  expect((await store.queues()).map((queue) => [queue.type, queue.paused])).toEqual([[type, true]])
  expect((await store.claim(claim)).shortfalls).toEqual([{ type, reason: 'paused' }])
  expect(hints).toContainEqual({ kind: 'ready', type, atMost: 2 })
})

test.for([
  ['functions', addressFor, ['FUNCTION', 'FLUSH']],
  ['scripts', addressWithoutFunctions, ['SCRIPT', 'FLUSH']],
] as const)('%s that the server has forgotten are sent again, and a cut connection is made anew', async (each) => {
  const [, address, forget] = each
  const prefix = randomUUID()
  const store = await opened(prefix, await address(server(), prefix, prefix))
  await put(store, newJob('a'), newJob('b'))
  await server().command(...forget)
  const job = await takeOne(store, { max: 1 })
  await server().command(...forget)
  const both = [store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }]), takeOne(store)] as const
  expect((await both[0])[0]?.outcome).toBe('settled')
  expect((await both[1]).id).toBe('b')
  await server().command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  for (;;) {
    try {
      expect((await store.counts()).done).toBe(1)
      break
    } catch (error) {
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    }
  }
})

test('without functions, ends that are not plain go in one script with a claim', async () => {
  const prefix = randomUUID()
  const store = await opened(prefix, await addressWithoutFunctions(server(), prefix, prefix))
  await put(store, newJob('a'), newJob('b'))
  const job = await takeOne(store, { max: 1 })
  const fails = store.settle([{ ...lease(job), event: 'FAIL', to: 'retrying', delayMs: 60_000, error: boom }])
  const [[answer], next] = await Promise.all([fails, takeOne(store)])
  expect([answer?.outcome, next.id]).toEqual(['settled', 'b'])
})

test('a server that is killed and started again has every job that was acknowledged', async () => {
  const own = await redisServer('--appendonly', 'yes', '--appendfsync', 'always')
  onTestFinished(() => own.remove())
  const store = await opened('jobs', own.url)
  const stored: string[] = []
  const insert = async (id: string): Promise<void> => {
    try {
      await put(store, newJob(id))
      stored.push(id)
    } catch (error) {
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    }
  }
  for (let i = 0; i < 50; i++) await insert(`before ${i}`)
  const [job] = await take(store, { max: 1 })
  await Promise.all([own.kill(), ...Array.from({ length: 20 }, (_, i) => insert(`during ${i}`))])
  await expect(store.counts()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', hint: expect.any(String) as string })
  await own.start()
  for (let i = 0; !stored.includes(`after ${i - 1}`); i++) await insert(`after ${i}`)
  expect((await store.get(stored)).every((each) => each !== null)).toBe(true)
  const [answer] = await store.settle(job === undefined ? [] : [{ ...lease(job), event: 'COMPLETE', to: 'done' }])
  expect(answer?.outcome).toBe('settled')
  expect((await ask(store, { token: 't2', limits: noLimits })).jobs.length).toBe(stored.length - 1)
})

test('without a server, or with one that removes keys, a store does not open', async () => {
  const nobody = redisStore({ url: 'redis://127.0.0.1:1' })
  await expect(nobody.open({ clock: systemClock })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await expect(nobody.counts()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  const evicting = await redisServer('--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lru')
  onTestFinished(() => evicting.remove())
  const store = redisStore({ url: evicting.url })
  await expect(store.open({ clock: systemClock })).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  // It may be tried again.
  await evicting.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
  await store.open({ clock: systemClock })
  expect((await store.counts()).queued).toBe(0)
  await store.close()
  await expect(store.counts()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})

test.for(['@redis/client', 'ioredis'])(
  'errors say why the server cannot be used, and what to do: %s',
  async (driver) => {
    const own = await redisServer()
    onTestFinished(() => own.remove())
    const client = driver === 'ioredis' ? new Ioredis(own.url, { lazyConnect: true }) : createClient({ url: own.url })
    const store = redisStore({ client })
    await store.open({ clock: systemClock })
    onTestFinished(() => store.close())
    const failure = (): Promise<unknown> =>
      put(store, newJob('a')).then(
        () => null,
        (error: unknown) => error,
      )
    const refused = (message: string, hint: string): object => ({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(message) as unknown,
      hint: expect.stringContaining(hint) as unknown,
    })
    await own.command('CONFIG', 'SET', 'maxmemory', '1')
    expect(await failure()).toMatchObject(refused('OOM', 'maxmemory'))
    await own.command('CONFIG', 'SET', 'maxmemory', '0')
    await own.command('REPLICAOF', '127.0.0.1', '1')
    expect(await failure()).toMatchObject(refused('READONLY', 'replica'))
    await own.kill()
    // Not only that there is no connection.
    await expect.poll(failure).toMatchObject(refused('ECONNREFUSED', 'running'))
  },
)

test.for([
  ['functions', addressFor],
  ['scripts', addressWithoutFunctions],
] as const)('a full memory refuses new jobs, and nothing else: %s', async ([, address]) => {
  const own = await redisServer('--maxmemory-policy', 'noeviction')
  onTestFinished(() => own.remove())
  const store = await opened('jobs', await address(own, 'worker', 'jobs'))
  const info = workerInfo('w1', { slots: 3 })
  await store.worker('w1', info)
  await put(store, ...['done', 'fails', 'goes on', 'waits'].map((id) => newJob(id)))
  const jobs = await take(store, { max: 3 })
  const [done, fails, goesOn] = jobs as [ClaimedJob, ClaimedJob, ClaimedJob]
  await own.command('CONFIG', 'SET', 'maxmemory', '1mb')
  const full = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('OOM') as string }
  await expect(put(store, newJob('more'))).rejects.toMatchObject(full)
  // The second has a parent, and so goes the way of the core.
  const child = newJob('child', { parent: { id: 'waits', checkins: false } })
  await expect(put(store, child)).rejects.toMatchObject(full)
  const [before] = await store.workers()
  expect((await store.extend({ worker: 'w1', leaseMs: 60_000, heartbeats: [lease(goesOn)] }))[0]?.outcome).toBe(
    'extended',
  )
  expect((await store.workers())[0]?.seenAt).toBeGreaterThanOrEqual(before?.seenAt ?? Infinity)
  const settled = await store.settle([
    { ...lease(done), event: 'COMPLETE', to: 'done', output: 1 },
    { ...lease(fails), event: 'FAIL', to: 'retrying', delayMs: 0, error: boom },
  ])
  expect(settled.map(({ outcome }) => outcome)).toEqual(['settled', 'settled'])
  expect((await store.promote(10)).transitions.length).toBe(1)
  await cancel(store, ['goes on'])
  expect((await store.get(['goes on']))[0]?.state).toBe('cancelling')
  expect((await take(store, { max: 1 })).length).toBe(1)
})

test.for([
  ['functions', addressFor],
  ['scripts', addressWithoutFunctions],
] as const)(
  'workers start, pause and resume while the memory is full, and the backlog drains: %s',
  async ([, address]) => {
    const own = await redisServer('--maxmemory-policy', 'noeviction')
    onTestFinished(() => own.remove())
    const url = await address(own, 'worker', 'jobs')
    await put(await opened('jobs', url), ...Array.from({ length: 20 }, (_, n) => newJob(`job ${n}`)))
    // A new version of the package: its library is not on the server.
    await own.command('FUNCTION', 'FLUSH')
    await own.command('CONFIG', 'SET', 'maxmemory', '1mb')
    const ran = new Set<string>()
    const mail = defineJob<unknown, void>({ type: 'mail', run: async (_, { id }) => void ran.add(id) })
    const tick = defineJob<null, void>({ type: 'tick', run: async () => {} })
    const store = redisStore({ url, prefix: 'jobs' })
    const schedules = [schedule('yearly', '0 0 1 1 *', tick, null)]
    await using runtime = createRuntime({ jobs: [mail, tick], schedules, store, logger: {}, lease: '1s' })
    await runtime.start()
    await expect.poll(() => ran.size).toBe(20)
    await runtime.pause()
    expect((await runtime.workers()).map(({ id, paused }) => [id, paused])).toEqual([[runtime.id, true]])
    await runtime.resume()
    await runtime.queue('mail').pause()
    expect((await runtime.queues()).find(({ type }) => type === 'mail')?.paused).toBe(true)
    await expect(runtime.enqueue(mail, null)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  },
)

test('a user who may touch nothing but the keys of the prefix is enough', async () => {
  const url = await addressFor(server(), 'jobs', 'shop')
  const store = await opened('shop', url)
  onTestFinished(store.watch(() => {}))
  await put(store, newJob('by rights'))
  const job = await takeOne(store, { max: 1 })
  await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
  await store.retry(['by rights'])
  expect((await store.transitions(null, 10)).transitions.length).toBeGreaterThan(0)
  const other = redisStore({ url, prefix: 'bank' })
  const refused = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('NOPERM') as string }
  await expect(other.open({ clock: systemClock })).rejects.toMatchObject(refused)
})

test('clients of both drivers are taken, and left as they are', async () => {
  const clients = [
    createClient({ url: server().url }),
    new Ioredis(server().url, { lazyConnect: true, keyPrefix: 'own:' }),
  ]
  const prefix = randomUUID()
  for (const [i, client] of clients.entries()) {
    const store = redisStore({ client, prefix })
    await store.open({ clock: systemClock })
    await put(store, newJob(`job ${i}`))
    expect((await store.counts()).queued).toBe(i + 1)
    await store.close()
  }
  expect([clients[0] instanceof Ioredis || clients[0]?.isOpen, (clients[1] as Ioredis).status]).toEqual([false, 'wait'])
})

const typeMapping = { [RESP_TYPES.BLOB_STRING]: Buffer }
const ownWays = {
  buffers: (url: string) => createClient({ url, commandOptions: { typeMapping } }),
  'a cache': (url: string) => createClient({ url, RESP: 3, clientSideCache: { maxEntries: 10 } }),
  invalidations: (url: string) => createClient({ url, RESP: 3, emitInvalidate: true }),
  'numbers as text': (url: string) => new Ioredis(url, { lazyConnect: true, stringNumbers: true }),
  'answers of RESP 3': (url: string) => new Ioredis(url, { lazyConnect: true, replyMapping: 'resp3' }),
}

test.each(Object.entries(ownWays))('what a given client makes of answers does not matter: %s', async (_, clientAt) => {
  const store = redisStore({ client: clientAt(server().url), prefix: randomUUID() })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  await put(store, newJob('job'))
  expect((await takeOne(store, { max: 1 })).id).toBe('job')
  expect((await store.get(['job']))[0]?.state).toBe('running')
})

test('wake-ups come again after a loss of the connection, also if a client of ioredis does not subscribe again', async () => {
  const own = await redisServer()
  onTestFinished(() => own.remove())
  const client = new Ioredis(own.url, { lazyConnect: true, autoResubscribe: false })
  const store = redisStore({ client, prefix: 'jobs' })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  onTestFinished(store.watch(() => {}))
  const subscribers = async (): Promise<unknown> => own.command('PUBSUB', 'NUMSUB', '{jobs}:hints')
  await expect.poll(subscribers).toEqual(['{jobs}:hints', 1])
  await own.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
  await expect.poll(subscribers).toEqual(['{jobs}:hints', 1])
})

test.each([
  'redis://ada:secret@localhost/shop',
  'redis://ada:secret@localhost/3/4',
  'redis://ada:secret@localhost/1.5',
  'redis://ada:secret@localhost/?db=3',
  'redis://ada:secret@localhost?prefix=shop',
  'redis://ada:secret%zz@localhost',
  'redis://ada:secret@localhost:99999',
  'redis:secret',
])('an address of which a part would be left out is refused, without its password: %s', (url) => {
  const refused = { code: 'INVALID_OPTION', message: 'url is not an address of a Redis server' }
  expect(() => redisStore({ url })).toThrow(expect.objectContaining(refused) as Error)
})

const drivers = [
  { driver: '@redis/client', clientAt: nodeRedisAt },
  { driver: 'ioredis', clientAt: ioredisAt },
]

test.each(drivers)('the address says which database is used, $driver', async ({ clientAt }) => {
  const client = await clientAt(`${server().url}/3`)
  for (const one of [client, client.duplicate()]) {
    onTestFinished(() => one.close())
    await one.connect()
    expect(await one.send(['CLIENT', 'INFO'])).toContain(' db=3 ')
  }
})

test.each(drivers)('an address of rediss: is called with TLS, $driver', async ({ clientAt }) => {
  const received = Promise.withResolvers<Buffer>()
  const listener = createServer((socket) => socket.once('data', received.resolve)).listen(0, '127.0.0.1')
  onTestFinished(() => void listener.close())
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  const client = await clientAt(`rediss://127.0.0.1:${port}`)
  onTestFinished(() => client.close())
  client.connect().catch(() => {})
  const [handshake] = await received.promise
  expect(handshake).toBe(0x16)
})

test('ten thousand jobs are one write, and are claimed, cancelled and discarded in parts', async () => {
  const store = await opened(randomUUID())
  const answers = await put(store, ...Array.from({ length: 10_000 }, (_, i) => newJob(`job ${i}`)))
  expect(answers.every(({ outcome }) => outcome === 'inserted')).toBe(true)
  const jobs = await take(store, { max: 1_000 })
  await store.settle(jobs.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' }) as const))
  expect((await changeMatching(store, 'cancel', { type: 'mail' })).cancelled?.length).toBe(100)
  expect((await changeMatching(store, 'discard', { state: 'cancelled' })).discarded?.length).toBe(100)
  const { queued, done, cancelled } = await store.counts()
  expect([queued, done, cancelled]).toEqual([8_900, 1_000, 0])
})

test('a thousand cancels of one turn are answered each, and are written in parts', async () => {
  const store = await opened(randomUUID())
  const ids = Array.from({ length: 1_000 }, (_, i) => `job ${i}`)
  await put(store, ...ids.map((id) => newJob(id)))
  const answers = await store.cancel(ids.map((id) => ({ ids: [id], reason: null, graceMs: 0 })))
  expect(answers.map(({ cancelled }) => cancelled)).toEqual(ids.map((id) => [id]))
  expect((await store.counts()).cancelled).toBe(1_000)
})

test('the jobs of several failures are listed in the order of their enqueue, however many each has', async () => {
  const store = await opened(randomUUID())
  // Runs of each, longer and shorter than what is read at once.
  const causes = [0, 1, 2].map((n) => ({ name: 'Error', message: 'abc'[n] ?? '' }))
  const causeOf = (i: number): number => (i < 700 ? 0 : i < 1_400 ? 1 : i % 3)
  const ids = Array.from({ length: 2_000 }, (_, i) => `job ${i}`)
  await put(store, ...ids.map((id) => newJob(id)))
  for (let i = 0; i < ids.length; i += 500) {
    const jobs = await take(store, { max: 500 })
    await store.settle(
      jobs.map((job, n) => ({
        ...lease(job),
        event: 'FAIL' as const,
        to: 'dead' as const,
        fatal: true,
        error: causes[causeOf(i + n)] ?? boom,
      })),
    )
  }
  const fingerprints = causes.map((cause) => failureOf(cause).fingerprint)
  const wanted = ids.filter((_, i) => causeOf(i) !== 1)
  const listed = async (order: 'oldest' | 'newest'): Promise<string[]> => {
    const found: string[] = []
    let after: string | undefined
    do {
      const query = { failure: [fingerprints[2] ?? '', fingerprints[0] ?? ''], order, limit: 800 }
      const page = await store.list({ ...query, ...(after !== undefined && { after }) })
      found.push(...page.map(({ id }) => id))
      after = page.next
    } while (after !== undefined)
    return found
  }
  expect(await listed('oldest')).toEqual(wanted)
  expect(await listed('newest')).toEqual(wanted.toReversed())
})

test('a runtime goes on when its server has been killed and is back', async () => {
  const own = await redisServer('--appendonly', 'yes', '--appendfsync', 'always')
  onTestFinished(() => own.remove())
  const runs: number[] = []
  const work = defineJob<number, void>({ type: 'work', run: async (n) => void runs.push(n) })
  const store = redisStore({ url: own.url })
  const runtime = createRuntime({ jobs: [work], store, concurrency: 4, logger: {} })
  await runtime.start()
  const before = await runtime.enqueueMany(
    work,
    Array.from({ length: 50 }, (_, n) => n),
  )
  await own.kill()
  await own.start()
  const results = await Promise.allSettled(before.map((job) => job.result({ timeout: '20s' })))
  expect(results.filter(({ status }) => status === 'rejected')).toEqual([])
  const after = await runtime.enqueue(work, 50)
  await after.result({ timeout: '20s' })
  expect(new Set(runs).size).toBe(51)
  await own.kill()
  const stopped = await runtime.stop({ timeout: '5s' })
  expect(stopped).toBeDefined()
})

/** Whatever the time is: this process knows the server's to a millisecond. */
const none = { ageMs: 0, count: 0, countMax: 0 }
const keepNone = { done: none, dead: none, cancelled: none }

test('a job that is retried while a prune is on its way is not removed', async () => {
  const prefix = randomUUID()
  const other = await opened(prefix)
  let armed = false
  const store = await delayedStore(server().url, prefix, async ([, name = '']) => {
    // The prune has read which jobs have ended; what comes next is their removal.
    if (name.endsWith('_remove') && armed) {
      armed = false
      await other.retry(['a'])
      await other.cancel([{ ids: ['a'], reason: null, graceMs: 0 }])
    }
  })
  await put(other, newJob('a'), newJob('b'))
  await cancel(other, ['a', 'b'])
  await store.retain({ types: new Map(), others: keepNone })
  armed = true
  await store.prune(10)
  expect(armed).toBe(false)
  expect((await other.get(['a', 'b'])).map((job) => job?.generation ?? null)).toEqual([2, null])
})

test('what is pruned leaves nothing behind', async () => {
  const prefix = randomUUID()
  const store = await opened(prefix)
  await put(store, newJob('a', { input: 1, meta: { m: 1 }, key: 'k' }), newJob('b', { concurrencyKey: 'c' }))
  for (const [i, job] of (await take(store, { max: 2 })).entries()) {
    const steps = { one: 1 }
    await store.extend({
      worker: 'w1',
      leaseMs: 1_000,
      heartbeats: [{ ...lease(job), steps, checkin: { at: 1, value: 1 } }],
    })
    const end =
      i === 0
        ? ({ event: 'COMPLETE', to: 'done', output: 1 } as const)
        : ({ event: 'FAIL', to: 'dead', fatal: true, error: { name: 'E', message: '' } } as const)
    await store.settle([{ ...lease(job), ...end }])
  }
  const parent = { id: 'p', checkins: false }
  await put(store, newJob('c', { parent, version: '1' }))
  const child = await takeOne(store, { token: 't2' })
  const checkpoint = { number: 1, state: {}, read: 0, note: 'x', takesCancel: false, states: ['s'], tags: ['t'] }
  await store.settle([{ ...lease(child), event: 'COMPLETE', to: 'done', checkpoint }])
  expect(await store.list({ parent: 'p', machineState: 's' })).toHaveLength(1)
  expect((await prune(store, keepNone, 10)).pruned).toBe(3)
  const keys = (await server().command('KEYS', `{${prefix}}:*`)) as string[]
  const names = keys.map((key) => key.slice(prefix.length + 3)).filter((name) => !/^(activity|failures?)\b/.test(name))
  expect(names.toSorted()).toEqual(['epochs', 'figures', 'log', 'looks', 'retention', 'run'])
})

test('jobs of an earlier build are refused', async () => {
  const prefix = randomUUID()
  await server().command('SET', `{${prefix}}:seq`, '7')
  await expect(opened(prefix)).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  expect(await server().command('KEYS', `{${prefix}}:*`)).toEqual([`{${prefix}}:seq`])
})

test('an insert that is refused for one id enters none of its jobs anywhere', async () => {
  const prefix = randomUUID()
  const store = await opened(prefix)
  await put(store, newJob('a', { type: 'sms' }))
  const refused = await put(store, newJob('b'), newJob('a'), newJob('c'))
  expect(refused.map(({ outcome }) => outcome)).toEqual(['id-taken', 'id-taken', 'id-taken'])
  expect(await server().command('XLEN', `{${prefix}}:all`)).toBe(1)
  expect(await server().command('EXISTS', `{${prefix}}:queue:mail`)).toBe(0)
})

test('of a long history only the last entries are stored', async () => {
  const prefix = randomUUID()
  const store = await opened(prefix)
  await put(store, newJob('a'))
  for (let i = 0; i < 70; i++) {
    const job = await takeOne(store, { token: `t${i}` })
    await store.settle([{ ...lease(job), event: 'RELEASE', to: 'queued' }])
  }
  const row = String(await server().command('HGET', `{${prefix}}:jobs`, 'a'))
  expect(row.match(/\0\[/g)).toHaveLength(100)
})

test('options that make no sense are refused', () => {
  const wrong = [
    {},
    { url: 'http://x' },
    { url: 'redis://x', client: {} },
    { client: {} },
    { url: 'redis://x', prefx: 'a' },
  ]
  for (const options of wrong) expect(() => redisStore(options)).toThrow(JobchartError)
})
