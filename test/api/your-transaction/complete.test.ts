/** Ends of attempts, and steps, in the handler's own transaction. */
import { inspect } from 'node:util'
import {
  createRuntime,
  defineJob,
  durable,
  fatal,
  fromJob,
  type Duration,
  type JobchartError,
  type JobDefinition,
  type RunContext,
  type Runtime,
} from 'jobchart'
import type { JobDocument, NewJob, Store, TxIntent } from 'jobchart/store'
import { Client as PgClient } from 'pg'
import { afterEach, beforeEach, expect, onTestFinished, vi } from 'vitest'
import { fromPromise, setup } from 'xstate'
import { systemClock } from '../../../src/core/clock.ts'
import { ask, lease, newJob, put, recordOf } from '../../../src/store-testing/conformance/acts.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { postgresOfFile, postgresTest as test } from '../../support/postgres-server.ts'

const server = postgresOfFile()

const seen: unknown[] = []
/** Its first attempt rolls back, its second one commits and fails, its third one finds the result. */
const charge = durable<number>(
  async ({ step, attempt }) => {
    await inTransaction(async (tx) => {
      const charged = await step('charge', () => add(tx, attempt).then(() => attempt), { tx })
      seen.push(charged)
      if (attempt === 1) throw new Error('rolled back')
    })
    if (attempt < 3) throw new Error('after the commit')
    return attempt
  },
  { retry: { maxAttempts: 5, backoff: () => 0 } },
)
const machine = setup({ actors: { charge } }).createMachine({
  initial: 'charging',
  states: { charging: { invoke: { src: 'charge', onDone: 'charged' } }, charged: { type: 'final' } },
})
const chargeJob = defineJob({ type: 'charge', machine })

const chargeOnce = durable(({ step }) => inTransaction((tx) => step('charge', () => add(tx, 1).then(() => 1), { tx })))
const stays = fromPromise(() => new Promise(() => {}))
const charges = setup({ actors: { chargeOnce, stays } }).createMachine({
  initial: 'charging',
  states: {
    charging: { invoke: { src: 'chargeOnce', onDone: 'charged' } },
    charged: { invoke: { src: 'stays' } },
  },
})
const chargesJob = defineJob({ type: 'charges', machine: charges })

type Handler = (input: unknown, ctx: RunContext) => Promise<unknown>

let pg: PgClient
let handler: Handler
let schema = ''
let made = 0
const runtimes: Runtime[] = []
const warnings: string[] = []

const work: JobDefinition<unknown, unknown> = defineJob<unknown, unknown>({
  type: 'work',
  retry: { maxAttempts: 3, backoff: () => 0 },
  run: (input, ctx) => handler(input, ctx),
})

const leaves = setup({
  types: { events: {} as { type: 'LEAVE' } },
  actors: {
    work: fromJob(work),
    undo: fromPromise(async () => {}),
  },
}).createMachine({
  initial: 'working',
  states: {
    working: { on: { LEAVE: 'undoing' }, invoke: { src: 'work', input: 'open' } },
    undoing: { invoke: { src: 'undo', onDone: 'undone' } },
    undone: { type: 'final' },
  },
})
const leavesJob = defineJob({ type: 'leaves', machine: leaves, retry: { maxAttempts: 1 } })

const keepWarning = (message: string, { error }: { readonly error?: unknown } = {}): void => {
  warnings.push(error === undefined ? message : `${message}: ${inspect(error)}`)
}

async function started(
  lease: Duration = '30s',
  store: Store = postgresStore({ url: server().url, schema }),
): Promise<Runtime> {
  const runtime = createRuntime({
    jobs: [work, chargeJob, chargesJob, leavesJob],
    store,
    lease,
    logger: { warn: keepWarning, error: keepWarning },
  })
  runtimes.push(runtime)
  await runtime.start()
  return runtime
}

/** Commits, or rolls back if `body` throws. */
async function inTransaction(body: (tx: PgClient) => Promise<unknown>): Promise<void> {
  await pg.query('BEGIN')
  try {
    await body(pg)
    await pg.query('COMMIT')
  } catch (error) {
    await pg.query('ROLLBACK')
    throw error
  }
}

