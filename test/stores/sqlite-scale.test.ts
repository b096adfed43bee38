/**
 * Calls that read a few rows of the file, however many it has. Rows that must not be read are changed beside the store,
 * in a way that would show in the answer; or the statements of a call are counted.
 */
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from 'jobchart/sqlite'
import type { ListQuery, Store } from 'jobchart/store'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  ask,
  idsOf,
  lease,
  newJob,
  noLimits,
  plainCheckpoint,
  put,
  take,
  takeOne,
  write,
} from '../../src/store-testing/conformance/acts.ts'
import { Queue } from '../../src/stores/sqlite/queue.ts'
import { newFile } from '../support/new-file.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { movingClock } from './moving-clock.ts'

interface OpenFile {
  readonly path: string
  readonly store: Store
  readonly clock: ReturnType<typeof movingClock>
  /** Another connection to the file. */
  readonly beside: DatabaseSync
  /** The statements that the store runs while a call lasts, in turn. */
  readonly statementsOf: (call: () => unknown) => Promise<string[]>
}

async function openFile(): Promise<OpenFile> {
  const folder = temporaryFolder()
  const path = await newFile(folder.path)
  const [statements, clock]: [string[], ReturnType<typeof movingClock>] = [[], movingClock()]
  const onStatement = (sql: string, moment: string): void => void (moment === 'before' && statements.push(sql))
  const store = sqliteStore({ path, durability: 'normal', onStatement })
  await store.open({ clock })
  const beside = new DatabaseSync(path)
  onTestFinished(async () => {
    beside.close()
    await store.close()
    folder.remove()
  })
  const statementsOf = async (call: () => unknown): Promise<string[]> => {
    const before = statements.length
    await call()
    return statements.slice(before)
  }
  return { path, store, clock, beside, statementsOf }
}

const many = (count: number, job: (i: number) => ReturnType<typeof newJob>) =>
  Array.from({ length: count }, (_, i) => job(i))

test('claims under a rate limit read two rows of those that count, and the first of those that do not', async () => {
  const { store, clock, beside } = await openFile()
  await put(store, ...many(100, (i) => newJob(`${i}`)))
  const limits = { rate: { limit: 60, perMs: 1_000 } }
  for (let i = 0; i < 50; i++) {
    expect(await take(store, { max: 1, limits })).toHaveLength(1)
    await clock.advance(1)
  }
  const [, second, third] = beside
    .prepare('SELECT at FROM rates ORDER BY at')
    .all()
    .map(({ at }) => Number(at))
  beside.exec(`UPDATE rates SET claims = 0 WHERE at = ${second}`)
  beside.exec(`UPDATE rates SET until = 0 WHERE at = ${third}`)
  const { jobs, shortfalls } = await ask(store, { max: 20, limits })
  expect(jobs).toHaveLength(10)
  expect(shortfalls).toEqual([{ type: 'mail', reason: 'limited', until: clock.now() - 50 + 1_000 }])
  expect(beside.prepare('SELECT count(*) AS rows FROM rates').get()).toEqual({ rows: 51 })
  await clock.advance(960)
  expect(await take(store, { max: 20, limits })).toHaveLength(11)
})

test('claims under a rate limit of a key read two rows of those that count', async () => {
  const { store, clock, beside } = await openFile()
  await put(store, ...many(100, (i) => newJob(`${i}`, { concurrencyKey: 'k' })))
  const limits = { keyRate: { limit: 60, perMs: 1_000 } }
  for (let i = 0; i < 50; i++) {
    expect(await take(store, { max: 1, limits })).toHaveLength(1)
    await clock.advance(1)
  }
  const [, second] = beside
    .prepare('SELECT at FROM key_rates ORDER BY at')
    .all()
    .map(({ at }) => Number(at))
  beside.exec(`UPDATE key_rates SET claims = 0 WHERE at = ${second}`)
  const { jobs, shortfalls } = await ask(store, { max: 20, limits })
  expect(jobs).toHaveLength(10)
  expect(shortfalls).toEqual([{ type: 'mail', reason: 'limited', until: clock.now() - 50 + 1_000 }])
})

const types = Array.from({ length: 250 }, (_, i) => `type ${i}`)

/** All pages of a list, and how many statements the first one takes. */
async function allPages(
  { store, statementsOf }: OpenFile,
  query: ListQuery,
): Promise<[ids: string[], statements: number]> {
  const ids: string[] = []
  let first = 0
  const pages: { readonly next?: string }[] = [{}]
  for (const { next } of pages) {
    const statements = await statementsOf(async () => {
      const jobs = await store.list({ limit: 40, ...query, ...(next !== undefined && { after: next }) })
      ids.push(...idsOf(jobs))
      if (jobs.next !== undefined) pages.push({ next: jobs.next })
    })
    if (next === undefined) first = statements.filter((sql) => sql.startsWith('SELECT')).length
  }
  return [ids, first]
}

