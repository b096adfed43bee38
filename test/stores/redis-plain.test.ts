/** On Redis plain inserts, ends and claims have scripts of their own, which keep what those for all others keep. */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import type { Settlement } from '../../src/core/settlement.ts'
import { cancel, lease, newJob, noLimits, prune, put } from '../../src/store-testing/conformance/acts.ts'
import type { Command, RedisClient } from '../../src/stores/redis/connection.ts'
import { namespaceOf } from '../../src/stores/redis/keys.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import { seededRandom } from '../../src/testing/index.ts'
import type { ClaimedJob, Hint, NewJob, SettleAnswer, Store } from '../../src/store.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import { redisSubject } from '../support/redis-subject.ts'
import { movingClock } from './moving-clock.ts'

const server = serverOfFile()

/** Who claims. */
interface By {
  readonly worker: string
  readonly token: string
}

type Demands = Readonly<Record<string, number>>

interface World {
  readonly store: Store
  /** That of another process. */
  readonly second: Store
  /** Stores jobs. */
  insert(jobs: readonly NewJob[]): Promise<unknown>
  /** Settles and claims in one turn; each may be left out. */
  act(settlements: readonly Settlement[], demands: Demands, by: By): Promise<readonly [unknown, ClaimedJob[]]>
  /** All that the server keeps of the namespace. */
  kept(): Promise<unknown>
  /** What those who watch were told since the last call. */
  told(): readonly string[]
  /** How often the first store has called a script. */
  called(script: string): number
}

/** More jobs than there are: a claim with a limit is left to the script for all claims. */
const loose = { ...noLimits, concurrency: 1_000_000 }

/** @param isPlain may the script for plain ends and claims be used? */
async function world(clock: ReturnType<typeof movingClock>, isPlain: boolean): Promise<World> {
  const prefix = randomUUID()
  const namespace = namespaceOf(prefix)
  const open = async (clientAt = nodeRedisAt): Promise<Store> => {
    const { store } = await redisSubject(server().url, clientAt, { prefix, clock })
    onTestFinished(() => store.close())
    return store
  }
  const called: string[] = []
  const counting = async (url: string): Promise<RedisClient> => {
    const client = await nodeRedisAt(url)
    const send = client.send.bind(client)
    return Object.assign(client, {
      send(command: Command) {
        called.push(command[1] ?? '')
        return send(command)
      },
    })
  }
  const [store, second] = [await open(counting), await open()]
  let hints: Hint[] = []
  store.watch((hint) => void hints.push(hint))
  const client = await nodeRedisAt(server().url)
  await client.connect()
  onTestFinished(() => client.close())
  const command = (...args: readonly string[]) => client.send(args)
  const readers: Readonly<Record<string, (key: string) => Promise<unknown>>> = {
    hash: async (key) => Object.fromEntries(pairsOf(await command('HGETALL', key))),
    list: (key) => command('LRANGE', key, '0', '-1'),
    zset: (key) => command('ZRANGE', key, '0', '-1', 'WITHSCORES'),
    stream: (key) => command('XRANGE', key, '-', '+'),
    string: (key) => command('GET', key),
  }
  return {
    store,
    second,
    insert: async (jobs) => store.insert([{ jobs, capacity: isPlain ? null : loose.concurrency }]),
    async act(settlements, demands, by) {
      const limits = isPlain ? noLimits : loose
      const asked = Object.entries(isPlain || Object.keys(demands).length > 0 ? demands : { none: 1 })
      const demand = asked.map(([type, max]) => ({ type, max, limits, maxAttempts: 3 }))
      const settling = settlements.length > 0 ? store.settle(settlements) : Promise.resolve<SettleAnswer[]>([])
      const claiming = demand.length > 0 ? store.claim({ ...by, leaseMs: 30_000, demand }) : null
      const [settled, claimed] = await Promise.all([settling, claiming])
      const { jobs = [], shortfalls = [] } = claimed ?? {}
      const records = jobs.map((job) => ({ ...job, record: job.record() }))
      return [[settled, records, shortfalls.filter(({ type }) => type !== 'none')], [...jobs]]
    },
    async kept() {
      const keys = ((await command('KEYS', `${namespace}*`)) as string[]).toSorted()
      const read = async (key: string): Promise<readonly [string, unknown]> => {
        const type = String(await command('TYPE', key))
        return [key.slice(namespace.length), await readers[type]?.(key)]
      }
      const all = Object.fromEntries(await Promise.all(keys.filter((key) => !key.endsWith('epochs')).map(read)))
      const isThere = (id: string): boolean => id in ((all['jobs'] ?? {}) as object)
      for (const key of Object.keys(all)) if (key.startsWith('ended:')) all[key] = endedOf(all[key] as Entries, isThere)
      return all
    },
    told() {
      // The channel begins at any time.
      const own = hints.filter(({ kind }) => kind !== 'missed')
      const told = own.map((hint) => JSON.stringify(hint, ['kind', 'type', 'atMost', 'ids'])).toSorted()
      hints = []
      return told
    },
    called: (script) => called.filter((name) => name.endsWith(`_${script}`)).length,
  }
}

