/** Jobs under a limit of their type are claimed by the server, which counts what is leased. */
import { expect } from 'vitest'
import { ask, boom, idsOf, lease, newJob, noLimits, put, take } from '../../../src/store-testing/conformance/acts.ts'
import type { Settlement } from '../../../src/core/settlement.ts'
import type { ClaimedJob, NewJob, Store } from '../../../src/store.ts'
import { seededRandom } from '../../../src/testing/index.ts'
import { postgresOfFile, postgresTest as test } from '../../support/postgres-server.ts'
import { overheardStore, type OverheardStore } from './overheard-store.ts'

const server = postgresOfFile()

const opened = (schema: string, before?: (name: string) => Promise<void>): Promise<OverheardStore> =>
  overheardStore({ url: server().url, schema, before })

const capped = (concurrency: number) => ({ limits: { ...noLimits, concurrency } })
const end = (job: ClaimedJob): Settlement => ({ ...lease(job), event: 'COMPLETE', to: 'done' })
const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `job ${i}`)
const put6 = (store: Store): Promise<unknown> => put(store, ...numbered(6).map((id) => newJob(id)))

test('a claim under a limit is one call, and so are ends and the claim of the same turn', async () => {
  const { store, names } = await opened('one_call')
  await put6(store)
  names.length = 0
  const first = await take(store, { max: 2, ...capped(3) })
  expect(idsOf(first)).toEqual(['job 0', 'job 1'])
  const second = await ask(store, { max: 2, token: 'second', ...capped(3) })
  expect(idsOf(second.jobs)).toEqual(['job 2'])
  expect(second.shortfalls).toEqual([{ type: 'mail', reason: 'capped' }])
  const [, third] = await Promise.all([
    store.settle(first.map(end)),
    ask(store, { max: 5, token: 'third', ...capped(3) }),
  ])
  expect(idsOf(third.jobs)).toEqual(['job 3', 'job 4'])
  expect(third.shortfalls).toEqual([{ type: 'mail', reason: 'capped' }])
  await store.settle(third.jobs.map(end))
  const last = await ask(store, { max: 5, token: 'last', ...capped(3) })
  expect(idsOf(last.jobs)).toEqual(['job 5'])
  expect(last.shortfalls).toEqual([{ type: 'mail', reason: 'empty' }])
  // A cap that is lower than what is leased.
  await put(store, newJob('more'))
  expect(await ask(store, { max: 5, token: 'lower', ...capped(1) })).toEqual({
    jobs: [],
    shortfalls: [{ type: 'mail', reason: 'capped' }],
  })
  expect(names).not.toContain('jobchart commit')
  expect(names.filter((name) => name === 'jobchart exchange')).toHaveLength(6)
})

test('jobs that are documents count, and those that wait behind the limit are told of', async () => {
  const { store } = await opened('documents')
  const first = newJob('first', { priority: 1 })
  await put(store, first, ...numbered(2).map((id) => newJob(id)), newJob('last', { delayMs: 0, key: 'a' }))
  expect(idsOf(await take(store, { max: 1, ...capped(2) }))).toEqual(['first'])
  const two = await ask(store, { max: 5, token: 'two', ...capped(2) })
  expect([idsOf(two.jobs), two.shortfalls]).toEqual([['job 0'], [{ type: 'mail', reason: 'capped' }]])
  const three = await ask(store, { max: 5, token: 'three', ...capped(9) })
  expect([idsOf(three.jobs), three.shortfalls]).toEqual([['job 1', 'last'], [{ type: 'mail', reason: 'empty' }]])
})

/** Claims of two processes: that of the second begins when the first one has chosen, and ends before its commit. */
async function claimedAtOnce(
  schema: string,
  before: readonly NewJob[],
  meanwhile: readonly NewJob[],
  max: number,
): Promise<readonly [own: readonly string[], other: readonly string[], running: number]> {
  let claimed: readonly ClaimedJob[] | null = null
  const { store: other } = await opened(schema)
  const { store } = await opened(schema, async (name) => {
    if (name !== 'jobchart commit' || claimed !== null) return
    claimed = []
    if (meanwhile.length > 0) await put(other, ...meanwhile)
    claimed = await take(other, { max, token: 'other', ...capped(2) })
  })
  // One place is taken.
  await put(other, newJob('running'))
  await take(other, { max: 1, token: 'running', ...capped(2) })
  await put(other, ...before)
  const own = await take(store, { max: 2, token: 'own', ...capped(2) })
  return [idsOf(own), idsOf(claimed ?? []), (await other.counts()).running]
}

