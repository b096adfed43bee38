/** Ends of attempts, and steps, in the handler's own transaction on SQLite. */
import {
  createRuntime,
  defineJob,
  durable,
  fatal,
  type JobchartError,
  type JobDefinition,
  type RunContext,
  type Runtime,
} from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import type { NewJob, Store, TxIntent } from 'jobchart/store'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { setup } from 'xstate'
import { systemClock } from '../../../src/core/clock.ts'
import { ask, lease, newJob, put, recordOf } from '../../../src/store-testing/conformance/acts.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { inFolder, sqliteLibraries, type UserDatabaseOfTest } from '../../support/user-databases.ts'

type Handler = (input: unknown, ctx: RunContext) => Promise<unknown>

describe.each(sqliteLibraries)('on $name', ({ open }) => {
  let folder: ReturnType<typeof temporaryFolder>
  let own: UserDatabaseOfTest
  let handler: Handler
  const runtimes: Runtime[] = []
  const warnings: string[] = []
  const seen: unknown[] = []

  const work: JobDefinition<unknown, unknown> = defineJob<unknown, unknown>({
    type: 'work',
    retry: { maxAttempts: 3, backoff: () => 0 },
    run: (input, ctx) => handler(input, ctx),
  })
  const child = defineJob<number, number>({ type: 'child', run: async (input) => input })

  /** Its first attempt rolls back, its second one commits and fails, its third one finds the result. */
  const charge = durable<number>(
    async ({ step, attempt }) => {
      await inTransaction(async () => {
        const charged = await step('charge', async () => (add(attempt), attempt), { tx: own.database })
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

  beforeEach(() => {
    folder = temporaryFolder()
    own = open(inFolder(folder.path))
    own.exec('CREATE TABLE effects (attempt INTEGER)')
    warnings.length = seen.length = 0
  })

  afterEach(async () => {
    await Promise.all(runtimes.splice(0).map((runtime) => runtime.stop({ mode: 'abort', grace: 0 })))
    own.close()
    folder.remove()
  })

  async function started(): Promise<Runtime> {
    const runtime = createRuntime({
      jobs: [work, child, chargeJob],
      store: sqliteStore({ database: own.database }),
      logger: { warn: (message) => warnings.push(message), error: (message) => warnings.push(message) },
    })
    runtimes.push(runtime)
    await runtime.start()
    return runtime
  }

  /** Commits, or rolls back if `body` throws. */
  async function inTransaction(body: () => Promise<unknown> | void): Promise<void> {
    own.exec('BEGIN IMMEDIATE')
    try {
      await body()
      own.exec('COMMIT')
    } catch (error) {
      try {
        own.exec('ROLLBACK')
      } catch {
        // The store has done it.
      }
      throw error
    }
  }

  const add = (attempt: number): void => own.exec(`INSERT INTO effects VALUES (${attempt})`)
  const effects = (): unknown[] => own.rows('SELECT attempt FROM effects ORDER BY attempt').flat()

  test('a job is done with the writes of its handler, and its return value is ignored', async () => {
    handler = async (input, ctx) => {
      ctx.log('hello')
      await inTransaction(async () => {
        add(ctx.attempt)
        if (input === 'now') ctx.within(own.database).complete({ ok: true })
        else await ctx.complete(own.database, { ok: true })
      })
      return 'ignored'
    }
    const runtime = await started()
    const events: string[] = []
    runtime.events$.subscribe(({ event }) => events.push(event))
    for (const input of ['later', 'now']) {
      const job = await runtime.enqueue(work, input)
      expect(await job.result()).toEqual({ ok: true })
      const { state, attempt, logs } = await job.record()
      expect([state, attempt, logs.map(({ message }) => message)]).toEqual(['done', 1, ['hello']])
    }
    await expect.poll(() => events.filter((event) => event === 'COMPLETE')).toHaveLength(2)
    expect(effects()).toEqual([1, 1])
  })

  test('a transaction that is rolled back makes the attempt fail with its error, and the effect happens once', async () => {
    handler = (_, ctx) =>
      inTransaction(() => {
        add(ctx.attempt)
        ctx.within(own.database).complete(ctx.attempt)
        if (ctx.attempt === 1) throw new Error('after complete')
      })
    const job = await (await started()).enqueue(work, 1)
    expect(await job.result()).toBe(2)
    expect((await job.record()).errors.map(({ error }) => error.message)).toEqual(['after complete'])
    expect(effects()).toEqual([2])
  })

  test('a handler that returns although its transaction was rolled back has failed with NOT_COMMITTED', async () => {
    handler = async (_, ctx) => {
      await inTransaction(async () => {
        add(ctx.attempt)
        await ctx.complete(own.database, ctx.attempt)
        if (ctx.attempt === 1) throw new Error('swallowed')
      }).catch(() => {})
    }
    const job = await (await started()).enqueue(work, 1)
    expect(await job.result()).toBe(2)
    expect((await job.record()).errors.map(({ error }) => error)).toMatchObject([
      { code: 'NOT_COMMITTED', message: expect.stringContaining('or its savepoint') },
    ])
    expect(effects()).toEqual([2])
  })

  test('what a handler calls after its commit is refused because the attempt has ended', async () => {
    let refusal: unknown
    const end = Promise.withResolvers<void>()
    handler = async (_, ctx) => {
      await inTransaction(() => ctx.complete(own.database, 1))
      refusal = await ctx.step('late', () => 1).catch((error: unknown) => error)
      end.resolve()
    }
    const job = await (await started()).enqueue(work, 1)
    expect(await job.result()).toBe(1)
    await end.promise
    expect(refusal).toMatchObject({ code: 'LEASE_LOST', hint: expect.stringContaining('after the commit') })
  })

  test('a handler that throws after its commit has completed its job', async () => {
    handler = async (_, ctx) => {
      await inTransaction(() => {
        add(ctx.attempt)
        ctx.within(own.database).complete(ctx.attempt)
      })
      throw fatal(new Error('too late'))
    }
    const job = await (await started()).enqueue(work, 1)
    expect(await job.result()).toBe(1)
    expect((await job.record()).errors).toEqual([])
    await expect.poll(() => warnings).toContainEqual(expect.stringContaining('the commit counts'))
    expect(effects()).toEqual([1])
  })

  test('a handler that ends before its transaction is asked for until it has ended', async () => {
    let hasThrown: () => void = () => {}
    const throwing = new Promise<void>((resolve) => (hasThrown = resolve))
    handler = async (_, ctx) => {
      own.exec('BEGIN IMMEDIATE')
      add(ctx.attempt)
      await ctx.complete(own.database, ctx.attempt)
      setImmediate(hasThrown)
      throw new Error('before the commit')
    }
    const job = await (await started()).enqueue(work, 1)
    await throwing
    own.exec('COMMIT')
    expect(await job.result()).toBe(1)
    expect(effects()).toEqual([1])
  })

  test('an attempt fails, or is postponed, with the transaction of its handler', async () => {
    handler = async (_, ctx) => {
      await inTransaction(async () => {
        add(ctx.attempt)
        const isPostponed = ctx.job.history.some(({ event }) => event === 'SNOOZE')
        if (!isPostponed) await ctx.snooze(own.database, '1ms')
        else if (ctx.attempt === 1) ctx.within(own.database).fail(new Error('with its row'))
        else await ctx.complete(own.database, 'third')
      })
    }
    const job = await (await started()).enqueue(work, 1)
    expect(await job.result()).toBe('third')
    expect((await job.record()).errors.map(({ error }) => error.message)).toEqual(['with its row'])
    expect(effects()).toEqual([1, 1, 2])
  })

  test('a job that a handler enqueues in its transaction is there once, with what it inherits', async () => {
    handler = (_, ctx) =>
      inTransaction(async () => {
        add(ctx.attempt)
        ctx.within(own.database).enqueue(child, 7)
        await ctx.enqueue(child, 8, { tx: own.database })
        if (ctx.attempt === 1) throw new Error('rolled back')
        ctx.within(own.database).complete()
      })
    const runtime = await started()
    const job = await runtime.enqueue(work, 1, { tags: ['t'] })
    await job.result()
    await expect.poll(async () => (await runtime.counts()).types['child']?.done).toBe(2)
    expect((await runtime.list({ type: 'child' })).map(({ tags }) => tags)).toEqual([['t'], ['t']])
  })

  test('a step is kept with its rows, or neither, also in a durable promise of a machine', async () => {
    handler = async (_, ctx) => {
      const step = (name: string, fails: boolean): Promise<void> =>
        inTransaction(async () => {
          await ctx.step(name, async () => (add(ctx.attempt), ctx.attempt), { tx: own.database })
          if (fails) throw new Error(`${name} is rolled back`)
        })
      await step('kept', false)
      await step('undone', ctx.attempt === 1)
      if (ctx.attempt === 2) throw new Error('again')
      return ctx.step('kept', () => 0).catch((error: unknown) => (error as JobchartError).code)
    }
    const runtime = await started()
    const job = await runtime.enqueue(work, 1)
    expect(await job.result()).toBe('DUPLICATE_STEP')
    expect(effects()).toEqual([1, 2])
    await (await runtime.enqueue(chargeJob)).result()
    expect(effects()).toEqual([1, 2, 2])
    expect(seen).toEqual([1, 2, 2])
  })

  test('a stale token raises, and its transaction cannot be committed', async () => {
    const codes: unknown[] = []
    let begun: () => void = () => {}
    const hasBegun = new Promise<void>((resolve) => (begun = resolve))
    let goOn: () => void = () => {}
    const goingOn = new Promise<void>((resolve) => (goOn = resolve))
    handler = async (_, ctx) => {
      begun()
      await goingOn
      own.exec('BEGIN IMMEDIATE')
      add(ctx.attempt)
      await ctx.complete(own.database).catch((error: unknown) => codes.push((error as JobchartError).code))
      expect(() => own.exec('COMMIT')).toThrow(/no transaction is active/)
    }
    const runtime = await started()
    const job = await runtime.enqueue(work, 1)
    await hasBegun
    // As if another process had done it: the signal of this run does not abort.
    await runtime.store.cancel([{ ids: [job.id], reason: 'no', graceMs: 60_000 }])
    goOn()
    await expect(job.result()).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(codes).toEqual([expect.stringMatching(/LEASE_LOST|CANCELLED/)])
    expect(effects()).toEqual([])
  })

  test('an attempt has one end: another one is refused in its transaction, and after it', async () => {
    const codes: unknown[] = []
    const end = (ctx: RunContext, n: number): void => {
      add(n)
      ctx.within(own.database).complete(n)
    }
    const refused = (error: unknown): void => void codes.push((error as JobchartError).code)
    handler = async (_, ctx) => {
      await inTransaction(() => {
        end(ctx, 1)
        end(ctx, 2)
      }).catch(refused)
      for (const n of [3, 4]) await inTransaction(() => end(ctx, n)).catch(refused)
    }
    const job = await (await started()).enqueue(work, 1, { id: 'a\0b' })
    expect(await job.result()).toBe(3)
    expect(codes).toEqual(['NOT_ACCEPTED', 'NOT_ACCEPTED'])
    expect(effects()).toEqual([3])
  })

  test('a commit whose process has ended at once counts, although the lease expires before it is carried out', async () => {
    const opened = async (database: UserDatabaseOfTest): Promise<Store> => {
      const store = sqliteStore({ database: database.database })
      await store.open({ clock: systemClock })
      onTestFinished(() => store.close())
      return store
    }
    const second = open(inFolder(folder.path))
    onTestFinished(() => second.close())
    const [store, other] = [await opened(own), await opened(second)]
    const [expired, settled, stale] = ['expired', 'settled', 'stale'].map((id) => newJob(id)) as [
      NewJob,
      NewJob,
      NewJob,
    ]
    await put(store, expired, settled, stale)
    const { jobs } = await ask(store, { leaseMs: 1, token: 'first token' })
    const ends = jobs.map((job): TxIntent & { kind: 'settle' } => {
      return { kind: 'settle', request: { ...lease(job), event: 'COMPLETE', to: 'done', output: 'kept' } }
    })
    const write = (end: TxIntent): string => store.transactions!.synchronous!.write(own.database, [end])
    // What `ctx.complete` writes; nobody watches it.
    for (const end of ends.slice(0, 2)) await inTransaction(() => void write(end))
    await expect.poll(async () => (await other.rescue(10)).transitions.map(({ id }) => id)).toEqual(['stale'])
    // The other process has rescued it: what this one remembers is read again.
    await expect(inTransaction(() => void write(ends[2]!))).rejects.toMatchObject({ code: 'LEASE_LOST' })
    // Whoever settles it again gets the answer that it has had.
    expect(await store.settle([{ ...ends[1]!.request, event: 'FAIL', to: 'retrying' }])).toMatchObject([
      { outcome: 'settled', to: 'done' },
    ])
    for (const id of ['expired', 'settled']) {
      const { state, output, history } = await recordOf(store, id)
      const events = history.map(({ event }) => event)
      expect([state, output, events]).toEqual(['done', 'kept', ['ENQUEUE', 'CLAIM', 'COMPLETE']])
    }
    expect((await store.transactions?.carryOut(10))?.count).toBe(0)
  })
})
