import { AbortError, defineJob, JobCancelledError, JobDeadError, memoryStore, TimeoutError, type Store } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

function setUp() {
  const made = world()
  const job = defineJob<string, string>({
    type: 'job',
    retry: { maxAttempts: 1 },
    run: async (name, { signal }) => {
      if (name === 'fail') throw new Error('no')
      await made.clock.sleep('1m', signal)
      return name
    },
  })
  return { ...made, job }
}

test('result resolves with the output, for all who wait and as often as it is asked', async () => {
  const { clock, runtime, job } = setUp()
  const handle = await (await runtime({ jobs: [job] })).enqueue(job, 'x')
  const before = [handle.result(), handle.result()]
  await clock.advance('1m')
  expect(await Promise.all([...before, handle.result()])).toEqual(['x', 'x', 'x'])
})

test('result rejects with what became of the job', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const [failed, cancelled] = await worker.enqueueMany(job, ['fail', 'cancel'])
  await clock.settle()
  await cancelled?.cancel({ reason: 'not needed' })
  await clock.settle()
  const dead = await failed?.result().catch((error: unknown) => error)
  expect(dead).toBeInstanceOf(JobDeadError)
  expect(dead).toMatchObject({ code: 'DEAD', jobId: failed?.id, hint: expect.any(String), cause: { message: 'no' } })
  const gone = await cancelled?.result().catch((error: unknown) => error)
  expect(gone).toBeInstanceOf(JobCancelledError)
  expect(gone).toMatchObject({ code: 'CANCELLED', jobId: cancelled?.id, reason: 'not needed' })
})

test('a timeout ends the wait, not the job, and leaves no timer', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job, 'x')
  await clock.settle()
  const before = clock.pending
  const waiting = handle.result({ timeout: '10s' }).catch((error: unknown) => error)
  await clock.advance('10s')
  expect(await waiting).toBeInstanceOf(TimeoutError)
  expect(clock.pending).toBe(before)
  await clock.advance('1m')
  expect(await handle.result({ timeout: '10s' })).toBe('x')
  expect((await handle.record()).state).toBe('done')
})

test('a result that is in time leaves no timer either', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const before = clock.pending
  const handle = await worker.enqueue(job, 'x')
  const waiting = handle.result({ timeout: '1h' })
  await clock.advance('1m')
  await waiting
  expect(clock.pending).toBe(before)
})

test('a signal ends the wait, not the job', async () => {
  const { clock, runtime, job } = setUp()
  const handle = await (await runtime({ jobs: [job] })).enqueue(job, 'x')
  const controller = new AbortController()
  const waiting = handle.result({ signal: controller.signal }).catch((error: unknown) => error)
  await clock.advance('1s')
  controller.abort('bored')
  const error = await waiting
  expect(error).toBeInstanceOf(AbortError)
  expect(error).toMatchObject({ code: 'ABORTED', cause: 'bored' })
  await expect(handle.result({ signal: controller.signal })).rejects.toMatchObject({ code: 'ABORTED' })
  await clock.advance('1m')
  expect(await handle.result()).toBe('x')
})

test('run bounds its wait with the same timeout and signal', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const timed = worker.run(job, 'x', { timeout: '10s' }).catch((error: { code: string }) => error.code)
  const aborted = worker.run(job, 'x', { signal: AbortSignal.abort() }).catch((error: { code: string }) => error.code)
  await clock.advance('10s')
  expect([await timed, await aborted]).toEqual(['TIMEOUT', 'ABORTED'])
})

test('who waits for a job that is sent through again waits for its next end', async () => {
  const { clock, runtime } = setUp()
  const job = defineJob<undefined, number>({
    type: 'job',
    retry: { maxAttempts: 1 },
    run: async (_input, { job: { generation }, signal }) => {
      if (generation === 1) throw new Error('no')
      await clock.sleep('1m', signal)
      return generation
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.settle()
  await expect(handle.result()).rejects.toMatchObject({ code: 'DEAD' })
  await handle.retry()
  const waiting = handle.result()
  await clock.advance('1m')
  expect(await waiting).toBe(2)
})

test('the output of each wait is a copy of its own', async () => {
  const { clock, runtime } = setUp()
  const job = defineJob<undefined, { list: number[] }>({ type: 'job', run: async () => ({ list: [1] }) })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.settle()
  const first = await handle.result()
  first.list.push(2)
  expect(await handle.result()).toEqual({ list: [1] })
})

test('a thousand waits for a thousand jobs are all answered', async () => {
  const { clock, runtime } = setUp()
  const job = defineJob<number, number>({ type: 'job', run: async (n) => n })
  const worker = await runtime({ jobs: [job], concurrency: 50 })
  const results = Array.from({ length: 1_000 }, (_, n) => worker.run(job, n))
  await clock.advance(10)
  expect(await Promise.all(results)).toEqual(Array.from({ length: 1_000 }, (_, n) => n))
})

test('whoever waits for many jobs asks for those that have ended, not for all whenever one has', async () => {
  const inner = memoryStore()
  let asked = 0
  const store: Store = {
    ...inner,
    capabilities: { durable: true, shared: true },
    get: (ids) => {
      asked += ids.length
      return inner.get(ids)
    },
  }
  const { clock, runtime } = world({ store })
  const job = defineJob<number, number>({
    type: 'job',
    run: async (n, { signal }) => {
      await clock.sleep(10, signal)
      return n
    },
  })
  const waiting = await runtime({ jobs: [job], concurrency: 0 })
  const results = Array.from({ length: 1_000 }, (_, n) => waiting.run(job, n))
  await clock.settle()
  await runtime({ jobs: [job], concurrency: 10 })
  await clock.advance('10s')
  expect(await Promise.all(results)).toHaveLength(1_000)
  // Once when the wait begins, once when the job has ended; the polls ask for a few that have not.
  expect(asked).toBeLessThan(4_000)
})

test('a handle that is looked up by its id waits like any other', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const { id } = await worker.enqueue(job, 'x')
  const found = await worker.job(id)
  const waiting = found?.result()
  await clock.advance('1m')
  expect(await waiting).toBe('x')
  expect(found).toMatchObject({ id, type: 'job' })
  expect(await worker.job('nobody')).toBe(null)
})