const add = (tx: PgClient, attempt: number) => tx.query(`INSERT INTO effects_${made} VALUES (${attempt})`)
const effects = async (): Promise<number[]> => {
  const { rows } = await pg.query<{ attempt: number }>(`SELECT attempt FROM effects_${made} ORDER BY attempt`)
  return rows.map(({ attempt }) => attempt)
}

beforeEach(async () => {
  schema = `c${++made}`
  warnings.length = 0
  pg = new PgClient(server().url)
  await pg.connect()
  await pg.query(`CREATE TABLE effects_${made} (attempt int)`)
})

afterEach(async () => {
  await Promise.all(runtimes.splice(0).map((runtime) => runtime.stop({ mode: 'abort', grace: 0 })))
  await pg.end()
})

test('a job is done with the writes of its handler, and its return value is ignored', async () => {
  handler = async (_, ctx) => {
    ctx.log('hello')
    await inTransaction(async (tx) => {
      await add(tx, ctx.attempt)
      await ctx.complete(tx, { ok: true })
    })
    return 'ignored'
  }
  const runtime = await started()
  const events: string[] = []
  runtime.events$.subscribe(({ event }) => events.push(event))
  const job = await runtime.enqueue(work, 1)
  expect(await job.result()).toEqual({ ok: true })
  await expect.poll(() => events).toContain('COMPLETE')
  const { state, attempt, logs } = await job.record()
  expect([state, attempt, logs.map(({ message }) => message)]).toEqual(['done', 1, ['hello']])
  expect(await effects()).toEqual([1])
  expect(events.filter((event) => event === 'COMPLETE')).toHaveLength(1)
})

test('a transaction that is rolled back makes the attempt fail with its error, and the effect happens once', async () => {
  handler = (_, ctx) =>
    inTransaction(async (tx) => {
      await add(tx, ctx.attempt)
      await ctx.complete(tx, ctx.attempt)
      if (ctx.attempt === 1) throw new Error('after complete')
    })
  const job = await (await started()).enqueue(work, 1)
  expect(await job.result()).toBe(2)
  expect((await job.record()).errors.map(({ error }) => error.message)).toEqual(['after complete'])
  expect(await effects()).toEqual([2])
})

test('a handler that returns although its transaction was rolled back has failed with NOT_COMMITTED', async () => {
  handler = async (_, ctx) => {
    await inTransaction(async (tx) => {
      await add(tx, ctx.attempt)
      await ctx.complete(tx, ctx.attempt)
      if (ctx.attempt === 1) throw new Error('swallowed')
    }).catch(() => {})
  }
  const job = await (await started()).enqueue(work, 1)
  expect(await job.result()).toBe(2)
  expect((await job.record()).errors.map(({ error }) => error.code)).toEqual(['NOT_COMMITTED'])
  expect(await effects()).toEqual([2])
})

test('a handler that throws after its commit has completed its job', async () => {
  handler = async (_, ctx) => {
    await inTransaction(async (tx) => {
      await add(tx, ctx.attempt)
      await ctx.complete(tx, ctx.attempt)
    })
    throw fatal(new Error('too late'))
  }
  const job = await (await started()).enqueue(work, 1)
  expect(await job.result()).toBe(1)
  expect((await job.record()).errors).toEqual([])
  expect(warnings).toContainEqual(expect.stringContaining('the commit counts'))
  expect(await effects()).toEqual([1])
})

test('a handler that ends before its transaction is asked for until it has ended', async () => {
  let commit: () => void = () => {}
  const committing = new Promise<void>((resolve) => (commit = resolve))
  let late: Promise<unknown> = Promise.resolve()
  handler = async (_, ctx) => {
    await pg.query('BEGIN')
    await add(pg, ctx.attempt)
    await ctx.complete(pg, ctx.attempt)
    late = committing.then(() => pg.query('COMMIT'))
    throw new Error('before the commit')
  }
  const runtime = await started()
  const job = await runtime.enqueue(work, 1)
  await expect.poll(async () => (await job.record()).state).toBe('running')
  commit()
  expect(await job.result()).toBe(1)
  await late
  expect(await effects()).toEqual([1])
})

