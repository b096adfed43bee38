/** PostgreSQL: changes of many jobs, of which open transactions hold some. */
import { createRuntime, defineJob, type JobchartError } from 'jobchart'
import type { FireSchedule, ScheduleTerms, StartBulk, Store, TxIntent } from 'jobchart/store'
import { Client } from 'pg'
import { expect, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { lease, newJob, put, stateOf, take } from '../../../src/store-testing/conformance/acts.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { postgresOfFile, postgresTest as test } from '../../support/postgres-server.ts'

const server = postgresOfFile()

async function connected(): Promise<Client> {
  const client = new Client(server().url)
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

async function opened(schema: string): Promise<Store> {
  const store = postgresStore({ url: server().url, schema })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

/** Claims all jobs, and ends some of them in a transaction that stays open. @returns commits it */
async function endedInOpen(store: Store, ids: readonly string[]): Promise<() => Promise<unknown>> {
  const db = await connected()
  await db.query('BEGIN')
  for (const job of await take(store)) {
    const end: TxIntent = { kind: 'settle', request: { ...lease(job), event: 'COMPLETE', to: 'done' } }
    if (ids.includes(job.id)) await store.transactions!.write(db, [end])
  }
  return () => db.query('COMMIT')
}

const start: StartBulk = {
  id: 'bulk',
  change: { kind: 'cancel', reason: null, graceMs: null },
  filter: { type: 'mail' },
  expected: null,
  batchSize: 2,
  token: 'token',
  leaseMs: 10_000,
}
const advance = { id: 'bulk', token: 'token', leaseMs: 10_000 }

test('a bulk operation leaves jobs that others hold until all others are done', async () => {
  const store = await opened('held_bulk')
  const ids = ['a', 'b', 'c', 'd', 'e']
  await put(store, ...ids.map((id) => newJob(id)))
  const commit = await endedInOpen(store, ['a', 'e'])
  const first = await store.bulk.start(start)
  expect([first.jobs, first.held]).toEqual([{ cancelled: [], cancelling: ['b'] }, undefined])
  const jobs: unknown[] = []
  let answer = first
  while (answer.held === undefined) {
    answer = await store.bulk.advance(advance)
    jobs.push(answer.jobs.cancelling ?? [])
  }
  expect([jobs.flat(), answer.held, answer.operation?.state]).toEqual([['c', 'd'], 2, 'running'])
  expect(await store.bulk.advance(advance)).toMatchObject({ jobs: {}, held: 2 })
  expect(Object.keys((await store.bulk.list())[0]!)).toEqual(expect.not.arrayContaining(['left', 'held']))
  await commit()
  await store.transactions!.carryOut(10)
  while (answer.operation?.state === 'running') answer = await store.bulk.advance(advance)
  expect(answer).toMatchObject({ operation: { state: 'done', counts: { cancelling: 3 } } })
  expect(await Promise.all(['a', 'b'].map((id) => stateOf(store, id)))).toEqual(['done', 'cancelling'])
})

test('jobs that are held no more are changed, and an operation of one batch is kept for them', async () => {
  const store = await opened('held_one_batch')
  await put(store, newJob('a'), newJob('b'))
  const db = await connected()
  await db.query(`BEGIN; SELECT FROM held_one_batch.jobs WHERE id = 'a' FOR UPDATE`)
  const first = await store.bulk.start({ ...start, batchSize: 10, keep: 'unfinished' })
  expect(first).toMatchObject({ held: 1, jobs: { cancelled: ['b'] }, operation: { state: 'running' } })
  await db.query('COMMIT')
  expect(await store.bulk.advance(advance)).toMatchObject({ jobs: { cancelled: ['a'] } })
  expect((await store.bulk.advance(advance)).operation?.state).toBe('done')
})

test('a parent of a job that others hold is left as well, and more such jobs than a batch has are refused', async () => {
  const store = await opened('held_family')
  await put(store, newJob('parent'), newJob('free'), newJob('child', { parent: { id: 'parent', checkins: false } }))
  const db = await connected()
  await db.query(`BEGIN; SELECT FROM held_family.jobs WHERE id = 'child' FOR UPDATE`)
  const first = await store.bulk.start(start)
  expect(first.jobs.cancelled).toEqual(['free'])
  await db.query(`SELECT FROM held_family.jobs FOR UPDATE`)
  const other = await store.bulk.start({ ...start, id: 'other', batchSize: 1 })
  expect(other.jobs).toEqual({})
  await expect(store.bulk.advance({ ...advance, id: 'other' })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})

test('a schedule whose job others hold is not fired, and the others are', async () => {
  const store = await opened('held_schedules')
  const terms: Omit<ScheduleTerms, 'name'> = {
    spec: '* * * * *',
    timezone: 'UTC',
    catchUp: 'last',
    overlap: 'supersede',
    jitterMs: 0,
    job: newJob('unused'),
    computed: false,
    owner: null,
  }
  const names = ['held', 'free']
  await store.schedules.put(names.map((name) => ({ terms: { ...terms, name }, paused: false, nextAt: 1 })))
  const fire = (n: number) =>
    store.schedules.fire(
      names.map((name): FireSchedule => ({ name, advance: null, ticks: [{ at: n, job: newJob(`${name} ${n}`) }] })),
    )
  await fire(1)
  const commit = await endedInOpen(store, ['held 1'])
  const outcomes = async (n: number) => (await fire(n)).map(({ outcome }) => outcome)
  expect(await outcomes(2)).toEqual(['failed', 'fired'])
  await commit()
  await store.transactions!.carryOut(10)
  expect(await outcomes(3)).toEqual(['fired', 'fired'])
})

test('a cancel by filter is refused after a second, when all others are cancelled, and a runtime goes on with it', async () => {
  const begun = Promise.withResolvers<void>()
  const committing = Promise.withResolvers<void>()
  const open = defineJob({
    type: 'open',
    run: async (_, ctx) => {
      const db = await connected()
      await db.query('BEGIN')
      await ctx.complete(db)
      begun.resolve()
      await committing.promise
      await db.query('COMMIT')
    },
  })
  const free = defineJob<number, number>({ type: 'free', run: (n) => n })
  const store = postgresStore({ url: server().url, schema: 'held_cancel' })
  const runtime = createRuntime({ jobs: [open, free], store, logger: {} })
  onTestFinished(async () => void (await runtime.stop({ mode: 'abort', grace: 0 })))
  await runtime.start()
  const job = await runtime.enqueue(open)
  await begun.promise
  await runtime.enqueueMany(
    open,
    Array.from({ length: 250 }, () => undefined),
    { delay: '1h' },
  )
  let isRefused = false
  const refusal = runtime.cancel({ type: 'open' }).catch((error: JobchartError) => {
    isRefused = true
    return error
  })
  expect(await (await runtime.enqueue(free, 1)).result()).toBe(1)
  await expect.poll(async () => (await runtime.counts()).cancelled).toBe(250)
  expect(isRefused).toBe(false)
  expect(await refusal).toMatchObject({ code: 'STORE_UNAVAILABLE', hint: expect.stringMatching('runtime') })
  expect(await runtime.bulk.list()).toMatchObject([{ state: 'running', counts: { cancelled: 250 } }])
  committing.resolve()
  await job.result()
  const [operation] = await runtime.bulk.list()
  expect(await runtime.bulk.resume(operation!.id)).toMatchObject({ state: 'done', counts: { cancelled: 250 } })
})
