/** Jobs with concurrency keys are claimed in their order, though a claim is told few of them. */
import { expect, onTestFinished } from 'vitest'
import { memoryStore } from 'jobchart'
import { postgresStore } from 'jobchart/postgres'
import { seededRandom } from 'jobchart/testing'
import { ask, boom, idsOf, lease, newJob, noLimits, put, take } from '../../../src/store-testing/conformance/acts.ts'
import { systemClock } from '../../../src/core/clock.ts'
import type { Settlement } from '../../../src/core/settlement.ts'
import type { ClaimAnswer, ClaimedJob, ClaimRequest, NewJob, Store } from '../../../src/store.ts'
import { postgresOfFile, postgresTest as test } from '../../support/postgres-server.ts'

const server = postgresOfFile()

async function opened(store: Store): Promise<Store> {
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

const inSchema = (schema: string): Promise<Store> => opened(postgresStore({ url: server().url, schema }))

const perKey = (limit: number | null) => ({ limits: { ...noLimits, perKey: limit } })

const jobsOf = (key: string | null, count: number, options: Partial<NewJob> = {}): NewJob[] =>
  Array.from({ length: count }, (_, i) => newJob(`${key}.${i}`, { concurrencyKey: key, ...options }))

/** Of a key each. */
const cold = Array.from({ length: 60 }, (_, i) => newJob(`k${i}`, { concurrencyKey: `k${i}` }))

/** What a claim is told of the jobs with keys. */
const told = (schema: string, values: string): Promise<readonly Record<string, unknown>[]> =>
  server().query(`SELECT concurrency, is_part FROM ${schema}.heads('mail', ${values}) WHERE concurrency <> ''`)

test('a claim is told as many jobs as it may take, and those before them that it may not', async () => {
  const store = await inSchema('told')
  const keys = Array.from({ length: 100 }, (_, i) => `key ${i}`)
  await put(store, ...keys.map((key) => newJob(key, { concurrencyKey: key })))
  const [running] = await take(store, { max: 1, ...perKey(1) })
  expect(running?.id).toBe('key 0')
  await put(store, newJob('behind', { concurrencyKey: 'key 0', priority: 9 }))
  const rows = await told('told', "3, 'first', 1")
  expect(rows.map((row) => row['concurrency'])).toEqual(['=key 0', '=key 1', '=key 2', '=key 3'])
  expect(rows.every((row) => row['is_part'])).toBe(true)
  // Where all are looked at, nothing comes behind those that are told.
  expect((await told('told', "30, 'first', 1")).some((row) => row['is_part'])).toBe(false)
  // Two of each of all keys.
  expect(await told('told', "3, 'keys', NULL")).toHaveLength(100)
})

test('where too many of the first jobs are of few keys, something of each key is told', async () => {
  const store = await inSchema('few')
  await put(store, ...jobsOf('hot', 100), ...jobsOf('a', 2), ...jobsOf('b', 1))
  const rows = await told('few', "3, 'first', 2")
  expect(new Set(rows.map((row) => row['concurrency']))).toEqual(new Set(['=hot', '=a', '=b']))
  expect(idsOf(await take(store, { max: 4, ...perKey(2) }))).toEqual(['hot.0', 'hot.1', 'a.0', 'a.1'])
  const { jobs, shortfalls } = await ask(store, { max: 4, token: 'second', ...perKey(2) })
  expect([idsOf(jobs), shortfalls]).toEqual([['b.0'], [{ type: 'mail', reason: 'capped' }]])
})

test('by terms of another worker jobs are claimed in their order, whatever one was told by its own', async () => {
  const store = await inSchema('terms')
  await put(store, ...jobsOf('hot', 9), ...cold)
  const claim = async (startedAt: number, token: string, demand: Partial<ClaimRequest['demand'][number]>) => {
    const each = { type: 'mail', max: 3, limits: noLimits, ...demand }
    return idsOf((await store.claim({ worker: 'w', token, leaseMs: 30_000, startedAt, demand: [each] })).jobs)
  }
  expect(await claim(2, 'newer', perKey(9))).toEqual(['hot.0', 'hot.1', 'hot.2'])
  expect(await claim(1, 'older, of one', perKey(1))).toEqual(['hot.3', 'hot.4', 'hot.5'])
  expect(await claim(3, 'sharing', { ...perKey(9), keyShares: true })).toEqual(['hot.6', 'k0', 'k1'])
  expect(await claim(1, 'older, without shares', perKey(9))).toEqual(['k2', 'k3', 'k4'])
})

test.each([0, 3])('jobs that were not told go before %s that come behind them and have no key', async (others) => {
  const store = await inSchema(`order_${others}`)
  await put(store, ...jobsOf('hot', 4), ...cold, ...jobsOf(null, others))
  const claim = async (startedAt: number, token: string, limit: number) => {
    const demand = [{ type: 'mail', max: 4, ...perKey(limit) }]
    return idsOf((await store.claim({ worker: 'w', token, leaseMs: 30_000, startedAt, demand })).jobs)
  }
  await claim(2, 'newer', 1)
  // It is told three jobs of the first key, of which it may claim none, and one more.
  expect(await claim(1, 'older', 4)).toEqual(['k3', 'k4', 'k5', 'k6'])
})

test('claims take what those of the memory store take, whatever is told', async () => {
  const random = seededRandom(11)
  const below = (max: number): number => Math.floor(random() * max)
  const stores = [await opened(memoryStore()), await inSchema('same')] as const
  let [running, number]: [readonly (readonly [ClaimedJob, ClaimedJob])[], number] = [[], 0]
  // Few keys have most of the jobs.
  const keyed = (): NewJob => {
    const key = [null, 'hot', `warm ${below(3)}`, `cold ${below(200)}`, `cold ${below(200)}`][below(5)] ?? null
    return newJob(`job ${number++}`, { concurrencyKey: key, priority: below(6) === 0 ? below(5) - 2 : 0 })
  }
  const claimBoth = async (request: ClaimRequest, ends: (of: 0 | 1) => readonly Settlement[]): Promise<void> => {
    const [own, other] = await Promise.all(
      stores.map(async (store, i): Promise<ClaimAnswer> => {
        const settled = store.settle(ends(i as 0 | 1))
        const [answer] = await Promise.all([store.claim(request), settled])
        return answer
      }),
    )
    if (own === undefined || other === undefined) throw new TypeError('not claimed')
    expect([request, idsOf(other.jobs), other.shortfalls]).toEqual([request, idsOf(own.jobs), own.shortfalls])
    const pairs = own.jobs.map((job, i) => [job, other.jobs[i] ?? job] as const)
    running = [...running, ...pairs]
  }
  for (let round = 0; round < 150; round++) {
    const more = Array.from({ length: below(14) }, keyed)
    if (more.length > 0) for (const store of stores) await put(store, ...more)
    const count = Math.min(running.length, below(12))
    const ended = running.slice(0, count).map((pair) => [pair, below(8) === 0] as const)
    running = running.slice(count)
    const concurrency = below(6) === 0 ? 12 : null
    const limits = { ...noLimits, concurrency, perKey: [null, 1, 1, 2, 3][below(5)] ?? null }
    const demand = [{ type: 'mail', max: 1 + below(9), limits }]
    const token = `token ${round}`
    await claimBoth({ worker: 'w', token, leaseMs: 30_000, demand }, (of) =>
      ended.map(([pair, isFailed]) =>
        isFailed
          ? { ...lease(pair[of]), event: 'FAIL', to: 'dead', error: boom }
          : { ...lease(pair[of]), event: 'COMPLETE', to: 'done' },
      ),
    )
  }
  expect(number).toBeGreaterThan(700)
})
