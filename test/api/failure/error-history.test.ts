import { defineJob } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const start = Date.UTC(2026, 0, 1)

test('every failed attempt is kept with its error, its times and its worker', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { maxAttempts: 4, backoff: () => '1m' },
    run: async (_input, { attempt, signal }) => {
      await clock.sleep('10s', signal)
      throw Object.assign(new TypeError(`no ${attempt}`), { code: `E${attempt}` })
    },
  })
  const one = await runtime({ jobs: [job] })
  const handle = await one.enqueue(job)
  await clock.advance('30s')
  await one.pause()
  const two = await runtime({ jobs: [job] })
  await clock.advance('10m')
  const { errors, error, state } = await handle.record()
  expect(state).toBe('dead')
  expect(errors).toMatchObject([
    { attempt: 1, generation: 1, startedAt: start, failedAt: start + 10_000, worker: one.id },
    { attempt: 2, generation: 1, startedAt: start + 70_000, failedAt: start + 80_000, worker: two.id },
    { attempt: 3, generation: 1, startedAt: start + 140_000, failedAt: start + 150_000, worker: two.id },
    { attempt: 4, generation: 1, startedAt: start + 210_000, failedAt: start + 220_000, worker: two.id },
  ])
  expect(errors.map((each) => [each.error.name, each.error.message, each.error.code])).toEqual(
    [1, 2, 3, 4].map((n) => ['TypeError', `no ${n}`, `E${n}`]),
  )
  expect(errors[0]?.error.stack).toContain('error-history.test.ts')
  expect(error).toEqual(errors[3]?.error)
})

test('the chain of causes is kept, and comes back to who waits for the result', async () => {
  const { clock, runtime } = world()
  const root = Object.assign(new Error('ECONNREFUSED 10.0.0.7'), { code: 'ECONNREFUSED' })
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { maxAttempts: 1 },
    run: () => {
      throw new Error('could not pay', { cause: new Error('the bank does not answer', { cause: root }) })
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.settle()
  const chain = {
    message: 'could not pay',
    cause: { message: 'the bank does not answer', cause: { message: 'ECONNREFUSED 10.0.0.7', code: 'ECONNREFUSED' } },
  }
  expect((await handle.record()).error).toMatchObject(chain)
  const thrown = (await handle.result().catch((error: unknown) => error)) as Error
  expect(thrown).toMatchObject({ name: 'JobDeadError', jobId: handle.id, cause: chain })
  expect((thrown.cause as Error).cause).toBeInstanceOf(Error)
})

test('the last twenty errors are kept', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { maxAttempts: 30, backoff: () => 1 },
    run: (_input, { attempt }) => {
      throw new Error(String(attempt))
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1s')
  const { errors, attempt } = await handle.record()
  expect([attempt, errors.length, errors[0]?.attempt, errors[19]?.attempt]).toEqual([30, 20, 11, 30])
})

test('errors of earlier generations stay', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { maxAttempts: 1 },
    run: (_input, { job: { generation } }) => {
      throw new Error(`generation ${generation}`)
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.settle()
  await handle.retry()
  await clock.settle()
  const { errors } = await handle.record()
  expect(errors.map((each) => [each.generation, each.attempt, each.error.message])).toEqual([
    [1, 1, 'generation 1'],
    [2, 1, 'generation 2'],
  ])
})

test('a job that succeeds in the end keeps its errors, but has none', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { backoff: () => 1 },
    run: (_input, { attempt }) => {
      if (attempt === 1) throw new Error('no')
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance(1)
  expect(await handle.record()).toMatchObject({ state: 'done', error: null, errors: [{ attempt: 1 }] })
})

test('the error of an event is the one that is kept', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { maxAttempts: 1 },
    run: () => Promise.reject(new Error('no')),
  })
  const worker = await runtime({ jobs: [job] })
  const errors: unknown[] = []
  worker.events$.subscribe(({ event, error }) => event === 'FAIL' && errors.push(error))
  const handle = await worker.enqueue(job)
  await clock.settle()
  expect(errors).toEqual([(await handle.record()).error])
})
