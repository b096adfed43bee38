/**
 * Workers on a Redis server whose definitions of a type differ, as in a rolling deployment: keys are arranged by the
 * limits of one of them.
 */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished } from 'vitest'
import { newJob, noLimits } from '../../src/store-testing/conformance/acts.ts'
import { nodeRedisAt } from '../../src/stores/redis/node-redis.ts'
import type { ClaimAnswer, Demand, Store, TypeLimits } from '../../src/store.ts'
import { redisTest as test, serverOfFile } from '../support/redis-server.ts'
import { redisSubject } from '../support/redis-subject.ts'
import { movingClock } from './moving-clock.ts'

const server = serverOfFile()

interface World {
  readonly store: Store
  readonly clock: ReturnType<typeof movingClock>
}

async function world(): Promise<World> {
  const clock = movingClock()
  const subject = await redisSubject(server().url, nodeRedisAt, { prefix: randomUUID(), clock })
  onTestFinished(() => subject.close())
  return { store: subject.store, clock }
}

/** Jobs with a key each. */
async function putKeys(store: Store, keys: number, jobsPerKey = 1): Promise<void> {
  const jobs = Array.from({ length: keys * jobsPerKey }, (_, i) =>
    newJob(`job ${i}`, { concurrencyKey: `key ${i % keys}` }),
  )
  for (let i = 0; i < jobs.length; i += 1_000) await store.insert([{ jobs: jobs.slice(i, i + 1_000), capacity: null }])
}

let tokens = 0

/** @param startedAt tells the workers apart: the later one has the newer definition */
const claimOf =
  (store: Store, startedAt: number, limits: Partial<TypeLimits>, rest: Partial<Demand> = {}) =>
  (max: number): Promise<ClaimAnswer> =>
    Promise.resolve(
      store.claim({
        worker: `w${startedAt}`,
        leaseMs: 600_000,
        token: `t${++tokens}`,
        startedAt,
        demand: [{ type: 'mail', max, limits: { ...noLimits, ...limits }, ...rest }],
      }),
    )