const minuteMs = 60_000

/**
 * One with the scripts for plain jobs, one without, and one clock. It starts with a minute: the first call of a minute
 * is not for the script of plain ones, and how many follow it there depends on what was refused before.
 */
async function twoWorlds() {
  const now = systemClock.now()
  const clock = movingClock(now - (now % minuteMs))
  const [plain, other] = [await world(clock, true), await world(clock, false)]
  const both = async <T>(act: (at: World) => Promise<T>): Promise<readonly [T, T]> => [
    await act(plain),
    await act(other),
  ]
  return { clock, plain, other, both }
}

type Entries = readonly [string, string[]][]

/** The ended jobs of a stream that are there: how many stand in an entry does not matter. */
const endedOf = (entries: Entries, isThere: (id: string) => boolean): unknown[] =>
  entries.flatMap(([, [at, first, ...ids]]) =>
    ids.flatMap((id, i) => (isThere(id) ? [[at, Number(first) + i, id]] : [])),
  )

const pairsOf = (reply: unknown): [string, string][] => {
  const flat = reply as string[]
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i] as string, flat[2 * i + 1] as string])
}

const done = (job: ClaimedJob, output?: string): Settlement => ({
  ...lease(job),
  event: 'COMPLETE',
  to: 'done',
  ...(output !== undefined && { output }),
})

/** Calls of a command within scripts that the script for plain ends and claims does not use. */
const hincrbys = async (): Promise<number> =>
  Number(/cmdstat_hincrby:calls=(\d+)/.exec(String(await server().command('INFO', 'commandstats')))?.[1] ?? 0)

test.for([1, 2, 3, 4, 9, 15, 21])('plain ends and claims keep what others keep, seed %i', async (seed) => {
  const random = seededRandom(seed)
  const hasSecond = seed % 3 === 0
  const holdsBack = seed % 9 === 0
  const below = (max: number): number => Math.floor(random() * max)
  const { clock, plain, other, both } = await twoWorlds()
  const types = ['a', 'b', 'c']
  let running: ClaimedJob[] = []
  let number = 0
  let byPlain = 0
  for (let step = 0; step < 150; step++) {
    const kind = below(20)
    if (kind < 4) {
      const type = types[below(3)] ?? 'a'
      const isRare = seed % 2 === 0 && below(12) === 0
      const special: Partial<NewJob> = isRare ? (below(2) === 0 ? { priority: 1 } : { delayMs: 1_000 }) : {}
      const jobs = Array.from({ length: 1 + below(25) }, () =>
        newJob(`job-${++number}`, { type, input: { number }, ...special }),
      )
      await both(({ store }) => put(store, ...jobs))
    } else if ((kind === 4 || kind > 16) && hasSecond) {
      const id = (below(2) === 0 ? running[0]?.id : undefined) ?? `job-${1 + below(number + 1)}`
      await both(({ second }) => cancel(second, [id]))
    } else if (kind === 9 && hasSecond) {
      // It stands in the list of its queue twice, the first time in a place that it no longer has.
      const id = `job-${number}`
      await both(async ({ second }) => second.discard([id]))
      await both(({ second }) => put(second, newJob(id, { type: 'a', input: { again: step } })))
    } else if (kind === 5) {
      await clock.advance(below(6) === 0 ? 61_000 : 100)
      await both(async ({ store }) => store.promote(100))
    } else if (kind === 6) {
      const keepsNone = { count: 0, ageMs: 0 }
      await both(({ store }) => prune(store, { done: keepsNone, dead: keepsNone, cancelled: keepsNone }, 10))
    } else if (kind === 7 && holdsBack) {
      const [type, isPaused] = [types[below(3)] ?? 'a', below(3) === 0]
      await both(({ second }) => second.queue(type, { paused: isPaused }))
    } else if (kind === 8 && holdsBack) {
      // A type that is found at its cap is told of when a run ends.
      const demand = [{ type: 'a', max: 5, limits: { ...noLimits, concurrency: 2 } }]
      const claim = { worker: 'w', token: `capped-${step}`, leaseMs: 30_000, demand }
      const [{ jobs }] = await both(async ({ store }) => store.claim(claim))
      running.push(...jobs)
    } else {
      await clock.advance(below(50))
      const ends = running.filter(() => below(3) > 0)
      running = running.filter((job) => !ends.includes(job))
      const settlements = ends.map((job) => done(job, below(4) === 0 ? `output of ${job.id}` : undefined))
      const demands = Object.fromEntries(types.filter(() => below(4) > 0).map((type) => [type, 1 + below(6)]))
      const before = await hincrbys()
      const token = below(8) === 0 ? 'again' : `token-${step}`
      const by = { worker: below(8) === 0 ? 'x' : 'w', token }
      const first = await plain.act(settlements, demands, by)
      if ((settlements.length > 0 || first[1].length > 0) && (await hincrbys()) - before <= 1) byPlain++
      const second = await other.act(settlements, demands, by)
      expect(first[0]).toEqual(second[0])
      // What another process has done is told at any time.
      if (!hasSecond) expect(plain.told()).toEqual(other.told())
      running.push(...first[1])
    }
    plain.told()
    other.told()
    expect(await plain.kept()).toEqual(await other.kept())
  }
  // Jobs with a priority, queues that have had some, and what another process has changed are left to the others.
  if (seed % 2 === 1) expect(byPlain).toBeGreaterThan(hasSecond ? 1 : 20)
})