test('a stop that aborts waits no longer than its grace for a transaction, which counts if it commits later', async () => {
  const opened = Promise.withResolvers<void>()
  const other = new PgClient(server().url)
  await other.connect()
  onTestFinished(() => other.end())
  handler = async (input, ctx) => {
    const tx = input === 'returns' ? pg : other
    await tx.query('BEGIN')
    await add(tx, ctx.attempt)
    await ctx.complete(tx, input)
    if (input === 'returns') return
    opened.resolve()
    await new Promise(() => {})
  }
  const runtime = await started()
  const ids: string[] = []
  for (const input of ['returns', 'stays']) ids.push((await runtime.enqueue(work, input)).id)
  await opened.promise
  expect(await runtime.stop({ mode: 'abort', grace: 1 })).toEqual({ completed: false, running: 1, dropped: 0 })
  await Promise.all([pg.query('COMMIT'), other.query('COMMIT')])
  const next = await started()
  expect(await Promise.all(ids.map(async (id) => (await next.job(work, id))?.result()))).toEqual(['returns', 'stays'])
  expect(await effects()).toEqual([1, 1])
})

test('a stop that gives up a transaction says that not all has ended, although no handler runs', async () => {
  const opened = Promise.withResolvers<void>()
  handler = async (_, ctx) => {
    await pg.query('BEGIN')
    await ctx.complete(pg, 'kept')
    opened.resolve()
  }
  const runtime = await started()
  const { id } = await runtime.enqueue(work, 1)
  await opened.promise
  await expect.poll(async () => (await runtime.stats()).taken).toBe(0)
  expect(await runtime.stop({ mode: 'abort', grace: 1 })).toEqual({ completed: false, running: 0, dropped: 0 })
  await pg.query('COMMIT')
  expect(await (await (await started()).job(work, id))?.result()).toBe('kept')
})

test('an attempt fails, or is postponed, with the transaction of its handler', async () => {
  handler = async (_, ctx) => {
    await inTransaction(async (tx) => {
      await add(tx, ctx.attempt)
      const isPostponed = ctx.job.history.some(({ event }) => event === 'SNOOZE')
      if (!isPostponed) await ctx.snooze(tx, '1ms')
      else if (ctx.attempt === 1) await ctx.fail(tx, new Error('with its row'))
      else await ctx.complete(tx, 'third')
    })
  }
  const job = await (await started()).enqueue(work, 1)
  expect(await job.result()).toBe('third')
  expect((await job.record()).errors.map(({ error }) => error.message)).toEqual(['with its row'])
  expect(await effects()).toEqual([1, 1, 2])
})

test('a step is kept with its rows, or neither', async () => {
  handler = async (_, ctx) => {
    const step = (name: string, fails: boolean): Promise<void> =>
      inTransaction(async (tx) => {
        await ctx.step(name, () => add(tx, ctx.attempt).then(() => ctx.attempt), { tx })
        if (fails) throw new Error(`${name} is rolled back`)
      })
    await step('kept', false)
    await step('undone', ctx.attempt === 1)
    if (ctx.attempt === 2) throw new Error('again')
    return ctx.step('kept', () => 0).catch((error: unknown) => (error as JobchartError).code)
  }
  const job = await (await started()).enqueue(work, 1)
  expect(await job.result()).toBe('DUPLICATE_STEP')
  expect(await effects()).toEqual([1, 2])
})

test('a handler repeats a transaction that was rolled back with the step in it, and no other step', async () => {
  const codes: unknown[] = []
  handler = async (_, ctx) => {
    const charge = (n: number): Promise<number> => ctx.step('charge', () => add(pg, n).then(() => n), { tx: pg })
    const refused = async (): Promise<void> => {
      await charge(0).catch((error: unknown) => codes.push((error as JobchartError).code))
    }
    for (const n of [1, 2]) {
      const rolledBack = inTransaction(async () => {
        await charge(n)
        throw new Error('could not serialize')
      })
      await expect(rolledBack).rejects.toThrow('could not serialize')
    }
    await inTransaction(async () => {
      await pg.query('SAVEPOINT a')
      await charge(3)
      await pg.query('ROLLBACK TO a')
      // Only one of those that repeat it at once.
      expect(await Promise.allSettled([charge(4), charge(4)])).toMatchObject([
        { status: 'fulfilled', value: 4 },
        { status: 'rejected', reason: { code: 'DUPLICATE_STEP' } },
      ])
      await refused()
    })
    await inTransaction(refused)
    if (ctx.attempt === 1) throw new Error('again')
  }
  const job = await (await started()).enqueue(work, 1)
  await job.result()
  expect((await job.record()).errors.map(({ error }) => error.message)).toEqual(['again'])
  expect(codes).toEqual(Array(4).fill('DUPLICATE_STEP'))
  expect(await effects()).toEqual([4])
})