/** The commands that the server has carried out, those in scripts included. */
async function commands(): Promise<number> {
  const stats = String(await server().command('INFO', 'commandstats'))
  return [...stats.matchAll(/calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0)
}

test.for([
  ['perKey', { perKey: 1 }, { perKey: 3 }],
  ['keyRateLimit', { keyRate: { limit: 1, perMs: 60_000 } }, { keyRate: { limit: 5, perMs: 60_000 } }],
] as const)('two workers whose %s differ cost no more for each key that there is', async ([, older, newer]) => {
  const { store } = await world()
  await putKeys(store, 2_000, 2)
  const [one, two] = [claimOf(store, 1, older), claimOf(store, 2, newer)]
  // Many keys are kept back by the limits of the one.
  for (let i = 0; i < 10; i++) await one(100)
  const before = await commands()
  for (let i = 0; i < 10; i++) {
    expect((await one(5)).jobs.length).toBe(5)
    expect((await two(5)).jobs.length).toBe(5)
  }
  expect(((await commands()) - before) / 20).toBeLessThan(1_500)
})

test('of two workers whose limits per key differ, those of the one that has started last hold, in whatever order they claim', async () => {
  const { store } = await world()
  await putKeys(store, 1, 20)
  const [older, newer] = [claimOf(store, 1, { perKey: 10 }), claimOf(store, 2, { perKey: 2 })]
  expect((await older(1)).jobs.length).toBe(1)
  expect((await newer(5)).jobs.length).toBe(1)
  expect(await older(5)).toMatchObject({ jobs: [], shortfalls: [{ reason: 'capped' }] })
  expect(await newer(5)).toMatchObject({ jobs: [], shortfalls: [{ reason: 'capped' }] })
})

test('a newer definition without a limit ends it for older workers, too', async () => {
  const { store } = await world()
  await putKeys(store, 1, 20)
  const [older, newer] = [claimOf(store, 1, { perKey: 1 }), claimOf(store, 2, {})]
  expect((await older(5)).jobs.length).toBe(1)
  expect((await newer(5)).jobs.length).toBe(5)
  expect((await older(5)).jobs.length).toBe(5)
})

test('the limits of an older worker hold again when the newer one has not claimed for half a minute', async () => {
  const { store, clock } = await world()
  await putKeys(store, 1, 20)
  const [older, newer] = [claimOf(store, 1, { perKey: 10 }), claimOf(store, 2, { perKey: 1 })]
  expect((await newer(5)).jobs.length).toBe(1)
  await clock.advance(20_000)
  expect((await newer(5)).jobs.length).toBe(0)
  await clock.advance(20_000)
  expect((await older(5)).jobs.length).toBe(0)
  await clock.advance(10_000)
  expect((await older(20)).jobs.length).toBe(9)
})

test('every key that a lower limit has kept back is claimed from again after it was raised', async () => {
  const { store } = await world()
  await putKeys(store, 1_500, 2)
  for (const claimed of [1_000, 500]) expect((await claimOf(store, 1, { perKey: 1 })(1_000)).jobs.length).toBe(claimed)
  const raised = claimOf(store, 2, { perKey: 2 })
  const jobs: string[] = []
  for (let i = 0; i < 10 && jobs.length < 1_500; i++) {
    const answer = await raised(1_000)
    jobs.push(...answer.jobs.map(({ id }) => id))
  }
  expect(new Set(jobs).size).toBe(1_500)
  expect((await raised(1)).shortfalls).toEqual([{ type: 'mail', reason: 'empty' }])
})

test('every key is claimed from after the limit of its rate was raised, and after keys have begun and ceased to share the claims', async () => {
  const { store } = await world()
  await putKeys(store, 700, 4)
  const steps: [Partial<TypeLimits>, Partial<Demand>][] = [
    [{ keyRate: { limit: 1, perMs: 60_000 } }, {}],
    [{ keyRate: { limit: 2, perMs: 60_000 } }, {}],
    [{}, { keyShares: true }],
    [{ perKey: 4 }, {}],
  ]
  for (const [i, [limits, rest]] of steps.entries()) {
    const act = claimOf(store, i, limits, rest)
    let taken = 0
    for (let n = 0; n < 10 && taken < 700; n++) taken += (await act(700 - taken)).jobs.length
    expect(taken).toBe(700)
  }
  expect((await store.counts()).queued).toBe(0)
})

test.for([
  ['rate', { keyRate: { limit: 2, perMs: 60_000 } }, { keyRate: { limit: 1, perMs: 60_000 } }, 60_000],
  ['cap', { perKey: 2 }, { perKey: 1 }, null],
] as const)(
  'a lower %s by which no key is claimed from is found out in bounded steps',
  async ([, older, newer, ms]) => {
    const { store, clock } = await world()
    await putKeys(store, 2_000, 2)
    const first = claimOf(store, 1, older)
    for (let i = 0; i < 2; i++) expect((await first(1_000)).jobs.length).toBe(1_000)
    const started = store.now()
    await clock.advance(1_000)
    const lowered = claimOf(store, 2, newer)
    const steps: ClaimAnswer['shortfalls'][number][] = []
    for (let i = 0; i < 10; i++) {
      const before = await commands()
      const { jobs, shortfalls } = await lowered(10)
      expect(jobs).toEqual([])
      expect((await commands()) - before).toBeLessThan(8_000)
      steps.push(...shortfalls)
      if (shortfalls[0]?.reason !== 'limited' || shortfalls[0].until !== store.now()) break
    }
    // What is not found out yet is asked for at once.
    const last = steps.pop()
    expect(steps.length).toBe(3)
    expect(new Set(steps.map(({ reason }) => reason))).toEqual(new Set(['limited']))
    expect(last).toEqual(
      ms === null ? { type: 'mail', reason: 'capped' } : { type: 'mail', reason: 'limited', until: started + ms },
    )
  },
)