test.for([1, 2, 3, 4, 5, 6])('plain inserts keep what others keep, seed %i', async (seed) => {
  const random = seededRandom(seed)
  const below = (max: number): number => Math.floor(random() * max)
  const { clock, plain, other, both } = await twoWorlds()
  const types = ['a', 'b', 'c']
  let number = 0
  for (let step = 0; step < 60; step++) {
    const kind = below(12)
    if (kind < 8) {
      const ofTypes = types.filter(() => below(2) === 0)
      const special = (): Partial<NewJob> => (seed % 2 === 0 && below(40) === 0 ? { priority: 1 } : {})
      const jobs = Array.from({ length: below(6) === 0 ? 2 + below(498) : 2 + below(30) }, () =>
        newJob(`job-${++number}`, {
          type: ofTypes[below(ofTypes.length)] ?? 'a',
          ...(below(3) > 0 && { input: { number, text: 'é\u0001\u0000' } }),
          ...(below(4) === 0 && { tags: ['x'] }),
          ...special(),
        }),
      )
      // One that is there already.
      if (below(8) === 0 && number > 40) jobs.push(newJob(`job-${1 + below(20)}`, { type: 'a' }))
      const [first, second] = await both((at) => at.insert(jobs))
      expect(first).toEqual(second)
    } else if (kind === 8) await clock.advance(below(4) === 0 ? 61_000 : 100)
    else if (kind === 9) {
      const id = `job-${1 + below(number + 1)}`
      await both(({ store }) => cancel(store, [id]))
    } else if (kind === 10 && seed % 3 === 0) {
      const paused = below(2) === 0
      await both(({ store }) => store.queue('a', { paused }))
    } else if (kind === 10 && seed % 3 === 1) {
      // Jobs of a type that has had a limit per key stand elsewhere.
      const demand = [{ type: 'c', max: 2, limits: { ...noLimits, perKey: 1 } }]
      await both(async ({ store }) => store.claim({ worker: 'w', token: `keys-${step}`, leaseMs: 30_000, demand }))
    } else if (kind === 10) {
      // Who shows a job is told of its insert.
      await both(async ({ store }) => store.announce?.([`job-${number + 2}`], 50))
    } else {
      const max = 1 + below(40)
      await both((at) => at.act([], { a: max, b: 3 }, { worker: 'w', token: `token-${step}` }))
    }
    expect(plain.told()).toEqual(other.told())
    expect(await plain.kept()).toEqual(await other.kept())
  }
  expect(other.called('insertPlain')).toBe(0)
  expect(plain.called('insertPlain')).toBeGreaterThan(10)
  // Jobs with a priority, and those that come first in a minute, are left to the other.
  expect(plain.called('insert')).toBeGreaterThan(0)
})

test('other processes are told of plain inserts once, until a type has no job', async () => {
  const { store, second } = await world(movingClock(), true)
  const told: Hint[] = []
  second.watch((hint) => void told.push(hint))
  await expect.poll(() => told, { timeout: 10_000 }).toContainEqual({ kind: 'missed' })
  const ofType = (type: string) => told.filter((hint) => hint.kind === 'ready' && hint.type === type).length
  await put(store, newJob('0', { type: 'a' }))
  // The first insert of a minute is not for the script of plain ones.
  for (const n of [1, 3]) await put(store, newJob(`${n}`, { type: 'a' }), newJob(`${n + 1}`, { type: 'b' }))
  await put(store, newJob('5', { type: 'c' }), newJob('6', { type: 'c' }))
  await expect.poll(() => ofType('c'), { timeout: 10_000 }).toBe(1)
  expect([ofType('a'), ofType('b')]).toEqual([1, 1])
  const demand = [{ type: 'b', max: 5, limits: noLimits }]
  await store.claim({ worker: 'w', token: 't', leaseMs: 30_000, demand })
  await put(store, newJob('7', { type: 'a' }), newJob('8', { type: 'b' }))
  await expect.poll(() => ofType('b'), { timeout: 10_000 }).toBe(2)
  expect(ofType('a')).toBe(1)
})

test('other processes that watch ends are told of plain ones', async () => {
  const at = await world(movingClock(), true)
  const { store, second } = at
  await put(store, newJob('first', { type: 'a' }), newJob('second', { type: 'a' }))
  const [, jobs] = await at.act([], { a: 2 }, { worker: 'w', token: 't' })
  const told: Hint[] = []
  second.watchEnds?.()
  second.watch((hint) => void told.push(hint))
  await expect.poll(() => told, { timeout: 10_000 }).toContainEqual({ kind: 'missed' })
  await at.act(
    jobs.map((job) => done(job)),
    {},
    { worker: 'w', token: 't' },
  )
  await expect.poll(() => told, { timeout: 10_000 }).toContainEqual({ kind: 'ended', ids: ['first', 'second'] })
})
