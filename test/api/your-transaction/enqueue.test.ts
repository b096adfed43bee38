/** Calls in the user's own transaction: what they leave, when it is carried out, and what is refused. */
import {
  createClient,
  createRuntime,
  defineJob,
  memoryStore,
  type ClosableClient,
  type ClientOptions,
  type JobHandle,
  type OpenTransaction,
} from 'jobchart'
import { Client as PgClient } from 'pg'
import { setup } from 'xstate'
import { afterEach, beforeEach, expect, onTestFinished } from 'vitest'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { postgresOfFile, postgresTest as test } from '../../support/postgres-server.ts'

const server = postgresOfFile()
const echo = defineJob<unknown, unknown>({ type: 'echo', run: (input) => input })
const narrow = defineJob({ type: 'narrow', capacity: 1, run: () => {} })
const handedOver = defineJob({ type: 'handed over', capacity: 0, run: () => {} })
const door = setup({
  types: {
    events: {} as { type: 'OPEN' } | { type: 'CLOSE' },
  },
}).createMachine({
  initial: 'closed',
  states: { closed: { on: { OPEN: 'open' } }, open: { on: { CLOSE: 'shut' } }, shut: { type: 'final' } },
})
const doors = defineJob({ type: 'door', machine: door })
const guard = setup({ types: { events: {} as { type: 'job.cancel' } } }).createMachine({
  initial: 'here',
  states: { here: { on: { 'job.cancel': 'gone' } }, gone: { type: 'final' } },
})
const guards = defineJob({ type: 'guard', machine: guard })
const jobs = [echo, narrow, handedOver, doors, guards]

let pg: PgClient
let client: ClosableClient
let schema = ''
let made = 0

const connected = async (): Promise<PgClient> => {
  const connection = new PgClient(server().url)
  await connection.connect()
  onTestFinished(() => connection.end())
  return connection
}

const clientOf = (options: Partial<ClientOptions> = {}): ClosableClient =>
  createClient({ jobs, store: postgresStore({ url: server().url, schema }), ...options })

const inTransaction = async <T>(work: (tx: PgClient) => Promise<T>, end: 'COMMIT' | 'ROLLBACK' = 'COMMIT') => {
  await pg.query('BEGIN')
  const answer = await work(pg)
  await pg.query(end)
  return answer
}

beforeEach(async () => {
  schema = `s${++made}`
  pg = new PgClient(server().url)
  await pg.connect()
  client = clientOf()
  await client.counts()
})

afterEach(async () => {
  await client.close()
  await pg.end()
})

test('a job is there after the commit, and not before', async () => {
  await pg.query('BEGIN')
  const job = await client.enqueue(echo, { a: '\0"\\ $1 ?' }, { tx: pg, tags: ['t'], meta: { m: 1 }, priority: 3 })
  expect(await client.store.transactions?.carryOut(10)).toMatchObject({ count: 0 })
  expect(await client.job(job.id)).toBeNull()
  await pg.query('COMMIT')
  await job.stored()
  expect(job.outcome).toBe('inserted')
  const expected = { id: job.id, state: 'queued', input: { a: '\0"\\ $1 ?' }, tags: ['t'], meta: { m: 1 }, priority: 3 }
  expect(await job.record()).toMatchObject(expected)
})

test('a rollback leaves nothing, and all calls of the handle say so', async () => {
  await pg.query('BEGIN')
  const job = await client.enqueue(echo, 1, { tx: pg })
  const calls = [job.stored(), job.result(), job.record(), job.cancel()]
  const refused = calls.map((call) => expect(call).rejects.toMatchObject({ code: 'TX_ROLLED_BACK' }))
  const failed = new Promise((resolve) => job.state$.subscribe({ error: resolve }))
  await pg.query('ROLLBACK')
  await Promise.all(refused)
  expect(await failed).toMatchObject({ code: 'TX_ROLLED_BACK' })
  expect((await client.counts()).queued).toBe(0)
})

test('a savepoint that is rolled back takes its job along, although the transaction commits', async () => {
  const [kept, undone] = await inTransaction(async (tx) => {
    const outer = await client.enqueue(echo, 1, { tx })
    await tx.query('SAVEPOINT a')
    const inner = await client.enqueue(echo, 2, { tx })
    await tx.query('ROLLBACK TO a')
    return [outer, inner]
  })
  await kept?.stored()
  await expect(undone?.stored()).rejects.toMatchObject({ code: 'TX_ROLLED_BACK' })
  expect((await client.list()).map(({ id }) => id)).toEqual([kept?.id])
})