test('a claim by the core that has counted before the server claimed the last place is judged again', async () => {
  const [plain, more] = [newJob('plain'), newJob('more')]
  // A job of a low priority is chosen while no other is there.
  const low = newJob('low', { priority: -1 })
  expect(await claimedAtOnce('low', [low], [plain, more], 1)).toEqual([[], ['plain'], 2])
  // One that comes before the plain ones leaves none to the server.
  const high = newJob('high', { priority: 1 })
  expect(await claimedAtOnce('high', [plain, high], [more], 2)).toEqual([[], ['high'], 2])
  const same = newJob('same', { key: 'a' })
  expect(await claimedAtOnce('same', [same, plain], [more], 2)).toEqual([[], ['same'], 2])
})

test('of a type whose claims are under other limits, too, the core decides', async () => {
  const { store, names } = await opened('others')
  await put6(store)
  const rate = { limit: 1, perMs: 60_000 }
  expect(await take(store, { max: 1, limits: { ...noLimits, rate } })).toHaveLength(1)
  names.length = 0
  expect(await take(store, { max: 1, token: 'capped', ...capped(3) })).toHaveLength(1)
  expect(names).toContain('jobchart commit')
})

test('what a process knows of leased jobs counts until the figures have been written down', async () => {
  const [{ store }, { store: other }] = [await opened('known'), await opened('known')]
  await put6(store)
  await take(store, { max: 1, ...capped(3) })
  await take(other, { max: 2, token: 'other', ...capped(3) })
  await server().query("SELECT known.fold(0, (SELECT max(move) FROM known.moves), '{mail}', '{3}', '{3}', '{x}')")
  const { jobs, shortfalls } = await ask(store, { max: 5, token: 'own', ...capped(4) })
  expect([idsOf(jobs), shortfalls]).toEqual([['job 3'], [{ type: 'mail', reason: 'capped' }]])
})

test('several processes never have more jobs than a limit allows, and what is counted is what is leased', async () => {
  const random = seededRandom(7)
  const below = (max: number): number => Math.floor(random() * max)
  const caps = { mail: 3, news: 7 } as const
  const types = Object.keys(caps) as (keyof typeof caps)[]
  const stores = await Promise.all(Array.from({ length: 4 }, async () => (await opened('several')).store))
  const running: ClaimedJob[] = []
  let [number, token, byServer] = [0, 0, 0]
  const enqueue = async (store: Store): Promise<unknown> => {
    const type = types[below(2)] ?? 'mail'
    const special = [{ priority: 1 }, { priority: -1 }, { delayMs: 1 }, { key: `key ${number}` }][below(24)] ?? {}
    return put(store, ...Array.from({ length: 1 + below(6) }, () => newJob(`job ${++number}`, { type, ...special })))
  }
  const claim = async (store: Store): Promise<void> => {
    const demand = types
      .filter(() => below(4) > 0)
      .map((type) => ({ type, max: 1 + below(5), limits: { ...noLimits, concurrency: caps[type] } }))
    if (demand.length === 0) return
    const { jobs } = await store.claim({ worker: 'w', token: `token ${++token}`, leaseMs: 30_000, demand })
    running.push(...jobs)
    byServer += jobs.length
  }
  const settle = async (store: Store): Promise<unknown> => {
    const ends = running
      .splice(0, below(5))
      .map((job): Settlement =>
        below(5) === 0 ? { ...lease(job), event: 'FAIL', to: 'retrying', delayMs: 0, error: boom } : end(job),
      )
    return ends.length === 0 ? null : store.settle(ends)
  }
  const cancel = async (store: Store): Promise<unknown> =>
    below(6) > 0 ? null : store.cancel([{ ids: [running[0]?.id ?? `job ${number}`], reason: null, graceMs: 0 }])
  for (let round = 0; round < 60; round++) {
    await Promise.all(stores.flatMap((store) => [enqueue(store), settle(store), claim(store), cancel(store)]))
    await stores[0]?.promote(100)
    const [row] = await server().query(`SELECT several.leased('{mail,news}', '{null,null}', '{null,null}') AS counted,
      ARRAY(SELECT (SELECT count(*) FROM several.standing s WHERE s.type = t.type AND s.state IN ('running', 'cancelling'))
        FROM unnest('{mail,news}'::text[]) AS t(type)) AS leased`)
    expect(row?.['counted']).toEqual(row?.['leased'])
    const [mail = 0, news = 0] = ((row?.['leased'] ?? []) as string[]).map(Number)
    expect(mail).toBeLessThanOrEqual(caps.mail)
    expect(news).toBeLessThanOrEqual(caps.news)
  }
  expect(byServer).toBeGreaterThan(200)
  // The figures were written down meanwhile.
  const [fold] = await server().query('SELECT upto::int FROM several.folds')
  expect(fold?.['upto']).toBeGreaterThan(0)
})