test('a durable promise of a machine keeps a step with its rows, and does not repeat it', async () => {
  const runtime = await started()
  const job = await runtime.enqueue(chargeJob)
  await job.result()
  expect(await effects()).toEqual([2])
  expect(seen).toEqual([1, 2, 2])
})

test('a handler that repeats its transaction enqueues the jobs again that were rolled back with it, and no others', async () => {
  const child = (ctx: RunContext, tx: PgClient) => ctx.enqueue(work, 'child', { tx })
  const ids: string[][] = []
  handler = async (input, ctx) => {
    if (input === 'child') return
    for (const fails of [true, false]) {
      await expect(child(ctx, pg)).rejects.toMatchObject({ code: 'TX_NOT_OPEN' })
      const transaction = inTransaction(async (tx) => {
        const first = await child(ctx, tx)
        await tx.query('SAVEPOINT a')
        await child(ctx, tx)
        await tx.query('ROLLBACK TO a')
        const others = await Promise.all([child(ctx, tx), child(ctx, tx)])
        ids.push([first, ...others].map(({ id }) => id))
        if (fails) throw new Error('could not serialize')
      })
      await (fails ? expect(transaction).rejects.toThrow('could not serialize') : transaction)
    }
    if (ctx.attempt === 1) throw new Error('again')
  }
  const runtime = await started()
  const job = await runtime.enqueue(work, 'parent')
  await job.result()
  expect((await job.record()).errors.map(({ error }) => error.message)).toEqual(['again'])
  expect(new Set(ids[0]).size).toBe(3)
  expect(ids).toEqual(Array(4).fill(ids[0]))
  const all = await runtime.list({ type: 'work', fields: ['id'] })
  expect(all.map(({ id }) => id).toSorted()).toEqual([job.id, ...ids[0]!].toSorted())
})

test('a durable promise ends after the transaction of its step was carried out, and leaves no step behind', async () => {
  const store = postgresStore({ url: server().url, schema })
  const transactions = store.transactions!
  const carrying = Promise.withResolvers<void>()
  const carryOut = (limit: number) => carrying.promise.then(() => transactions.carryOut(limit))
  const runtime = await started('30s', { ...store, transactions: { ...transactions, carryOut } })
  const job = await runtime.enqueue(chargesJob)
  await expect.poll(effects).toEqual([1])
  await expect(job.waitFor('charged', { timeout: 300 })).rejects.toMatchObject({ code: 'TIMEOUT' })
  carrying.resolve()
  await job.waitFor('charged')
  const { rows } = await pg.query<{ doc: string }>(`SELECT doc FROM ${schema}.jobs WHERE id = $1`, [job.id])
  const document = JSON.parse(rows[0]?.doc ?? '') as Partial<JobDocument>
  expect([document.state, document.steps ?? {}]).toEqual(['running', {}])
})

test('a stale token raises in the transaction, and a job that was cancelled is not completed', async () => {
  const codes: unknown[] = []
  let begun: () => void = () => {}
  const hasBegun = new Promise<void>((resolve) => (begun = resolve))
  let goOn: () => void = () => {}
  const goingOn = new Promise<void>((resolve) => (goOn = resolve))
  handler = async (_, ctx) => {
    begun()
    await goingOn
    await inTransaction(async (tx) => {
      await add(tx, ctx.attempt)
      await ctx.complete(tx)
    }).catch((error: unknown) => codes.push((error as JobchartError).code))
  }
  const runtime = await started()
  const job = await runtime.enqueue(work, 1)
  await hasBegun
  // As if another process had done it: the signal of this run does not abort.
  await runtime.store.cancel([{ ids: [job.id], reason: 'no', graceMs: 60_000 }])
  goOn()
  await expect(job.result()).rejects.toMatchObject({ code: 'CANCELLED' })
  expect(codes).toEqual([expect.stringMatching(/LEASE_LOST|CANCELLED/)])
  expect(await effects()).toEqual([])
})