test('results are awaited over the commit, and workers run the job at once', async () => {
  const runtime = createRuntime({ jobs, store: postgresStore({ url: server().url, schema }) })
  await runtime.start()
  onTestFinished(async () => void (await runtime.stop()))
  await pg.query('BEGIN')
  const job = await client.enqueue(echo, 'x', { tx: pg })
  const states: string[] = []
  const seen = new Promise<void>((resolve) => {
    job.state$.subscribe({ next: (state) => states.push(state), complete: resolve })
  })
  const result = job.result()
  await pg.query('COMMIT')
  expect(await result).toBe('x')
  await seen
  expect(states.at(-1)).toBe('done')
})

test('what a process leaves that ends before the commit is carried out by any runtime', async () => {
  await pg.query('BEGIN')
  const job = await client.enqueue(echo, 1, { tx: pg })
  await client.close()
  await pg.query('COMMIT')
  const runtime = createRuntime({ jobs, store: postgresStore({ url: server().url, schema }) })
  await runtime.start()
  onTestFinished(async () => void (await runtime.stop()))
  await expect.poll(async () => (await runtime.job(job.id))?.id).toBe(job.id)
  expect(await (await runtime.job(job.id))?.result()).toBe(1)
})

test('several processes carry out each call once', async () => {
  const others = [clientOf(), clientOf()]
  onTestFinished(async () => void (await Promise.all(others.map((each) => each.close()))))
  await Promise.all(others.map((each) => each.counts()))
  const handles = await inTransaction(async (tx) => {
    const all: JobHandle[] = []
    for (let i = 0; i < 30; i++) all.push(await [client, ...others][i % 3]!.enqueue(echo, i, { tx }))
    return all
  })
  await Promise.all([
    ...handles.map((handle) => handle.stored()),
    ...others.map((each) => each.store.transactions?.carryOut(7)),
  ])
  const { transitions } = await client.store.transitions(null, 100)
  expect(transitions.map(({ id }) => id)).toEqual(handles.map(({ id }) => id))
})

test('enqueueMany is all or none, and its jobs are stored in their order', async () => {
  const many = await inTransaction((tx) => client.enqueueMany(echo, [1, 2, 3], { tx }))
  await Promise.all(many.map((job) => job.stored()))
  expect((await client.list()).map(({ input }) => input)).toEqual([1, 2, 3])
  await inTransaction((tx) => client.enqueueMany(echo, [4, 5], { tx }), 'ROLLBACK')
  expect(await client.list()).toHaveLength(3)
})

test('a delay counts from the call', async () => {
  const before = client.store.now()
  const job = await inTransaction((tx) => client.enqueue(echo, 1, { tx, delay: '1h' }))
  const { dueAt, state } = await job.record()
  expect(state).toBe('scheduled')
  expect(dueAt).toBeGreaterThanOrEqual(before + 3_600_000)
  expect(dueAt).toBeLessThanOrEqual(client.store.now() + 3_600_000)
})

test('a unique key is decided after the commit, and the handle becomes that of the job that is kept', async () => {
  const options = { unique: { key: 'k' } }
  const holder = await client.enqueue(echo, 1, options)
  const kept = await inTransaction((tx) => client.enqueue(echo, 2, { tx, ...options }))
  expect(kept.id).not.toBe(holder.id)
  await kept.stored()
  expect([kept.id, kept.outcome, kept.deduplicated, kept.sameInput]).toEqual([holder.id, 'kept', true, false])
  const replaced = await inTransaction((tx) =>
    client.enqueue(echo, 3, { tx, unique: { key: 'k', onConflict: 'replace' } }),
  )
  await replaced.stored()
  expect([replaced.id, replaced.outcome, replaced.sameInput]).toEqual([holder.id, 'replaced', true])
  expect((await holder.record()).input).toBe(3)
})

