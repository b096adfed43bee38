/**
 * Beside a transaction that stays open, rows that were changed since stay in the indexes: who looks for the first job
 * does not pass over all of them, and finds those that came back. Nor does a plan that was made before.
 */
import { Client } from 'pg'
import { expect, onTestFinished } from 'vitest'
import { idsOf, lease, newJob, put, take } from '../../../src/store-testing/conformance/acts.ts'
import type { Store } from '../../../src/store.ts'
import { lastOf } from '../../../src/stores/postgres/figures.ts'
import { logText } from '../../../src/stores/postgres/log.ts'
import { postgresPort } from '../../../src/stores/postgres/port.ts'
import { postgresStoreOn } from '../../../src/stores/postgres/store.ts'
import { targetOf } from '../../../src/stores/postgres/target.ts'
import { postgresOfFile, postgresTest as test } from '../../support/postgres-server.ts'
import { movingClock } from '../moving-clock.ts'

const server = postgresOfFile()

async function opened(schema: string, clock = movingClock()): Promise<Store> {
  const store = postgresStoreOn(
    postgresPort({ ...targetOf({ url: server().url }), schema, transitionsMax: 1_000, clock }),
  )
  await store.open({ clock })
  onTestFinished(() => store.close())
  return store
}

async function connected(): Promise<Client> {
  const client = new Client({ connectionString: server().url })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

/** A transaction that keeps what is removed from now on. */
async function pin(): Promise<void> {
  const client = await connected()
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await client.query('SELECT pg_current_xact_id()')
}

interface Plan {
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
}

/** How many blocks of the database a statement looks at. */
async function blocksOf(client: Client, statement: string): Promise<number> {
  const { rows } = await client.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${statement}`,
  )
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan
  return (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0)
}

/** A claim of a type of plain jobs, without ends. */
const exchangeOf = (schema: string, type: string, caps = 'NULL'): string =>
  `SELECT * FROM ${schema}.exchange(1000, 0, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '', '', '', '', '',
    '{${type}}', '{100}', ${caps}, '{NULL}', '{NULL}', '', 'token', 'w1', 30000, '{}', '{}', '', '')`

/** Writes a job again, and removes small values. */
const commitOf = (schema: string, id: string, kinds: string, fields: string): string =>
  `SELECT * FROM ${schema}.commit(1000, '{${id}}', ARRAY(SELECT s.rev || ':' || s.seq FROM ${schema}.standing s
    WHERE s.id = '${id}'), '{}', '{}', '{}', '{}', '{}', (SELECT json_agg(to_jsonb(j) || '{"rev": 2}')
    FROM ${schema}.jobs j WHERE j.id = '${id}'), (SELECT j.doc FROM ${schema}.jobs j WHERE j.id = '${id}'),
    '{}', '{}', '{}', '{}', '', '${kinds}', '${fields}', '{NULL}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')`

/** @param most of each claim */
async function complete(store: Store, count: number, most = 100): Promise<void> {
  for (let left = count; left > 0;) {
    const claimed = await take(store, { max: most })
    expect(claimed.length).toBeGreaterThan(0)
    await store.settle(claimed.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' })))
    left -= claimed.length
  }
}

/** A hundred transitions behind a number. */
async function pageOfLog(store: Store, after: number): Promise<{ last: number; transitions: number }> {
  const { transitions } = await store.transitions(String(after), 100)
  return { last: transitions.at(-1)?.seq ?? 0, transitions: transitions.length }
}

const documents = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => newJob(`document ${from + i}`, { priority: 1 }))

const plainJobs = (from: number, count: number) => Array.from({ length: count }, (_, i) => newJob(`plain ${from + i}`))

test('a claim looks at no more blocks after thousands of jobs, which a transaction keeps', async () => {
  const store = await opened('blocks')
  await put(store, ...documents(0, 1))
  await complete(store, 1)
  await pin()
  const client = await connected()
  // Twice what each looks at if it passes over nothing, or more.
  const statements: readonly (readonly [statement: string, blocksMax: number])[] = [
    ['SELECT blocks.queued_from(NULL, NULL)', 40],
    ["SELECT blocks.queued_from('mail', NULL)", 40],
    ["SELECT * FROM blocks.heads('mail', 100, 'first', 1)", 80],
    ['SELECT blocks.claims_from()', 10],
    ["SELECT * FROM blocks.standing WHERE id = 'running'", 25],
    [`SELECT ${lastOf('blocks')}`, 10],
    ["SELECT * FROM blocks.first_ended('mail', 'done', (SELECT max(ended) FROM blocks.completions), 100)", 100],
  ]
  for (let i = 0; i < 30; i++) {
    await put(store, ...documents(1_000 + 100 * i, 100).map((job) => ({ ...job, concurrencyKey: job.id })))
    await complete(store, 100)
    await put(store, ...plainJobs(100 * i, 100))
    await complete(store, 100)
  }
  // Open claims are few rows: these leave as many dead ones as jobs.
  await put(store, ...plainJobs(3_000, 300))
  await complete(store, 300, 1)
  await put(store, newJob('running'))
  expect(idsOf(await take(store))).toEqual(['running'])
  await put(store, newJob('waiting', { concurrencyKey: 'key', priority: 1 }))
  // So it is after an ANALYZE that has found hardly any row among those that are kept.
  await client.query("UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE oid = 'blocks.log'::regclass")
  // The first time a connection has to look for itself.
  for (const [statement] of statements) await client.query(statement)
  for (const [statement, blocksMax] of statements) {
    expect(await blocksOf(client, statement), statement).toBeLessThanOrEqual(blocksMax)
  }
})

test('what ended first is found without a look at all that has ended, by a plan that was made before', async () => {
  const store = await opened('ended')
  const client = await connected()
  const statement = "SELECT * FROM ended.first_ended('mail', 'done', 0, 1)"
  // The connection keeps the plan that it makes while the tables are empty.
  await client.query(statement)
  for (let i = 0; i < 60; i++) {
    await put(store, ...plainJobs(200 * i, 200))
    await complete(store, 200)
  }
  expect(await blocksOf(client, statement)).toBeLessThanOrEqual(15)
})

test('a claim looks at no job of another type, after an ANALYZE that has found few types', async () => {
  const store = await opened('types')
  await put(store, ...documents(0, 1_000).map((job, i) => ({ ...job, type: i % 2 === 0 ? 'mail' : 'image' })))
  await put(store, ...plainJobs(0, 1_000).map((job) => ({ ...job, type: 'report' })))
  const client = await connected()
  await client.query('ANALYZE types.jobs')
  const statements: readonly (readonly [statement: string, blocksMax: number])[] = [
    ["SELECT * FROM types.heads('other', 100, 'first', 1)", 25],
    ["SELECT * FROM types.load('{}', '{}', '{}', '{other}', '{100}', '{first}', '{1}')", 25],
    [exchangeOf('types', 'other'), 40],
    [exchangeOf('types', 'other', "'{10}'"), 60],
  ]
  for (const [statement, blocksMax] of statements) {
    // The first time a connection reads the catalogue; and it keeps from where on it has to look.
    await client.query(statement)
    await client.query('RESET ALL')
    expect(await blocksOf(client, statement), statement).toBeLessThanOrEqual(blocksMax)
  }
})

test('a commit looks at what it names only, by plans that were made while little was stored', async () => {
  const store = await opened('named')
  const unique = (from: number, count: number) => documents(from, count).map((job) => ({ ...job, key: job.id }))
  await put(store, ...unique(0, 2))
  const client = await connected()
  await client.query('ANALYZE')
  const statements: readonly (readonly [statement: string, blocksMax: number])[] = [
    [commitOf('named', 'document 0', '{holders}', '{none}'), 60],
    ["SELECT * FROM named.load('{}', '{holders}', '{none}', '{}', '{}', '{}', '{}')", 10],
  ]
  for (const [statement] of statements) await client.query(statement)
  for (let i = 0; i < 20; i++) {
    await put(store, ...unique(1_000 + 100 * i, 100))
    await put(store, ...plainJobs(100 * i, 100))
  }
  for (const [statement, blocksMax] of statements) {
    expect(await blocksOf(client, statement), statement).toBeLessThanOrEqual(blocksMax)
  }
})

test('a claim looks once at each job of many concurrency keys, and once per key for what is leased', async () => {
  const store = await opened('keys')
  const keyed = Array.from({ length: 1_000 }, (_, i) => newJob(`keyed ${i}`, { concurrencyKey: `key ${i % 20}` }))
  await put(store, ...keyed)
  const client = await connected()
  const cases: readonly (readonly [told: string, jobs: number, blocksMax: number])[] = [
    // Of each of 20 keys eleven jobs are looked at, or three, or 56 jobs of all of them.
    ["'all', NULL", 200, 700],
    ["'keys', NULL", 40, 500],
    ["'first', 1", 10, 300],
  ]
  for (const [told, jobs, blocksMax] of cases) {
    const statement = `SELECT * FROM keys.heads('mail', 10, ${told})`
    expect((await client.query(statement)).rowCount, told).toBe(jobs)
    expect(await blocksOf(client, statement), told).toBeLessThanOrEqual(blocksMax)
  }
})

test('figures are read without a look at all moves that were folded, by a plan that was made before', async () => {
  const store = await opened('moves')
  await pin()
  const client = await connected()
  const statement = 'SELECT * FROM moves.figures_after((SELECT upto FROM moves.folds))'
  // From then on the server takes a plan for all values.
  for (let i = 0; i < 10; i++) await client.query(statement)
  for (const job of plainJobs(0, 2_000)) await put(store, job)
  // An ANALYZE by the server makes it plan anew, which looks at the catalog.
  await client.query(statement)
  expect(await blocksOf(client, statement)).toBeLessThanOrEqual(30)
})

test('no function that switches kinds of plans off lets the server compile what it takes all the same', async () => {
  await opened('compiled')
  const rows = await server().query(`SELECT p.proname FROM pg_proc p
    WHERE p.pronamespace = 'compiled'::regnamespace AND array_to_string(p.proconfig, ' ') LIKE '%enable_%=off%'
      AND 'jit=off' <> ALL(p.proconfig)`)
  expect(rows).toEqual([])
})

test('a page of the log looks at none of the rows that were removed', async () => {
  const store = await opened('log')
  await pin()
  for (let i = 0; i < 60; i++) {
    await put(store, ...plainJobs(200 * i, 200))
    await complete(store, 200, 200)
  }
  // Half of a row of 200 transitions, in the middle of the 1,000 and more that are kept.
  const { last, transitions } = await pageOfLog(store, 35_500)
  expect([transitions, last]).toEqual([100, 35_600])
  const client = await connected()
  await client.query(`PREPARE log AS ${logText('log')}`)
  await client.query('EXECUTE log(35500, 100)')
  expect(await blocksOf(client, 'EXECUTE log(35500, 100)')).toBeLessThanOrEqual(20)
})

test('a sum is written down without a look at what was removed for those before it', async () => {
  const store = await opened('sums')
  await put(store, newJob('first'))
  await complete(store, 1)
  await pin()
  for (const job of plainJobs(0, 350)) {
    await put(store, job)
    await complete(store, 1)
  }
  const client = await connected()
  const { rows } = await client.query<{ upto: string }>('SELECT upto FROM sums.folds')
  const known = Number(rows[0]?.upto)
  expect(known).toBeGreaterThanOrEqual(1_000)
  // One in 97 looks at all.
  const sumTo = (folded: number): string => `SELECT sums.fold(${known}, ${folded}, '{mail}', '{0}', '{0}', '{x}')`
  const ordinary = known + ((known + 1) % 97 === 0 ? 2 : 1)
  const blocks = async (folded: number): Promise<number> => {
    await client.query('BEGIN')
    const looked = await blocksOf(client, sumTo(folded))
    await client.query('ROLLBACK')
    return looked
  }
  await blocks(ordinary)
  expect(await blocks(ordinary)).toBeLessThanOrEqual(150)
  expect(await blocks(97 * Math.ceil(known / 97) + 97)).toBeGreaterThan(250)
})

for (const [kind, make] of [
  ['documents', documents],
  ['plain jobs', plainJobs],
] as const) {
  test(`${kind} that return to the place that they had are found by every process`, async () => {
    const clock = movingClock()
    const schema = `returned_${kind.slice(0, 5)}`
    const [one, other] = [await opened(schema, clock), await opened(schema, clock)]
    await put(one, ...make(0, 3))
    const [released, expired] = await take(one, { max: 2 })
    if (released === undefined || expired === undefined) throw new Error('two jobs were to be claimed')
    await complete(one, 1)
    // Both have found out where queued jobs begin.
    for (const [i, store] of [one, other].entries()) {
      await put(store, ...documents(1_000 * (i + 1), 300))
      await complete(store, 300)
      expect(await take(store)).toEqual([])
    }
    await put(one, ...documents(5_000, 2))
    await other.settle([{ ...lease(released), event: 'RELEASE', to: 'queued' }])
    expect(idsOf(await take(one, { max: 1, token: 'again' }))).toEqual(
      kind === 'documents' ? [released.id] : ['document 5000'],
    )
    await clock.advance(31_000)
    expect((await one.rescue(10)).transitions.map(({ id }) => id)).toContain(expired.id)
    const all = [...(await take(other, { token: 'third' })), ...(await take(one, { token: 'fourth' }))]
    expect(idsOf(all)).toContain(expired.id)
    if (kind !== 'documents') expect(idsOf(all)).toContain(released.id)
  })
}
