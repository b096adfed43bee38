import { defineJob, memoryStore, type JobchartError } from 'jobchart'
import { faultyStore } from 'jobchart/testing'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

test('a finished step is not run again by a retry: its result is given back', async () => {
  const { clock, runtime } = world()
  const did: string[] = []
  const order = defineJob<undefined, string>({
    type: 'order',
    retry: { backoff: () => '1s' },
    run: async (_input, { step, attempt }) => {
      const paid = await step('pay', () => (did.push('pay'), { receipt: 7 }))
      const sent = await step('send', async () => (did.push('send'), `parcel ${paid.receipt}`))
      if (attempt < 3) throw new Error('the label printer is out of paper')
      return sent
    },
  })
  const handle = await (await runtime({ jobs: [order] })).enqueue(order)
  await clock.advance('1m')
  expect(await handle.result()).toBe('parcel 7')
  expect(did).toEqual(['pay', 'send'])
})

test('nor by another runtime that takes over', async () => {
  const { clock, runtime } = world()
  const did: string[] = []
  const define = (then: (signal: AbortSignal) => Promise<void>) =>
    defineJob<undefined, number>({
      type: 'job',
      run: async (_input, { step, signal }) => {
        const n = await step('count', () => did.push('count'))
        await then(signal)
        return n
      },
    })
  const hanging = define((signal) => clock.sleep('1h', signal))
  const ending = define(async () => {})
  const first = await runtime({ jobs: [hanging] })
  const handle = await first.enqueue(hanging)
  await clock.settle()
  await first.stop({ mode: 'abort' })
  const second = await runtime({ jobs: [ending] })
  expect(await (await second.job(handle.id))?.result()).toBe(1)
  expect(did).toEqual(['count'])
})

test('a step without a result is finished too, and null is not undefined', async () => {
  const { clock, runtime } = world()
  const seen: unknown[] = []
  let runs = 0
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { backoff: () => '1s' },
    run: async (_input, { step, attempt }) => {
      seen.push(
        await step('nothing', () => void runs++),
        await step('null', () => (runs++, null)),
        await step('', () => (runs++, [])),
      )
      if (attempt === 1) throw new Error('again')
    },
  })
  await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  expect(runs).toBe(3)
  expect(seen).toEqual([undefined, null, [], undefined, null, []])
})