test('what comes of a unique key whose holder runs is told as outside of a transaction', async () => {
  const release = Promise.withResolvers<void>()
  const gated = defineJob<number, void>({ type: 'gated', run: () => release.promise })
  const runtime = createRuntime({ jobs: [gated], store: postgresStore({ url: server().url, schema }), concurrency: 1 })
  await runtime.start()
  onTestFinished(async () => void (await runtime.stop()))
  const holder = await runtime.enqueue(gated, 1, { unique: { key: 'k' } })
  await expect.poll(async () => (await holder.record()).state).toBe('running')
  const outcomes = async (onConflict: 'replace' | 'follow', tx: PgClient | null) => {
    const call = (): Promise<JobHandle> => runtime.enqueue(gated, 2, { tx, unique: { key: 'k', onConflict } })
    const job = tx === null ? await call() : await inTransaction(call)
    await job.stored()
    return [job.outcome, job.sameInput, job.id === holder.id]
  }
  expect(await outcomes('replace', pg)).toEqual(await outcomes('replace', null))
  expect(await outcomes('follow', pg)).toEqual(['following', true, false])
  release.resolve()
})

test('an id that is taken by a job with another input is told', async () => {
  await client.enqueue(echo, { a: 1, b: 2 }, { id: 'same' })
  const call = (input: unknown) => inTransaction((tx) => client.enqueue(echo, input, { tx, id: 'same' }))
  const other = await call(2)
  await other.stored()
  expect([other.outcome, other.deduplicated, other.sameInput]).toEqual(['kept', true, false])
  const same = await call({ b: 2, a: 1 })
  await same.stored()
  expect([same.id, same.sameInput]).toEqual(['same', true])
})

test('an id that another type has is refused after the commit', async () => {
  await client.enqueueByName('other', 1, { id: 'taken' })
  const job = await inTransaction((tx) => client.enqueue(echo, 1, { tx, id: 'taken' }))
  await expect(job.stored()).rejects.toMatchObject({ code: 'ID_TAKEN' })
})