test('a list of all types takes no statement for each of them', async () => {
  const file = await openFile()
  const { store, clock } = file
  await put(store, ...types.flatMap((type) => ['ends', 'waits'].map((name) => newJob(`${type} ${name}`, { type }))))
  const ended: string[] = []
  for (const type of types.toReversed()) {
    const [job] = await take(store, { type, max: 1, limits: noLimits })
    if (job === undefined) throw new Error('a job was to be claimed')
    await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    ended.push(job.id)
    await clock.advance(1)
  }
  const enqueued = types.flatMap((type) => [`${type} ends`, `${type} waits`])
  const isOf = (name: string) => (id: string) => id.endsWith(name)
  const lists: [query: ListQuery, ids: string[]][] = [
    [{}, enqueued],
    [{ state: 'done' }, enqueued.filter(isOf('ends'))],
    [{ state: ['done', 'dead'] }, enqueued.filter(isOf('ends'))],
    [{ state: 'queued' }, enqueued.filter(isOf('waits'))],
    [{ orderBy: 'finished' }, ended],
  ]
  for (const [query, ids] of lists) {
    const [oldest, statements] = await allPages(file, { ...query, order: 'oldest' })
    expect(oldest, JSON.stringify(query)).toEqual(ids)
    expect(statements, JSON.stringify(query)).toBeLessThan(6)
    const [newest] = await allPages(file, { ...query, order: 'newest' })
    expect(newest, JSON.stringify(query)).toEqual(ids.toReversed())
  }
})

test('an insert under a capacity of all types does not add up the jobs of each', async () => {
  const { store, beside } = await openFile()
  await put(store, ...types.map((type) => newJob(type, { type })))
  const capacity = types.length + 4
  const insert = async (id: string) => (await store.insert([{ jobs: [newJob(id)], capacity }]))[0]?.[0]?.outcome
  expect(await insert('a')).toBe('inserted')
  const sums = vi.spyOn(Queue.prototype, 'backlog', 'get')
  onTestFinished(() => sums.mockRestore())
  expect(await insert('b')).toBe('inserted')
  await take(store, { max: 1 })
  expect([await insert('c'), await insert('d'), await insert('e')]).toEqual(['inserted', 'inserted', 'inserted'])
  expect(await insert('f')).toBe('full')
  expect(sums).not.toHaveBeenCalled()
  // What another process has written is not known.
  beside.exec(`UPDATE queues SET counts = json_set(counts, '$.queued', 0) WHERE type = '${types[0]}'`)
  expect([await insert('f'), await insert('g')]).toEqual(['inserted', 'full'])
})

test('a page of the transitions of many jobs in one transaction reads the ids of a page', async () => {
  const { store, beside } = await openFile()
  await put(store, ...many(2_000, (i) => newJob(`${i}`)))
  // Jobs that are not there have no id.
  beside.exec('DELETE FROM jobs WHERE seq <= 900 OR seq > 1500')
  const written = vi.spyOn(JSON, 'stringify')
  const { transitions, next } = await store.transitions('1000', 100)
  // The numbers of jobs are a parameter.
  const asked = written.mock.calls.flatMap(([numbers]) => (Array.isArray(numbers) ? numbers.length : []))
  written.mockRestore()
  expect(asked).toEqual([250])
  expect(idsOf(transitions)).toEqual(Array.from({ length: 100 }, (_, i) => `${1_000 + i}`))
  expect(idsOf((await store.transitions(next, 1)).transitions)).toEqual(['1100'])
  await expect(store.transitions('1500', 1)).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
})

test('processes that claim a few jobs each leave no more rows of claimed jobs than one that claims many', async () => {
  const { path, clock, beside } = await openFile()
  for (let i = 0; i < 9; i++) {
    const short = sqliteStore({ path, durability: 'normal' })
    await short.open({ clock })
    await put(short, ...many(100, (n) => newJob(`${i} ${n}`)))
    expect(await take(short, { max: 100 })).toHaveLength(100)
    await short.close()
  }
  expect(beside.prepare('SELECT count(*) AS rows FROM waiting').get()).toEqual({ rows: 400 })
})