test('while the transaction is open, leases of other jobs are extended, expired ones are rescued, and others settle', async () => {
  let opened: () => void = () => {}
  const isOpen = new Promise<void>((resolve) => (opened = resolve))
  let commit: () => void = () => {}
  const committing = new Promise<void>((resolve) => (commit = resolve))
  handler = async (input, ctx) => {
    if (input !== 'open') return input
    await inTransaction(async (tx) => {
      await add(tx, ctx.attempt)
      await ctx.complete(tx, 'kept')
      opened()
      await committing
      expect(ctx.signal.aborted).toBe(false)
    })
    return 'ignored'
  }
  const observer = new PgClient(server().url)
  await observer.connect()
  onTestFinished(() => observer.end())
  const runtime = await started('1s')
  const job = await runtime.enqueue(work, 'open')
  await isOpen
  const { store } = runtime
  const leaseEnd = async (): Promise<number> => {
    const { rows } = await observer.query<{ at: string }>(
      `SELECT wake_at AS at FROM ${schema}.standing WHERE id = $1`,
      [job.id],
    )
    return Number(rows[0]?.at)
  }
  const endsAt = await leaseEnd()
  const before = store.now()
  // Three leases long: its own heartbeats go on beside the transaction, and so does everything else.
  for (let i = 0; store.now() < before + 3_000; i++) {
    const other = await runtime.enqueue(work, i)
    expect(await other.result()).toBe(i)
    await store.rescue(10)
  }
  expect((await job.record()).attempt).toBe(1)
  expect(await leaseEnd()).toBeGreaterThan(endsAt + 1_000)
  commit()
  expect(await job.result()).toBe('kept')
  expect((await job.record()).history.map(({ event }) => event)).toEqual(['ENQUEUE', 'CLAIM', 'COMPLETE'])
  expect(warnings).toEqual([])
})

test('a commit whose process has ended at once counts, although the lease expires before it is carried out', async () => {
  const store = postgresStore({ url: server().url, schema })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  const [expired, settled, stale] = ['expired', 'settled', 'stale'].map((id) => newJob(id)) as [NewJob, NewJob, NewJob]
  await put(store, expired, settled, stale)
  const { jobs } = await ask(store, { leaseMs: 1, token: 'first token' })
  const ends = jobs.map((job): TxIntent => {
    return { kind: 'settle', request: { ...lease(job), event: 'COMPLETE', to: 'done', output: 'kept' } }
  })
  // What `ctx.complete` writes; nobody watches it.
  for (const end of ends.slice(0, 2)) await inTransaction((tx) => store.transactions!.write(tx, [end]))
  await expect.poll(async () => (await store.rescue(10)).transitions.map(({ id }) => id)).toEqual(['stale'])
  const [, second] = ends as [TxIntent, TxIntent & { kind: 'settle' }, TxIntent]
  // Whoever settles it again gets the answer that it has had.
  expect(await store.settle([{ ...second.request, event: 'FAIL', to: 'retrying' }])).toMatchObject([
    { outcome: 'settled', to: 'done' },
  ])
  for (const id of ['expired', 'settled']) {
    const { state, output, history } = await recordOf(store, id)
    expect([state, output, history.map(({ event }) => event)]).toEqual([
      'done',
      'kept',
      ['ENQUEUE', 'CLAIM', 'COMPLETE'],
    ])
  }
  await expect(inTransaction((tx) => store.transactions!.write(tx, [ends[2]!]))).rejects.toMatchObject({
    code: 'LEASE_LOST',
  })
  expect(await store.transactions?.carryOut(10)).toMatchObject({ count: 0 })
  const { rows } = await pg.query(`SELECT kind FROM ${schema}.cells WHERE kind IN ('intents', 'fences')`)
  expect(rows).toEqual([])
})

test('a handler that repeats its transaction, as if the commit had not been answered, has its effect once', async () => {
  const codes: unknown[] = []
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  handler = async (_, ctx) => {
    for (let i = 1; i <= 3; i++) {
      await inTransaction(async (tx) => {
        await add(tx, i)
        await ctx.complete(tx, i)
      }).catch((error: unknown) => codes.push((error as JobchartError).code))
    }
    resolve()
  }
  const job = await (await started()).enqueue(work, 1)
  expect(await job.result()).toBe(1)
  // The job is done with its first transaction.
  await ended
  expect(codes).toEqual([
    expect.stringMatching(/NOT_ACCEPTED|LEASE_LOST/),
    expect.stringMatching(/NOT_ACCEPTED|LEASE_LOST/),
  ])
  expect(await effects()).toEqual([1])
})

