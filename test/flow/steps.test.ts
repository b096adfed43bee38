import { defineJob, memoryStore } from 'jobchart'
import { faultyStore } from 'jobchart/testing'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

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

test('the same name at the same time is one step, which all who ask wait for', async () => {
  const { clock, runtime } = world()
  let runs = 0
  const job = defineJob<undefined, unknown>({
    type: 'job',
    run: async (_input, { step, signal }) => {
      const work = () => clock.sleep('1s', signal).then(() => ({ run: ++runs }))
      const [a, b] = await Promise.all([step('same', work), step('same', work)])
      a.run = 99
      return [a, b, await step('same', work)]
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  // Each has a copy of its own: what one does to it is not seen by the others.
  expect(await handle.result()).toEqual([{ run: 99 }, { run: 1 }, { run: 1 }])
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

test('a step of a run that has lost its job is refused', async () => {
  const { clock, runtime } = world()
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const errors: unknown[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    timeout: '1s',
    retry: { maxAttempts: 1 },
    run: async (_input, { step }) => {
      await gate
      await step('late', () => 1).catch((error: unknown) => errors.push(error))
    },
  })
  await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('10s')
  open()
  await clock.settle()
  expect(errors).toMatchObject([{ code: 'LEASE_LOST', hint: expect.any(String) }])
})