test('without room a call is refused at once', async () => {
  await client.enqueue(narrow)
  await inTransaction(async (tx) => {
    await expect(client.enqueue(narrow, undefined, { tx })).rejects.toMatchObject({ code: 'CAPACITY' })
    await expect(client.enqueueMany(narrow, [undefined], { tx })).rejects.toMatchObject({ code: 'CAPACITY' })
    expect(await client.tryEnqueue(narrow, undefined, { tx })).toBeNull()
    await expect(client.enqueue(handedOver, undefined, { tx })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })
  const bounded = clientOf({ capacity: 1 })
  onTestFinished(() => bounded.close())
  await inTransaction(async (tx) => {
    await expect(bounded.enqueue(echo, 1, { tx })).rejects.toMatchObject({ code: 'CAPACITY' })
  })
})

test('a backlog limit counts what the transaction has enqueued before, but for what was rolled back', async () => {
  const bounded = clientOf({ capacity: 2 })
  onTestFinished(() => bounded.close())
  const enqueued = async (tx: PgClient): Promise<void> => {
    await bounded.enqueue(narrow, undefined, { tx })
    expect(await bounded.tryEnqueue(narrow, undefined, { tx })).toBeNull()
    await tx.query('SAVEPOINT a')
    await bounded.enqueueMany(echo, [1, 2].slice(1), { tx })
    await expect(bounded.enqueueByName('other', 1, { tx })).rejects.toMatchObject({ code: 'CAPACITY' })
    await tx.query('ROLLBACK TO a')
    await bounded.enqueue(echo, 1, { tx })
  }
  // The connection is that of the transaction before, which has left nothing.
  await inTransaction(enqueued, 'ROLLBACK')
  await inTransaction(enqueued)
  await expect.poll(async () => (await bounded.counts()).queued).toBe(2)
})

test('cancels are carried out after the commit, behind the enqueues before them', async () => {
  const there = await client.enqueue(echo, 1)
  await inTransaction((tx) => client.cancel(there.id, { tx }), 'ROLLBACK')
  const fresh = await inTransaction(async (tx) => {
    const job = await client.enqueue(echo, 2, { tx })
    const report = await client.cancel([there.id, job.id], { tx, reason: 'no' })
    expect(report).toEqual({ cancelled: [], cancelling: [], notFound: [], finished: [] })
    expect((await there.record()).state).toBe('queued')
    return job
  })
  await fresh.stored()
  const records = await client.list()
  expect(records.map(({ state, cancelReason }) => [state, cancelReason])).toEqual([
    ['cancelled', 'no'],
    ['cancelled', 'no'],
  ])
  await expect(inTransaction((tx) => client.cancel({ type: 'echo' }, { tx }))).rejects.toMatchObject({
    code: 'INVALID_OPTION',
  })
  await pg.query('ROLLBACK')
})

test('events are delivered after the commit, in order, also to a job of the same transaction', async () => {
  const runtime = createRuntime({ jobs, store: postgresStore({ url: server().url, schema }) })
  await runtime.start()
  onTestFinished(async () => void (await runtime.stop()))
  const job = await inTransaction(async (tx) => {
    const made = await client.enqueue(doors, undefined, { tx })
    await client.send(doors, made.id, { type: 'OPEN' }, { tx })
    await client.send(made.id, { type: 'CLOSE' }, { tx, key: 'close' })
    await client.send(made.id, { type: 'CLOSE' }, { tx, key: 'close' })
    return made
  })
  await job.result()
  expect((await job.record()).lastMessageNumber).toBe(2)
  await pg.query('BEGIN')
  const now = client.send(job.id, { type: 'OPEN' }, { tx: pg, accept: 'now' })
  await expect(now).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  await expect(client.send(job.id, { type: '' }, { tx: pg })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await pg.query('ROLLBACK')
})

test('the calls of a handle are part of a transaction, too, also of the one in which its job is enqueued', async () => {
  const there = await client.enqueue(doors)
  const calls = async (job: typeof there, tx: PgClient): Promise<void> => {
    await job.send({ type: 'OPEN' }, { tx })
    await expect(job.send({ type: 'OPEN' }, { tx, accept: 'now' })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    expect(await job.cancel({ tx, reason: 'no' })).toEqual({
      cancelled: [],
      cancelling: [],
      notFound: [],
      finished: [],
    })
  }
  await inTransaction((tx) => calls(there, tx), 'ROLLBACK')
  const untouched = await there.record()
  expect([untouched.state, untouched.lastMessageNumber]).toEqual(['queued', 0])
  const fresh = await inTransaction(async (tx) => {
    const job = await client.enqueue(doors, undefined, { tx })
    await calls(job, tx)
    await calls(there, tx)
    return job
  })
  await fresh.stored()
  for (const job of [fresh, there]) {
    const { state, lastMessageNumber, cancelReason } = await job.record()
    expect([state, lastMessageNumber, cancelReason]).toEqual(['cancelled', 1, 'no'])
  }
})

test('a schedule is removed after the commit', async () => {
  const handle = await client.schedule('nightly', '@daily', echo, 1)
  await inTransaction((tx) => handle.remove({ tx }), 'ROLLBACK')
  await inTransaction(async (tx) => {
    expect(await handle.remove({ tx })).toBe(true)
    expect(await client.schedules()).toHaveLength(1)
  })
  await expect.poll(() => client.schedules()).toEqual([])
  expect(await handle.remove()).toBe(false)
  await expect(handle.remove({ tx: 1 } as object)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})

test('a job that was removed before its commit is asked for is not found', async () => {
  const job = await inTransaction((tx) => client.enqueue(echo, 1, { tx }))
  await expect.poll(() => client.job(job.id)).not.toBeNull()
  await client.cancel(job.id)
  await client.discard(job.id)
  await expect(job.stored()).rejects.toMatchObject({ code: 'NOT_FOUND', hint: expect.stringContaining('retention') })
})

test('a schedule is declared after the commit', async () => {
  await inTransaction((tx) => client.schedule('no', '@daily', echo, 1, { tx }), 'ROLLBACK')
  await inTransaction(async (tx) => {
    await client.schedule('nightly', '@daily', echo, 1, { tx })
    expect(await client.schedules()).toEqual([])
  })
  await expect.poll(async () => (await client.schedules()).map(({ name }) => name)).toEqual(['nightly'])
})

test('calls join the transaction that the client finds, unless they say otherwise', async () => {
  let current: OpenTransaction | null = null
  const ambient = clientOf({ tx: () => current })
  onTestFinished(() => ambient.close())
  const outside = await ambient.enqueue(echo, 0)
  expect(await client.job(outside.id)).not.toBeNull()
  const door = await ambient.enqueue(doors)
  await pg.query('BEGIN')
  current = pg
  await door.send({ type: 'OPEN' })
  expect((await door.record()).lastMessageNumber).toBe(0)
  const joined = await ambient.enqueue(echo, 1)
  const byName = await ambient.enqueueByName('elsewhere', 1)
  const apart = await ambient.enqueue(echo, 2, { tx: null })
  expect(await client.job(apart.id)).not.toBeNull()
  await pg.query('ROLLBACK')
  current = null
  await expect(joined.stored()).rejects.toMatchObject({ code: 'TX_ROLLED_BACK' })
  await expect(byName.stored()).rejects.toMatchObject({ code: 'TX_ROLLED_BACK' })
  expect(await client.list()).toHaveLength(3)
  expect((await door.record()).lastMessageNumber).toBe(0)
})

test('an event that cancels its job is sent outside of the transaction that the client finds, if the call says so', async () => {
  const runtime = createRuntime({ jobs, store: postgresStore({ url: server().url, schema }) })
  await runtime.start()
  onTestFinished(async () => void (await runtime.stop()))
  const ambient = clientOf({ tx: () => pg })
  onTestFinished(() => ambient.close())
  const job = await ambient.enqueue(guards, undefined, { tx: null })
  await job.waitFor('here')
  await pg.query('BEGIN')
  await ambient.send(job.id, { type: 'job.cancel' }, { tx: null })
  await expect(job.result()).rejects.toMatchObject({ code: 'CANCELLED' })
  await pg.query('ROLLBACK')
})

test('what is no open transaction of the store is refused, and nothing is stored', async () => {
  await expect(client.enqueue(echo, 1, { tx: pg })).rejects.toMatchObject({ code: 'TX_NOT_OPEN' })
  await pg.query('BEGIN')
  await expect(pg.query('nonsense')).rejects.toThrow('syntax')
  await expect(client.enqueue(echo, 1, { tx: pg })).rejects.toMatchObject({ code: 'TX_NOT_OPEN' })
  // Its client hears of the failure before it hears that the transaction is aborted.
  const early: OpenTransaction = { getTransactionStatus: () => 'T', query: (sql: string) => pg.query(sql) }
  await expect(client.enqueue(echo, 1, { tx: early })).rejects.toMatchObject({
    code: 'TX_NOT_OPEN',
    cause: { code: '25P02' },
  })
  await pg.query('ROLLBACK')
  await expect(client.enqueue(echo, 1, { tx: {} as OpenTransaction })).rejects.toMatchObject({ code: 'TX_NOT_OPEN' })
  const last = await client.enqueue(narrow)
  for (const tx of [pg, {} as OpenTransaction]) {
    await expect(client.enqueue(narrow, undefined, { tx })).rejects.toMatchObject({ code: 'TX_NOT_OPEN' })
    await expect(client.tryEnqueue(narrow, undefined, { tx })).rejects.toMatchObject({ code: 'TX_NOT_OPEN' })
  }
  await last.cancel()
  await expect(client.enqueue(echo, 1, { tx: 'BEGIN' as never })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  await expect(client.run(echo, 1, { tx: pg })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  const other = await connected()
  await other.query('CREATE DATABASE other')
  const there = new PgClient(server().url.replace(/postgres$/, 'other'))
  await there.connect()
  await there.query('BEGIN')
  await expect(client.enqueue(echo, 1, { tx: there })).rejects.toMatchObject({ code: 'TX_OTHER_DATABASE' })
  await there.end()
  await other.query('BEGIN READ ONLY')
  const readOnly = { code: 'INVALID_OPTION', hint: expect.any(String) as unknown, cause: { code: '25006' } }
  await expect(client.enqueue(echo, 1, { tx: other })).rejects.toMatchObject(readOnly)
  await other.query(`ROLLBACK; CREATE ROLE nobody_${made}; BEGIN; SET ROLE nobody_${made}`)
  const denied = { code: 'STORE_UNAVAILABLE', hint: expect.any(String) as unknown, cause: { code: '42501' } }
  await expect(client.enqueue(echo, 1, { tx: other })).rejects.toMatchObject(denied)
  await other.query('ROLLBACK')
  expect((await client.counts()).queued).toBe(0)
  const memory = createClient({ jobs, store: memoryStore() })
  onTestFinished(() => memory.close())
  await expect(memory.enqueue(echo, 1, { tx: pg })).rejects.toMatchObject({ code: 'UNSUPPORTED' })
})

test('a call that is not awaited before the end of its transaction is refused, and nothing is stored', async () => {
  const codes: unknown[] = []
  for (const end of ['ROLLBACK', 'COMMIT']) {
    await pg.query('BEGIN')
    await pg.query('SELECT 1')
    const call = client
      .enqueue(echo, end, { tx: pg })
      .catch((error: unknown) => codes.push((error as Error & { code: string }).code))
    await pg.query(end)
    await call
  }
  expect(codes).toEqual(['TX_NOT_OPEN', 'TX_NOT_OPEN'])
  const { rows } = await pg.query(`SELECT field FROM ${schema}.cells WHERE kind = 'intents'`)
  expect([rows, (await client.counts()).queued]).toEqual([[], 0])
})

test('a wait for the commit has limits of its own', async () => {
  await pg.query('BEGIN')
  const job = await client.enqueue(echo, 1, { tx: pg })
  await expect(job.stored({ timeout: 5 })).rejects.toMatchObject({ code: 'TIMEOUT' })
  await expect(job.stored({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'ABORTED' })
  const entered = await client.enqueue(doors, undefined, { tx: pg })
  for (const signal of [AbortSignal.abort(), AbortSignal.timeout(5)]) {
    await expect(entered.waitFor('open', { signal })).rejects.toMatchObject({ code: 'ABORTED' })
  }
  await expect(entered.waitFor('open', { timeout: 5 })).rejects.toMatchObject({ code: 'TIMEOUT' })
  const closed = expect(job.stored()).rejects.toMatchObject({ code: 'STOPPED' })
  await client.close()
  await closed
  await pg.query('ROLLBACK')
})

// ── SQL ────────────────────────────────────────────────────────────────────────────────────────────────────────────

test('a statement of SQL enqueues, also by a trigger, and by a role that may do nothing else', async () => {
  await pg.query(`CREATE TABLE orders_${made} (id text, total int);
    CREATE FUNCTION on_order_${made}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM ${schema}.enqueue(json_build_object('type', 'echo', 'input', json_build_object('order', NEW.id, 'text', 'é "\\'),
        'id', 'order-' || NEW.id, 'tags', json_build_array('sql'), 'priority', 5, 'meta', json_build_object('a', 1))::text);
      RETURN NEW; END $$;
    CREATE TRIGGER enqueues AFTER INSERT ON orders_${made} FOR EACH ROW EXECUTE FUNCTION on_order_${made}();
    CREATE ROLE clerk_${made}; GRANT INSERT ON orders_${made} TO clerk_${made};
    GRANT USAGE ON SCHEMA ${schema} TO clerk_${made}; GRANT EXECUTE ON FUNCTION ${schema}.enqueue(text) TO clerk_${made}`)
  const runtime = createRuntime({ jobs, store: postgresStore({ url: server().url, schema }) })
  await runtime.start()
  onTestFinished(async () => void (await runtime.stop()))
  await pg.query(`SET ROLE clerk_${made}`)
  await pg.query(`BEGIN; INSERT INTO orders_${made} VALUES ('0', 1); ROLLBACK`)
  await pg.query(`INSERT INTO orders_${made} VALUES ('7', 1)`)
  await expect(pg.query(`SELECT * FROM ${schema}.jobs`)).rejects.toMatchObject({ code: '42501' })
  await expect(pg.query(`SELECT ${schema}.within('')`)).rejects.toMatchObject({ code: '42501' })
  await pg.query('RESET ROLE')
  await expect.poll(async () => (await runtime.job('order-7'))?.id).toBe('order-7')
  const job = await runtime.job('order-7')
  expect(await job?.result()).toEqual({ order: '7', text: 'é "\\' })
  expect(await job?.record()).toMatchObject({ tags: ['sql'], priority: 5, meta: { a: 1 }, maxAttempts: 3 })
  expect(await runtime.list()).toHaveLength(1)
})

test('a row that no call has left is removed, and holds up nobody’s calls', async () => {
  const { rows } = await pg.query<{ value: string }>(`SELECT value FROM ${schema}.meta WHERE name = 'store'`)
  const plain = {
    type: 'echo',
    priority: 0,
    maxAttempts: 3,
    tags: [],
    key: null,
    concurrencyKey: null,
    onConflict: 'keep',
  }
  const job = { ...plain, id: 'a', runAt: null, delayMs: 0 }
  const door = await client.enqueue(doors)
  const wrong: Record<string, unknown[]> = {
    id: [1],
    type: [1],
    priority: ['x', 1.5],
    maxAttempts: ['x', 0],
    tags: [[1]],
    key: [1],
    concurrencyKey: [1],
    onConflict: ['x'],
    until: ['x'],
    meta: [5],
    pins: [5, { backoff: 5 }, { attemptTimeoutMs: 'x' }, { trace: { a: 1 } }],
    keyWeight: ['x'],
    version: [1],
    parent: [{ id: 'b' }],
    checkpoint: [{}],
    runAt: ['x', 1e300],
    delayMs: [-1],
  }
  const terms = { name: 's', spec: '@daily', timezone: 'UTC', catchUp: 'last', overlap: 'allow', jitterMs: 0 }
  const schedule = { ...terms, job: plain, computed: false, owner: null }
  const wrongTerms = { spec: '0 0 32 * *', timezone: 'Mars/Olympus', catchUp: 'x', overlap: 'x', job: {}, computed: 1 }
  const strange: unknown[] = [
    [null],
    [1],
    [{}],
    [{ kind: 'toString', request: {} }],
    [{ kind: 'insert', request: { jobs: [null] } }],
    ...Object.entries(wrong).flatMap(([name, values]) =>
      values.map((value) => [{ kind: 'insert', request: { capacity: null, jobs: [{ ...job, [name]: value }] } }]),
    ),
    [{ kind: 'insert', request: { capacity: 'x', jobs: [job] } }],
    ...['send', 'cancel', 'settle', 'extend', 'schedule', 'unschedule'].map((kind) => [{ kind, request: {} }]),
    [{ kind: 'cancel', request: { ids: [1] } }],
    [{ kind: 'send', request: { id: 'a', key: 'k', expect: null, message: { kind: 'event', event: 1 } } }],
    ...['', 'job.cancel', 'xstate.done.actor.0.a'].map((type) => [
      { kind: 'send', request: { id: door.id, key: type, expect: null, message: { kind: 'event', event: { type } } } },
    ]),
    [{ kind: 'schedule', request: { terms: {} } }],
    ...Object.entries(wrongTerms).map(([name, value]) => [
      { kind: 'schedule', request: { terms: { ...schedule, [name]: value }, paused: false, nextAt: null } },
    ]),
    [{ kind: 'schedule', request: { terms: schedule, paused: false, nextAt: 'x' } }],
  ]
  for (const intents of strange) {
    await pg.query(`SELECT ${schema}.within($1)`, [`${rows[0]?.value} \n\n${JSON.stringify(intents)}`])
  }
  const made = await inTransaction((tx) => client.enqueue(echo, 1, { tx }))
  await made.stored()
  expect((await client.list({ type: 'echo' })).map(({ id }) => id)).toEqual([made.id])
  expect((await door.record()).inbox).toEqual([])
  expect(await client.schedules()).toEqual([])
  expect((await pg.query(`SELECT FROM ${schema}.cells WHERE kind = 'intents'`)).rowCount).toBe(0)
})

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

test('a statement of SQL with options that make no sense is refused', async () => {
  const refused = [
    '[]',
    '{}',
    '{"type":1}',
    '{"type":"a","tag":1}',
    '{"type":"a","delay":-1}',
    '{"type":"a","tags":[1]}',
    '{"type":"a","delay":999999999999999}',
    '{"type":"a","runAt":1795645926}',
    '{"type":"a","runAt":999999999999999}',
    '{"type":"a","runAt":1895645926000,"delay":0}',
    JSON.stringify({ type: 'a', input: 'x'.repeat(2 ** 20) }),
    `{"type":"a","input":${nested(101)}}`,
    `{"type":"a","input":{"a":${nested(6_000)}}}`,
    `{"type":"a","meta":{"a":${nested(100)}}}`,
    '{"type":"a","input":[1,{"a":-1e309}]}',
    // As long as 202 for JavaScript.
    JSON.stringify({ type: 'a', id: '😀'.repeat(101) }),
    JSON.stringify({ type: 'a', key: '😀'.repeat(251) }),
    JSON.stringify({ type: 'a', tags: [`é${'😀'.repeat(100)}`] }),
  ]
  for (const text of refused) {
    await expect(pg.query(`SELECT ${schema}.enqueue($1)`, [text])).rejects.toMatchObject({ code: 'JC003' })
  }
  await expect(pg.query(`SELECT ${schema}.enqueue($1)`, ['{'])).rejects.toMatchObject({ code: '22P02' })
  const { rows } = await pg.query(
    `SELECT ${schema}.enqueue('{"type":"echo","delay":60000,"key":"k","maxAttempts":7}') AS id`,
  )
  await client.store.transactions?.carryOut(10)
  const [record] = await client.list()
  expect(record).toMatchObject({ id: (rows[0] as { id: string }).id, state: 'scheduled', key: 'k', maxAttempts: 7 })
})
