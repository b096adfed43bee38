/** Transactions of others that stay open: over each call with `tx`, and over a row of each table. */
import { Client } from 'pg'
import { expect, onTestFinished } from 'vitest'
import { createClient, createRuntime, defineJob, type JobHandle, type Runtime } from 'jobchart'
import { postgresStore } from 'jobchart/postgres'
import { isLong } from '../harness/long-form.ts'
import { postgresOfFile, postgresTest as test } from '../support/postgres-server.ts'

const server = postgresOfFile()
const echo = defineJob<number, number>({ type: 'echo', run: (n) => n })
const keyed = defineJob<number, number>({ type: 'keyed', run: (n) => n })
const gates = new Map<string, PromiseWithResolvers<void>>()
const gated = defineJob<string, void>({ type: 'gated', run: async (name) => gates.get(name)?.promise })
const jobs = [echo, keyed, gated]

/** A third of it passes between two heartbeats: on a busy machine one may take a second. */
const leaseMs = 4_000

async function connected(): Promise<Client> {
  const client = new Client({ connectionString: server().url })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

async function started(schema: string, url = server().url): Promise<Runtime> {
  const store = postgresStore({ url, schema })
  const runtime = createRuntime({ jobs, store, concurrency: 8, lease: `${leaseMs}ms`, logger: {} })
  await runtime.start()
  return runtime
}

/** A runtime in another database of the server: what a transaction keeps from being removed is not in its tables. */
async function startedElsewhere(): Promise<Runtime> {
  const db = await connected()
  await db.query('DROP DATABASE IF EXISTS elsewhere WITH (FORCE)')
  await db.query('CREATE DATABASE elsewhere')
  const url = new URL(server().url)
  url.pathname = '/elsewhere'
  const runtime = await started('jobchart', url.href)
  onTestFinished(() => runtime.stop({ timeout: '5s' }).then(() => {}))
  return runtime
}

/** For so long a transaction stays open, ms. */
const heldMs = isLong ? 60_000 : leaseMs + 500
/** At least so fast is a runtime beside it, as a part of the pace elsewhere: a call that waits for it does nothing. */
const leastShare = isLong ? 0.7 : 0.1
/** For so long a runtime works before another one has its turn, ms: what else the machine does slows both. */
const turnMs = 1_500

interface Work {
  rounds: number
  ms: number
}

/** Plain jobs, and documents, run to their ends. */
async function work(runtime: Runtime, name: string, ms: number, done: Work): Promise<void> {
  const from = performance.now()
  do {
    const plain = await runtime.enqueueMany(echo, [1, 2, 3, 4, 5, 6, 7, 8])
    const others = await Promise.all(
      [1, 2].map((n) => runtime.enqueue(keyed, n, { unique: { key: `${name} ${done.rounds} ${n}` }, priority: n })),
    )
    const all: JobHandle<number>[] = [...plain, ...others]
    await Promise.all(all.map((job) => job.result({ timeout: '20s' })))
    done.rounds++
  } while (performance.now() - from < ms)
  done.ms += performance.now() - from
}

/** All tables have rows after it, and all code is compiled. */
async function workFirst(...runtimes: readonly Runtime[]): Promise<void> {
  for (const runtime of runtimes) await work(runtime, 'first', turnMs, { rounds: 0, ms: 0 })
}

/**
 * Works in turns with a runtime elsewhere; a run that outlasts its lease keeps it.
 * @returns its pace, as a multiple of that of the other one
 */
async function worksFully(runtime: Runtime, elsewhere: Runtime, name: string, ms: number): Promise<number> {
  const gate = Promise.withResolvers<void>()
  gates.set(name, gate)
  const long = await runtime.enqueue(gated, name)
  const from = performance.now()
  const own: Work = { rounds: 0, ms: 0 }
  const others: Work = { rounds: 0, ms: 0 }
  while (performance.now() - from < ms) {
    await work(runtime, name, turnMs, own)
    await work(elsewhere, name, turnMs, others)
  }
  gate.resolve()
  await long.result({ timeout: '20s' })
  expect((await long.record())?.attempt).toBe(1)
  return own.rounds / own.ms / (others.rounds / others.ms)
}

test('nobody waits for a transaction with calls in it, however long it is open', async () => {
  const runtime = await started('calls')
  const elsewhere = await startedElsewhere()
  const target = await runtime.enqueue(keyed, 0, { delay: '1h' })
  await workFirst(runtime, elsewhere)
  const db = await connected()
  const client = createClient({ jobs, store: postgresStore({ url: server().url, schema: 'calls' }) })
  onTestFinished(() => client.close())
  await db.query('BEGIN')
  const made = await client.enqueue(echo, 41, { tx: db })
  await client.enqueueMany(echo, [1, 2, 3], { tx: db })
  await client.tryEnqueue(keyed, 4, { tx: db, unique: { key: 'calls 0 1' } })
  await client.cancel([target.id], { tx: db })
  expect(await worksFully(runtime, elsewhere, 'calls', heldMs)).toBeGreaterThan(leastShare)
  await db.query('COMMIT')
  expect(await made.result({ timeout: '20s' })).toBe(41)
  await expect.poll(async () => (await target.record())?.state).toBe('cancelled')
  const from = performance.now()
  await runtime.stop({ timeout: '5s' })
  expect(performance.now() - from).toBeLessThan(5_000)
})

/** Without `cells`: a commit that writes one that a stranger holds waits for it, see docs/postgres.md. */
const tables = [
  'meta',
  'jobs',
  'terms',
  'fronts',
  'claims',
  'completions',
  'checkpoints',
  'log',
  'moves',
  'figures',
  'folds',
]

/** In the short form a stranger holds rows of all tables at once. */
for (const held of isLong ? tables.map((table) => [table]) : [tables]) {
  test(`rows of ${held.join(', ')} that a stranger holds stop nobody`, async () => {
    const schema = `held_${held[0]}`
    const runtime = await started(schema)
    const elsewhere = await startedElsewhere()
    const parked = await runtime.enqueue(keyed, 0, { delay: '1h' })
    await workFirst(runtime, elsewhere)
    const db = await connected()
    await db.query('BEGIN')
    for (const table of held) await db.query(`SELECT FROM ${schema}.${table} FOR UPDATE`)
    expect(await worksFully(runtime, elsewhere, 'held', heldMs)).toBeGreaterThan(leastShare)
    await db.query('ROLLBACK')
    expect((await parked.record())?.state).toBe('scheduled')
    const from = performance.now()
    await runtime.stop({ timeout: '5s' })
    expect(performance.now() - from).toBeLessThan(5_000)
  })
}
