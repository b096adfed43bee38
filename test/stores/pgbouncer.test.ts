/** The PostgreSQL store through PgBouncer: the contract, two schemas on the same few connections, and notifications. */
import { afterAll, beforeAll, expect, onTestFinished, test as anyTest } from 'vitest'
import { createClient, createRuntime, defineJob } from 'jobchart'
import { inspectPostgresServer, postgresStore } from 'jobchart/postgres'
import { systemClock } from '../../src/core/clock.ts'
import { lease, newJob, put, takeOne } from '../../src/store-testing/conformance/acts.ts'
import { storeConformance } from '../../src/store-testing/conformance/index.ts'
import type { Hint, Store } from '../../src/store.ts'
import { everyNth, isLong } from '../harness/long-form.ts'
import { missingPgbouncer, pgbouncer, type Pgbouncer } from '../support/pgbouncer.ts'
import { canStartPostgres, postgresOfFile } from '../support/postgres-server.ts'
import { schemasOf } from '../support/postgres-subject.ts'

if (missingPgbouncer !== null) console.error(`Tests of PgBouncer are left out: ${missingPgbouncer}`)
const canStart = canStartPostgres && missingPgbouncer === null
const test = anyTest.skipIf(!canStart)

const server = postgresOfFile()
const schemas = schemasOf(server)
let pooler: Pgbouncer

beforeAll(async () => {
  if (canStart) pooler = await pgbouncer(server(), 3)
})
afterAll(async () => {
  if (canStart) await pooler.remove()
})

storeConformance({
  name: 'postgres through PgBouncer',
  test: everyNth(12, test),
  random: { sequences: isLong ? 40 : 4, seed: 5_001 },
  create: () => schemas.subject({ url: pooler.url }),
})

async function opened(url: string, schema: string): Promise<Store> {
  const store = postgresStore({ url, schema })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

test('stores of two schemas on the same connections of the server write each to its own', async () => {
  const stores = await Promise.all(['one', 'two', 'three'].map((schema) => opened(pooler.url, schema)))
  const work = async (store: Store, n: number): Promise<void> => {
    for (let i = 0; i < 40; i++) {
      await put(store, newJob(`${n}/${i}`, i % 2 === 0 ? {} : { key: `k${i}` }))
      const job = await takeOne(store, { max: 1 })
      expect(job.id).toBe(`${n}/${i}`)
      await store.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
    }
  }
  await Promise.all(stores.map(work))
  for (const store of stores) expect((await store.counts()).done).toBe(40)
})

test('notifications that a pooler swallows are told, and jobs of other processes run all the same', async () => {
  const told: unknown[] = []
  const schema = 'swallowed'
  const echo = defineJob<number, number>({ type: 'echo', run: (n) => n })
  const logger = { warn: (_: string, fields?: { readonly error?: unknown }) => void told.push(fields?.error) }
  const runtime = createRuntime({ jobs: [echo], store: postgresStore({ url: pooler.url, schema }), logger })
  await runtime.start()
  onTestFinished(async () => void (await runtime.stop()))
  await expect.poll(() => told).toHaveLength(1)
  expect(told[0]).toMatchObject({ code: 'UNSUPPORTED', hint: expect.stringContaining('itself') as string })
  const client = createClient({ jobs: [echo], store: postgresStore({ url: server().url, schema }) })
  onTestFinished(() => client.close())
  expect(await (await client.enqueue(echo, 7)).result({ timeout: '60s' })).toBe(7)
  expect((await inspectPostgresServer({ url: pooler.url, schema })).notifies).toBe(false)
})

test('who cannot be asked, behind a pooler that swallows notifications, tells of its ends all the same', async () => {
  const [there, here] = [await opened(pooler.url, 'told'), await opened(server().url, 'told')]
  const hints: Hint[] = []
  here.watch((hint) => hints.push(hint))
  there.watch(() => {})
  for (let i = 0; !hints.some(({ kind }) => kind === 'ready'); i++) await put(there, newJob(`job ${i}`))
  const job = await takeOne(there, { max: 1 })
  await there.settle([{ ...lease(job), event: 'COMPLETE', to: 'done' }])
  await expect.poll(() => hints).toContainEqual({ kind: 'ended', ids: [job.id] })
})

test('through a pooler that keeps connections apart notifications arrive', async () => {
  const apart = await pgbouncer(server(), 20, 'client')
  onTestFinished(() => apart.remove())
  const [store, other] = [await opened(apart.url, 'apart'), await opened(server().url, 'apart')]
  const hints: Hint[] = []
  store.watch((hint) => hints.push(hint))
  for (let i = 0; !hints.some(({ kind }) => kind === 'ready'); i++) await put(other, newJob(`job ${i}`))
  expect(hints.filter((hint) => hint.kind === 'missed' && hint.error !== undefined)).toEqual([])
  expect((await inspectPostgresServer({ url: apart.url, schema: 'apart' })).notifies).toBe(true)
})

test('a pooler that is killed and started again is connected to anew', async () => {
  const own = await pgbouncer(server(), 2)
  onTestFinished(() => own.remove())
  const store = await opened(own.url, 'again')
  await put(store, newJob('before'))
  await own.restart()
  const tries = async (): Promise<number> => {
    await put(store, newJob('after')).catch((error: unknown) =>
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' }),
    )
    return (await store.get(['before', 'after'])).filter((job) => job !== null).length
  }
  await expect.poll(() => tries().catch(() => 0)).toBe(2)
})