test('a step that fails fails the attempt, is not stored, and runs again', async () => {
  const { clock, runtime } = world()
  let runs = 0
  const job = defineJob<undefined, number>({
    type: 'job',
    retry: { backoff: () => '1s' },
    run: async (_input, { step }) =>
      step('flaky', () => {
        if (++runs < 3) throw new Error(`no ${runs}`)
        return runs
      }),
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  expect(await handle.result()).toBe(3)
  expect((await handle.record()).errors.map(({ error }) => error.message)).toEqual(['no 1', 'no 2'])
})

test('a step that failed may be tried again within the attempt', async () => {
  const { runtime } = world()
  let runs = 0
  const job = defineJob<undefined, number>({
    type: 'job',
    run: async (_input, { step }) => {
      const work = () => (++runs === 1 ? Promise.reject(new Error('no')) : runs)
      return step('a', work).catch(() => step('a', work))
    },
  })
  expect(await (await runtime({ jobs: [job] })).run(job)).toBe(2)
})

test('a name that was used before in the attempt is refused, and the second work is not skipped unseen', async () => {
  const { clock, runtime } = world()
  const charged: string[] = []
  const job = defineJob<string[], void>({
    type: 'job',
    retry: { maxAttempts: 1 },
    run: async (orders, { step }) => {
      for (const order of orders) await step('charge', () => void charged.push(order))
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job, ['a', 'b'])
  await clock.settle()
  const { state, error } = await handle.record()
  expect([charged, state]).toEqual([['a'], 'dead'])
  expect(error).toMatchObject({ code: 'DUPLICATE_STEP', message: expect.stringContaining('"charge"') })
})

test('a name that a retry finds stored is refused the second time, too', async () => {
  const { clock, runtime } = world()
  const codes: unknown[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { maxAttempts: 2, backoff: () => 1 },
    run: async (_input, { step }) => {
      await step('a', () => 1)
      await step('a', () => 2).catch((error: JobchartError) => codes.push(error.code))
      throw new Error('again')
    },
  })
  await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  expect(codes).toEqual(['DUPLICATE_STEP', 'DUPLICATE_STEP'])
})

test('of two calls of one name at the same time the second is refused, with a hint that says how', async () => {
  const { clock, runtime } = world()
  let runs = 0
  const job = defineJob<undefined, unknown>({
    type: 'job',
    run: async (_input, { step, signal }) => {
      const work = () => clock.sleep('1s', signal).then(() => ++runs)
      const [a, b] = await Promise.allSettled([step('same', work), step('same', work)])
      return [a.status, b.status === 'rejected' && (b.reason as JobchartError).hint]
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  expect(await handle.result()).toEqual(['fulfilled', expect.stringContaining('`charge:${order.id}`')])
  expect(runs).toBe(1)
})

test('what a handler does to the result of a step is not stored', async () => {
  const { clock, runtime } = world()
  const seen: unknown[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { backoff: () => '1s' },
    run: async (_input, { step, attempt }) => {
      const result = await step('a', () => ({ n: 1 }))
      seen.push({ ...result })
      result.n = 99
      if (attempt === 1) throw new Error('again')
    },
  })
  await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  expect(seen).toEqual([{ n: 1 }, { n: 1 }])
})

test('a name that is no text, too long or not well-formed is refused before the work', async () => {
  const { clock, runtime } = world()
  let runs = 0
  const codes: unknown[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    run: async (_input, { step }) => {
      for (const name of [7 as unknown as string, 'x'.repeat(201), '\ud800']) {
        await step(name, () => runs++).catch((error: JobchartError) => codes.push(error.code))
      }
      await step('x'.repeat(200), () => runs++)
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.settle()
  expect((await handle.record()).state).toBe('done')
  expect([runs, codes]).toEqual([1, ['INVALID_OPTION', 'INVALID_OPTION', 'INVALID_OPTION']])
})

test('beyond the limits of number and size no further step begins; finished ones still count in a retry', async () => {
  const store = memoryStore()
  const { clock, runtime } = world({ store })
  const codes: unknown[] = []
  const many = defineJob<{ steps: number; size: number }, void>({
    type: 'many',
    retry: { maxAttempts: 2, backoff: () => 1 },
    run: async ({ steps, size }, { step }) => {
      const result = 'x'.repeat(size)
      await Promise.all(Array.from({ length: steps }, (_, n) => step(`${n}`, () => result)))
      await step('one more', () => 1).catch((error: JobchartError) => codes.push(error.code))
      throw new Error('again')
    },
  })
  const worker = await runtime({ jobs: [many] })
  await worker.enqueue(many, { steps: 10_000, size: 1 })
  await worker.enqueue(many, { steps: 17, size: 1_000_000 })
  await clock.advance('1m')
  expect(codes).toEqual(Array.from({ length: 4 }, () => 'TOO_MANY_STEPS'))
})

test('no step begins after the signal has aborted', async () => {
  const { clock, runtime } = world()
  const did: string[] = []
  const codes: unknown[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    run: async (_input, { step, signal }) => {
      await step('first', async () => {
        await clock.sleep('1h', signal).catch(() => {})
        did.push('first')
      })
      await step('second', () => void did.push('second')).catch((error: JobchartError) => codes.push(error.code))
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1s')
  await handle.cancel()
  await clock.advance('1s')
  expect([did, codes]).toEqual([['first'], ['CANCELLED']])
  expect((await handle.record()).state).toBe('cancelled')
})

test('nor in a run whose lease ran out on a shared store while its process was blocked, although no heartbeat has noticed', async () => {
  const { clock, runtime } = world({ store: { ...memoryStore(), capabilities: { durable: true, shared: true } } })
  const did: string[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { maxAttempts: 1 },
    run: async (_input, { step, attempt, signal }) => {
      await step('first', () => void did.push('first'))
      clock.block('1h')
      await step('second', () => void did.push(`second of ${attempt}`)).catch((error: JobchartError) => {
        did.push(error.code, `aborted: ${signal.aborted}`)
      })
    },
  })
  await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  expect(did).toEqual(['first', 'LEASE_LOST', 'aborted: true'])
})

test('steps of different names run side by side', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, string[]>({
    type: 'job',
    run: (_input, { step, signal }) =>
      Promise.all(
        ['a', 'b', '__proto__', 'constructor'].map((name) =>
          step(name, () => clock.sleep('1m', signal).then(() => name)),
        ),
      ),
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  expect(await handle.result()).toEqual(['a', 'b', '__proto__', 'constructor'])
})

test('names that every object has are names like any other', async () => {
  const { clock, runtime } = world()
  let runs = 0
  const job = defineJob<undefined, unknown[]>({
    type: 'job',
    retry: { backoff: () => '1s' },
    run: async (_input, { step, attempt }) => {
      const values = []
      const names = ['first', '__proto__', 'constructor', 'toString'].slice(0, 2 * attempt)
      for (const name of names) values.push(await step(name, () => ++runs))
      if (attempt < 3) throw new Error('again')
      return values
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  expect(await handle.result()).toEqual([1, 2, 3, 4])
})

test('a result that is not JSON fails the step', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { maxAttempts: 1 },
    run: async (_input, { step }) => void (await step('big', () => 1n)),
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.settle()
  expect(await handle.record()).toMatchObject({ state: 'dead', error: { code: 'INVALID_OUTPUT' } })
})

test('a new generation begins all of its steps anew', async () => {
  const { clock, runtime } = world()
  let runs = 0
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { maxAttempts: 1 },
    run: async (_input, { step, job: { generation } }) => {
      await step('a', () => void runs++)
      if (generation === 1) throw new Error('no')
    },
  })
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job)
  await clock.settle()
  await handle.retry()
  await clock.settle()
  expect((await handle.record()).state).toBe('done')
  expect(runs).toBe(2)
})

test('a step whose result does not reach the store at first is not done twice', async () => {
  const store = faultyStore(memoryStore(), { seed: 1, faults: { extend: { before: 0.5, lostReply: 0.3 } } })
  const { clock, runtime } = world({ store })
  let runs = 0
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { backoff: () => '1s' },
    run: async (_input, { step, attempt }) => {
      for (let n = 0; n < 10; n++) await step(`step ${n}`, () => void runs++)
      if (attempt === 1) throw new Error('again')
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('5m')
  expect(await handle.record()).toMatchObject({ state: 'done', attempt: 2 })
  expect(runs).toBe(10)
})

test('a step of a run that has timed out is refused, and its work does not begin', async () => {
  const { clock, runtime } = world()
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const errors: unknown[] = []
  let runs = 0
  const job = defineJob<undefined, void>({
    type: 'job',
    attemptTimeout: '1s',
    retry: { maxAttempts: 1 },
    run: async (_input, { step }) => {
      await gate
      await step('late', () => runs++).catch((error: unknown) => errors.push(error))
    },
  })
  await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('10s')
  open()
  await clock.settle()
  expect([errors, runs]).toMatchObject([[{ code: 'TIMEOUT' }], 0])
})

test('a step of a run that has ended is refused', async () => {
  const { clock, runtime } = world()
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const errors: unknown[] = []
  let runs = 0
  const job = defineJob<undefined, void>({
    type: 'job',
    run: (_input, { step }) => {
      void gate.then(() => step('late', () => runs++)).catch((error: unknown) => errors.push(error))
    },
  })
  await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.settle()
  open()
  await clock.settle()
  expect([errors, runs]).toMatchObject([[{ code: 'NOT_ACCEPTED', hint: expect.any(String) }], 0])
})

test('a step whose run ends during its work says so, and does not speak of a lost lease', async () => {
  const { clock, runtime } = world()
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const errors: unknown[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    run: (_input, { step }) => {
      void step('late', () => gate).catch((error: unknown) => errors.push(error))
    },
  })
  await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.settle()
  open()
  await clock.settle()
  expect(errors).toMatchObject([{ code: 'NOT_ACCEPTED', hint: expect.stringContaining('Await ctx.step') }])
})