test('of jobs that are discarded the ids are kept that the log has, and are found by their last transitions', async () => {
  const { path, clock, beside, store } = await openFile()
  await store.close()
  const bounded = sqliteStore({ path, durability: 'normal', transitionsMax: 100 })
  await bounded.open({ clock })
  onTestFinished(() => bounded.close())
  const ids = many(300, (i) => newJob(`${i}`)).map(({ id }) => id)
  await put(bounded, ...ids.map((id) => newJob(id)))
  await bounded.cancel([{ ids, reason: null, graceMs: 0 }])
  await bounded.discard(ids)
  expect(beside.prepare('SELECT count(*) AS rows FROM gone').get()).toEqual({ rows: 100 })
  expect(idsOf((await bounded.transitions(null, 1_000)).transitions)).toEqual(ids.slice(200))
  const [plan] = beside.prepare('EXPLAIN QUERY PLAN DELETE FROM gone WHERE last <= ?').all()
  expect(plan?.['detail']).toContain('SEARCH gone')
})

test('of the schedules that are due no more are sorted than are asked for', async () => {
  const { store, beside, statementsOf } = await openFile()
  const statements = await statementsOf(() => store.schedules.due({ computed: ['a'], limit: 10 }))
  const due = statements.find((sql) => sql.includes('record FROM ('))
  const plan = beside.prepare(`EXPLAIN QUERY PLAN ${String(due)}`).all()
  const steps = plan.map(({ detail }) => String(detail))
  const searches = steps.flatMap((step, i) => (step.includes('schedules USING INDEX ticks') ? steps[i - 1] : []))
  // A part with a limit of its own, in the order of the index.
  expect(searches.map((step) => step?.replace(/\d+/, ''))).toEqual(['CO-ROUTINE (subquery-)', 'CO-ROUTINE (subquery-)'])
  expect(steps.filter((step) => step.includes('B-TREE'))).toHaveLength(1)
})

test('the heat of other hours than those that become a day is not read when an hour begins', async () => {
  const { store, clock, beside, statementsOf } = await openFile()
  await put(store, newJob('a', { version: '1' }))
  const job = await takeOne(store, { leaseMs: 1_000_000_000 })
  const hours = () => beside.prepare('SELECT count(*) AS rows FROM heat').get()
  await write(store, job, { ...plainCheckpoint(1), heat: [['GO', 1]] })
  await clock.advance(3_600_000)
  const statements = await statementsOf(() => write(store, job, { ...plainCheckpoint(2), heat: [['GO', 1]] }))
  const plans = statements
    .filter((sql) => /\bheat\b/.test(sql) && !sql.includes('VALUES'))
    .flatMap((sql) => beside.prepare(`EXPLAIN QUERY PLAN ${sql}`).all())
  expect(plans.map(({ detail }) => detail)).toEqual([
    'SEARCH heat USING INDEX hours_of_heat (at<?)',
    'SEARCH heat USING INDEX hours_of_heat (at<?)',
    'SEARCH heat USING INDEX days_of_heat (at<?)',
  ])
  expect(hours()).toEqual({ rows: 2 })
})

test('keys whose rate limit is reached are set aside by the claims that reach it, not all by a later one', async () => {
  const { store, statementsOf } = await openFile()
  await put(store, ...many(200, (i) => newJob(`${i}`, { concurrencyKey: `${i % 100}` })))
  const limits = { keyRate: { limit: 1, perMs: 60_000 } }
  expect(await take(store, { max: 100, limits })).toHaveLength(100)
  const statements = await statementsOf(async () => expect(await take(store, { max: 100, limits })).toEqual([]))
  expect(statements.length).toBeLessThan(30)
})

test('the activity of all types together is read without that of each', async () => {
  const { store, clock, beside } = await openFile()
  const from = clock.now()
  for (let minute = 0; minute < 3; minute++) {
    await put(store, ...types.map((type) => newJob(`${type} ${minute}`, { type })))
    await clock.advance(60_000)
  }
  const [each] = await store.activity({ period: 'minute', from, queues: [types[0] ?? ''] })
  expect(each?.buckets.map(({ enqueued }) => enqueued)).toEqual([1, 1, 1])
  beside.exec('DELETE FROM activity WHERE queue IN (SELECT queue FROM queues)')
  const [total] = await store.activity({ period: 'minute', from, queues: 'total' })
  expect(total?.buckets.map(({ enqueued }) => enqueued)).toEqual([250, 250, 250])
  const [hours] = await store.activity({ period: 'hour', from, queues: 'total' })
  expect(hours?.buckets.reduce((sum, { enqueued }) => sum + enqueued, 0)).toBe(750)
})