test('an attempt has one end: another one is refused in its transaction, beside it, and after it', async () => {
  const store = postgresStore({ url: server().url, schema })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  const ids = ['within', 'beside', 'behind', 'snapshot', 'savepoint']
  await put(store, ...ids.map((id) => newJob(id)))
  const { jobs } = await ask(store, { max: ids.length })
  const other = new PgClient(server().url)
  await other.connect()
  onTestFinished(() => other.end())
  // Nobody carries out what has committed.
  const end = (id: string, tx: PgClient): Promise<string> =>
    store.transactions!.write(tx, [
      { kind: 'settle', request: { ...lease(jobs.find((job) => job.id === id)!), event: 'COMPLETE', to: 'done' } },
    ])
  const refused = { code: 'NOT_ACCEPTED' }

  await pg.query('BEGIN')
  await end('within', pg)
  await expect(end('within', pg)).rejects.toMatchObject(refused)
  await pg.query('ROLLBACK')
  await inTransaction((tx) => end('within', tx))

  await Promise.all([pg.query('BEGIN'), other.query('BEGIN')])
  await end('beside', pg)
  await expect(end('beside', other)).rejects.toMatchObject(refused)
  await Promise.all([pg.query('COMMIT'), other.query('ROLLBACK')])

  await inTransaction((tx) => end('behind', tx))
  await expect(inTransaction((tx) => end('behind', tx))).rejects.toMatchObject(refused)

  await other.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await other.query('SELECT 1')
  await inTransaction((tx) => end('snapshot', tx))
  await expect(end('snapshot', other)).rejects.toMatchObject({ code: '40001' })
  await other.query('ROLLBACK')

  await inTransaction(async (tx) => {
    await tx.query('SAVEPOINT a')
    await end('savepoint', tx)
    await tx.query('ROLLBACK TO a')
    await end('savepoint', tx)
  })
  expect(await store.transactions!.carryOut(10)).toMatchObject({ count: ids.length, refused: [] })
  expect((await store.counts()).done).toBe(ids.length)
  const { rows } = await pg.query(`SELECT kind FROM ${schema}.cells WHERE kind IN ('intents', 'fences')`)
  expect(rows).toEqual([])
})

/** @returns a job whose handler has completed it in a transaction that is open until `commit` */
async function withOpenEnd(runtime: Runtime) {
  const { opened, commit } = openEnd()
  const job = await runtime.enqueue(work, 'open', { unique: { key: 'one' } })
  await opened
  return { job, commit }
}

/** The handler of `open` completes it in a transaction that is open until `commit`. */
function openEnd() {
  const opened = Promise.withResolvers<void>()
  const committing = Promise.withResolvers<void>()
  handler = async (input, ctx) => {
    if (input !== 'open') return input
    await inTransaction(async (tx) => {
      await ctx.complete(tx, 'kept')
      opened.resolve()
      await committing.promise
    })
    return 'ignored'
  }
  return { opened: opened.promise, commit: committing.resolve }
}

test('while the end of a job is open, what would end it is left for later, and holds up nobody', async () => {
  const other = new PgClient(server().url)
  await other.connect()
  onTestFinished(() => other.end())
  const runtime = await started()
  const within = async <T>(call: (tx: PgClient) => Promise<T>): Promise<T> => {
    await other.query('BEGIN')
    const answer = await call(other)
    await other.query('COMMIT')
    return answer
  }
  const { job, commit } = await withOpenEnd(runtime)
  const supersede = { unique: { key: 'one', onConflict: 'supersede' } } as const
  const next = await within((tx) => runtime.enqueue(work, 'next', { ...supersede, tx }))
  await within((tx) => runtime.cancel(job.id, { tx }))
  const free = await within((tx) => runtime.enqueue(work, 'free', { tx }))
  expect(await free.result({ timeout: '20s' })).toBe('free')
  await expect(next.stored({ timeout: 1 })).rejects.toMatchObject({ code: 'TIMEOUT' })
  expect(warnings).toEqual([])
  commit()
  expect(await job.result()).toBe('kept')
  expect(await next.result()).toBe('next')
  expect([next.outcome, (await job.record()).state]).toEqual(['inserted', 'done'])
})

