/** The PostgreSQL store on PGlite: what shares its one connection, and what a folder keeps. */
import { PGlite, type Transaction } from '@electric-sql/pglite'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { createClient, createRuntime, defineJob, type ClosableClient, type OpenTransaction } from 'jobchart'
import { inspectPostgresServer, postgresStore } from 'jobchart/postgres'
import { systemClock } from '../../src/core/clock.ts'
import { newJob, put, take } from '../../src/store-testing/conformance/acts.ts'
import { targetOf } from '../../src/stores/postgres/target.ts'
import type { Hint, Store } from '../../src/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const pglite = new PGlite()
/** Each takes seconds to be there. */
const other = new PGlite()
afterAll(() => pglite.close())
const echo = defineJob<unknown, unknown>({ type: 'echo', run: (input) => input })
const narrow = defineJob({ type: 'narrow', capacity: 1, run: () => {} })
const handedOver = defineJob<number, number>({ type: 'handed over', capacity: 0, run: (n) => n + 1 })
const jobs = [echo, narrow, handedOver]

let made = 0
const newSchema = (): string => `s${++made}`

async function opened(schema = newSchema()): Promise<Store> {
  const store = postgresStore({ pglite, schema })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

async function clientOf(schema = newSchema()): Promise<ClosableClient> {
  const client = createClient({ jobs, store: postgresStore({ pglite, schema }) })
  onTestFinished(() => client.close())
  await client.counts()
  return client
}

test('a runtime and a client of one process run jobs, and hear of each other', async () => {
  const schema = newSchema()
  const client = await clientOf(schema)
  const runtime = createRuntime({ jobs, store: postgresStore({ pglite, schema }), concurrency: 4 })
  await runtime.start()
  const results = await Promise.all(
    Array.from({ length: 40 }, async (_, n) => (await client.enqueue(echo, n)).result({ timeout: '60s' })),
  )
  expect(results).toEqual(Array.from({ length: 40 }, (_, n) => n))
  expect(await (await client.enqueue(handedOver, 1)).result({ timeout: '60s' })).toBe(2)
  await runtime.stop()
  expect((await client.counts()).done).toBe(41)
  // It is the user's: a store that closes leaves it open.
  expect((await pglite.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
})

test('hints reach other stores, and a store that is closed listens no more', async () => {
  const schema = newSchema()
  const [store, other] = [await opened(schema), await opened(schema)]
  const hints: Hint[] = []
  store.watch((hint) => hints.push(hint))
  // It may not listen yet.
  for (let i = 0; !hints.some(({ kind }) => kind === 'ready'); i++) await put(other, newJob(`job ${i}`))
  expect(hints).toContainEqual({ kind: 'ready', type: 'mail' })
  const listening = async (): Promise<unknown> =>
    (await pglite.query('SELECT pg_listening_channels() AS channel')).rows.length
  const before = await listening()
  await store.close()
  await other.close()
  await expect.poll(listening).toBeLessThan(before as number)
  for (const each of [store, other]) await each.open({ clock: systemClock })
})

test('other calls of the process do not join a transaction of the store, which may be rolled back', async () => {
  await pglite.exec('CREATE TABLE strangers (n int)')
  const link = await targetOf({ pglite }).connect()
  const insert = (n: number): Promise<unknown> => pglite.query('INSERT INTO strangers VALUES ($1)', [n])
  const strangers: Promise<unknown>[] = []
  const refused = link.transaction('SET LOCAL lock_timeout = 0', async (ask) => {
    await ask('INSERT INTO strangers VALUES (0)')
    for (let n = 1; n <= 5; n++) strangers.push(insert(n))
    await ask('INSERT INTO strangers VALUES (-1)')
    throw new Error('no')
  })
  await expect(refused).rejects.toThrow('no')
  await Promise.all(strangers)
  const { rows } = await pglite.query('SELECT n FROM strangers ORDER BY n')
  expect(rows).toEqual([1, 2, 3, 4, 5].map((n) => ({ n })))
})

test('a transaction of PGlite is joined: a commit keeps the job, a rollback does not', async () => {
  const client = await clientOf()
  const [kept, receipt] = await pglite.transaction(async (tx) => {
    await tx.exec('CREATE TABLE IF NOT EXISTS orders (id int)')
    await tx.query('INSERT INTO orders VALUES (1)')
    return [await client.enqueue(echo, { a: '\0"\\ $1 ?' }, { tx }), tx] as const
  })
  await kept.stored()
  expect(await kept.record()).toMatchObject({ state: 'queued', input: { a: '\0"\\ $1 ?' } })
  await expect(client.enqueue(echo, 1, { tx: receipt })).rejects.toMatchObject({ code: 'TX_NOT_OPEN' })
  await expect(client.enqueue(echo, 1, { tx: pglite as unknown as OpenTransaction })).rejects.toMatchObject({
    code: 'TX_NOT_OPEN',
  })
  const undone: Promise<void>[] = []
  const refused = pglite.transaction(async (tx) => {
    const job = await client.enqueue(echo, 1, { tx })
    undone.push(expect(job.stored()).rejects.toMatchObject({ code: 'TX_ROLLED_BACK' }))
    throw new Error('no')
  })
  await expect(refused).rejects.toThrow('no')
  await Promise.all(undone)
  expect((await client.counts()).queued).toBe(1)
})

test('a failed transaction, and one on another PGlite, are told', async () => {
  const client = await clientOf()
  const failed = pglite.transaction(async (tx) => {
    await tx.query('SELECT 1 / 0').catch(() => {})
    await client.enqueue(echo, 1, { tx })
  })
  await expect(failed).rejects.toMatchObject({ code: 'TX_NOT_OPEN' })
  const elsewhere = other.transaction((tx: Transaction) => client.enqueue(echo, 1, { tx }))
  await expect(elsewhere).rejects.toMatchObject({ code: 'TX_OTHER_DATABASE' })
})

test('in a transaction the room of a queue is known without a call that would wait for it', async () => {
  const client = await clientOf()
  const job = await pglite.transaction(async (tx) => {
    const made = await client.enqueue(narrow, undefined, { tx })
    expect(await client.tryEnqueue(narrow, undefined, { tx })).toBeNull()
    return made
  })
  await job.stored()
  const full = pglite.transaction((tx) => client.enqueue(narrow, undefined, { tx }))
  await expect(full).rejects.toMatchObject({ code: 'CAPACITY' })
})

test('an attempt completes in a transaction of PGlite, once', async () => {
  const schema = newSchema()
  await pglite.exec(`CREATE TABLE effects (n int)`)
  const effect = defineJob<number, void>({
    type: 'effect',
    run: (n, ctx) =>
      pglite.transaction(async (tx) => {
        await tx.query('INSERT INTO effects VALUES ($1)', [n])
        await ctx.complete(tx)
      }),
  })
  const runtime = createRuntime({ jobs: [effect], store: postgresStore({ pglite, schema }), concurrency: 3 })
  await runtime.start()
  onTestFinished(async () => void (await runtime.stop()))
  const handles = await runtime.enqueueMany(effect, [1, 2, 3, 4, 5, 6])
  await Promise.all(handles.map((job) => job.result({ timeout: '60s' })))
  const { rows } = await pglite.query('SELECT n FROM effects ORDER BY n')
  expect(rows).toEqual([1, 2, 3, 4, 5, 6].map((n) => ({ n })))
})

test('a folder that is closed and opened again goes on where it was', async () => {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const first = new PGlite(folder.path)
  const store = postgresStore({ pglite: first })
  await store.open({ clock: systemClock })
  expect(store.capabilities.durable).toBe(true)
  await put(store, newJob('waits'), newJob('runs'), newJob('keyed', { key: 'k', priority: -1 }))
  const [running] = await take(store, { max: 1 })
  expect(running?.id).toBe('waits')
  await store.close()
  await first.close()

  const second = new PGlite(folder.path)
  onTestFinished(() => second.close())
  const runs: unknown[] = []
  const mail = defineJob<unknown, void>({ type: 'mail', run: (input) => void runs.push(input) })
  const runtime = createRuntime({ jobs: [mail], store: postgresStore({ pglite: second }) })
  await runtime.start()
  onTestFinished(async () => void (await runtime.stop()))
  await expect.poll(async () => (await runtime.counts()).done).toBe(2)
  expect((await runtime.counts()).running).toBe(1)
  expect(runs.length).toBe(2)
})

test('what the inspection tells of it; one that is closed is told', async () => {
  const store = postgresStore({ pglite: other })
  await store.open({ clock: systemClock })
  expect(store.capabilities.durable).toBe(false)
  expect(await inspectPostgresServer({ pglite: other })).toMatchObject({ notifies: true, hasRights: true })
  await other.close()
  await expect(store.counts()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await store.close()
})

test('what is no PGlite is refused', () => {
  for (const options of [{ pglite: {} }, { pglite, url: 'postgres://x' }, { pglite, pool: {} }])
    expect(() => postgresStore(options)).toThrow(/pglite|url|pool/)
})