test('a cancel of a job whose end is open, and an enqueue that supersedes it, are refused after a second, and hold up no other call', async () => {
  const runtime = await started()
  const { job, commit } = await withOpenEnd(runtime)
  const from = performance.now()
  const refused: string[] = []
  const refusals = [
    runtime.cancel(job.id),
    runtime.enqueue(work, 'next', { unique: { key: 'one', onConflict: 'supersede' } }),
  ].map((call) =>
    call.then(
      () => 'done',
      (error: JobchartError) => void refused.push(error.code),
    ),
  )
  const free = await runtime.enqueue(work, 'free')
  expect(await free.result()).toBe('free')
  expect(refused).toEqual([])
  await Promise.all(refusals)
  expect(refused).toEqual(['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'])
  expect(performance.now() - from).toBeLessThan(3_000)
  commit()
  expect(await job.result()).toBe('kept')
})

test('a cancel, and an enqueue that supersedes, take effect if the end of the job is not open any more within a second', async () => {
  const runtime = await started()
  const { job, commit } = await withOpenEnd(runtime)
  const cancelled = runtime.cancel(job.id)
  const superseding = runtime.enqueue(work, 'next', { unique: { key: 'one', onConflict: 'supersede' } })
  expect(await (await runtime.enqueue(work, 'free')).result()).toBe('free')
  commit()
  expect(await cancelled).toMatchObject({ finished: [job.id] })
  const next = await superseding
  expect([next.outcome, await next.result(), await job.result()]).toEqual(['inserted', 'next', 'kept'])
})

test('a machine that leaves a child whose end is open waits for it, and spends no attempt', async () => {
  const store = postgresStore({ url: server().url, schema })
  const cancel = vi.spyOn(store, 'cancel')
  const runtime = await started('30s', store)
  const { opened, commit } = openEnd()
  const job = await runtime.enqueue(leavesJob, undefined)
  await opened
  await job.send({ type: 'LEAVE' })
  await expect.poll(() => cancel.mock.calls.length, { timeout: 20_000 }).toBeGreaterThan(2)
  expect((await job.record()).state).toBe('running')
  commit()
  await job.result()
  expect(await job.snapshot()).toMatchObject({ value: 'undone' })
  expect(await runtime.list({ type: 'work' })).toMatchObject([{ state: 'done', output: 'kept' }])
})

test('calls that are left for later keep their places, and however many there are, the others are carried out', async () => {
  const store = postgresStore({ url: server().url, schema })
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  await put(store, newJob('held'))
  const { jobs } = await ask(store)
  const other = new PgClient(server().url)
  await other.connect()
  onTestFinished(() => other.end())
  const transactions = store.transactions!
  await other.query('BEGIN')
  const end: TxIntent = { kind: 'settle', request: { ...lease(jobs[0]!), event: 'COMPLETE', to: 'done' } }
  await transactions.write(other, [end])
  const cancel = { kind: 'cancel', request: { ids: ['held'], reason: null, graceMs: 0 } } as const
  const inserted = (id: string): TxIntent => ({ kind: 'insert', request: { jobs: [newJob(id)], capacity: null } })
  for (const intent of [cancel, cancel, inserted('first'), inserted('second')]) {
    await inTransaction((tx) => transactions.write(tx, [intent]))
  }
  const held = [{ kind: 'cancel' }, { kind: 'cancel' }]
  expect(await transactions.carryOut(1)).toMatchObject({ count: 1, held, more: true })
  expect(await transactions.carryOut(1)).toMatchObject({ count: 1, held, more: true })
  expect(await transactions.carryOut(1)).toMatchObject({ count: 0, held, more: false })
  expect((await store.list({ order: 'newest', fields: ['id'] })).map(({ id }) => id)).toEqual([
    'second',
    'first',
    'held',
  ])
  await other.query('COMMIT')
  expect(await transactions.carryOut(10)).toMatchObject({ count: 3, held: [], refused: [], more: false })
  expect((await recordOf(store, 'held')).state).toBe('done')
})
