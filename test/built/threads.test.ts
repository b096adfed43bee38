/** Handlers in threads, as they are published: what crosses to a thread and back, and how a thread ends. */
import type { Worker } from 'node:worker_threads'
import {
  constant,
  createRuntime,
  defineJob,
  memoryStore,
  thread,
  type JobchartError,
  type JobRecord,
  type Middleware,
  type RuntimeOptions,
  type Store,
} from 'jobchart'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

interface Told {
  readonly act: string
  readonly ms?: number
  readonly value?: unknown
}

const url = new URL('../storm/threads/work.mjs', import.meta.url)
const work = defineJob<Told, unknown>({
  type: 'work',
  thread: thread(url, { memoryMb: 32 }),
  retry: { maxAttempts: 1 },
})
const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** A started runtime, and the threads of this process that have not ended. It must leave none. */
async function started(options: Partial<RuntimeOptions> = {}) {
  const live = new Set<Worker>()
  let mostAtOnce = 0
  const made = (worker: Worker): void => {
    live.add(worker)
    mostAtOnce = Math.max(mostAtOnce, live.size)
    worker.once('exit', () => live.delete(worker))
  }
  process.on('worker', made)
  const runtime = createRuntime({
    jobs: [work],
    store: memoryStore(),
    logger: silent,
    concurrency: 2,
    grace: 50,
    ...options,
  })
  onTestFinished(async () => {
    expect(await runtime.stop({ mode: 'abort', grace: '60s' })).toMatchObject({ running: 0 })
    process.off('worker', made)
    expect(live.size, 'threads left after the stop').toBe(0)
  })
  await runtime.start()
  return { runtime, live, most: () => mostAtOnce }
}

const refusal = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  )

test('a handler in a thread gets its input and attempt, and its output comes back', async () => {
  const { runtime } = await started()
  const job = await runtime.enqueue(work, { act: 'echo', value: [1, { a: null }] })
  expect(await job.result()).toEqual({
    value: [1, { a: null }],
    id: job.id,
    type: 'work',
    attempt: 1,
    maxAttempts: 1,
    deadline: null,
  })
})

test('the schema of the input is applied before the thread gets it', async () => {
  const input = z.object({ act: z.string(), value: z.string().transform((text) => new Date(text)) })
  const dated = defineJob({ type: 'dated', input, thread: url })
  const { runtime } = await started({ jobs: [dated] })
  // A Date crosses; as output it is refused, as that of any handler.
  const refused = await refusal(runtime.run(dated, { act: 'echo', value: '2026-01-01' }))
  expect(refused).toMatchObject({ code: 'DEAD', cause: { code: 'INVALID_OUTPUT' } })
})

test('check-ins, log lines and steps are those of the job', async () => {
  const retried = defineJob<Told, unknown>({
    type: 'retried',
    thread: url,
    retry: { maxAttempts: 2, backoff: constant(0) },
  })
  const { runtime } = await started({ jobs: [work, retried] })
  const checked = await runtime.enqueue(work, { act: 'compute', ms: 30 })
  await checked.result()
  expect((await checked.record()).checkin?.value).toEqual({ done: 29 })
  // The second attempt gets the result of the step that the first one has finished.
  const steps = await runtime.enqueue(retried, { act: 'steps' })
  expect(await steps.result()).toEqual({ first: { attempt: 1 } })
  const snoozed = await runtime.enqueue(work, { act: 'snooze' })
  await expect.poll(async () => (await snoozed.record()).logs.length).toBeGreaterThan(1)
  expect((await snoozed.record()).logs[0]).toMatchObject({ message: 'not now', fields: { again: true }, attempt: 1 })
  await snoozed.cancel()
})

test('errors come back with name, message, code and cause; fatal() ends the job at once', async () => {
  const { runtime } = await started()
  const error = async (act: string): Promise<JobRecord['error']> => {
    const job = await runtime.enqueue(work, { act }, { maxAttempts: act === 'fatal' ? 5 : 1 })
    await refusal(job.result())
    return (await job.record()).error
  }
  expect(await error('fail')).toMatchObject({
    name: 'TypeError',
    message: 'as told',
    code: 'TOLD',
    cause: { message: 'the cause' },
  })
  expect(await error('fatal')).toMatchObject({ name: 'RangeError', message: 'for good' })
  expect(await error('unclonable')).toMatchObject({ code: 'INVALID_OUTPUT' })
  expect(await error('unreadable')).toMatchObject({
    name: 'TypeError',
    message: expect.stringContaining('cannot be read'),
  })
})

test.each([
  ['exit', 'exited with code 3'],
  ['crash', 'outside the handler'],
  ['reject', 'nobody listens'],
  ['fill', 'memory'],
])('a thread that ends by itself (%s) fails the attempt, and the next job has another thread', async (act, why) => {
  const { runtime } = await started({ concurrency: 1 })
  const error = (await refusal(runtime.run(work, { act }))) as Error
  expect(error.cause).toMatchObject({ code: 'THREAD_FAILED', message: expect.stringContaining(why) })
  expect(await runtime.run(work, { act: 'obey', ms: 0 })).toEqual({ ms: 0 })
})

test('a module that cannot be loaded, or has no handler, fails the attempt', async () => {
  const text = new URL('../../README.md', import.meta.url)
  const noModule = defineJob({ type: 'no-module', thread: text, retry: { maxAttempts: 1 } })
  const empty = new URL('../../node_modules/nanoid/index.js', import.meta.url)
  const other = defineJob({ type: 'other', thread: empty, retry: { maxAttempts: 1 } })
  const { runtime } = await started({ jobs: [noModule, other] })
  for (const [job, why] of [
    [noModule, 'README.md'],
    [other, 'default export'],
  ] as const) {
    const error = (await refusal(runtime.run(job))) as Error
    expect(error.cause).toMatchObject({ code: 'THREAD_FAILED', message: expect.stringContaining(why) })
  }
})

test.each(['loop', 'hang'])(
  'a cancel ends a handler that does not obey (%s) with its thread, after its grace',
  async (act) => {
    const { runtime, live } = await started({ concurrency: 1 })
    const job = await runtime.enqueue(work, { act })
    await expect.poll(() => live.size).toBe(1)
    await job.cancel({ grace: 20 })
    await refusal(job.result())
    expect((await job.record()).state).toBe('cancelled')
    expect(live.size).toBe(0)
    expect((await runtime.stats()).taken).toBe(0)
  },
)

test('a handler that obeys the cancel keeps its thread: a loop sees it in ctx.signal', async () => {
  const { runtime, live } = await started({ concurrency: 1 })
  const job = await runtime.enqueue(work, { act: 'obey', ms: 60_000 })
  await expect.poll(() => live.size).toBe(1)
  const [before] = live
  await job.cancel({ grace: '60s' })
  await refusal(job.result())
  await runtime.run(work, { act: 'echo' })
  expect([...live]).toEqual([before])
})

test('a timeout ends the thread of an infinite loop', async () => {
  const { runtime, live } = await started({ concurrency: 1 })
  const job = await runtime.enqueue(work, { act: 'loop' }, { attemptTimeout: 50 })
  expect(await refusal(job.result())).toMatchObject({ cause: { code: 'TIMEOUT' } })
  expect(live.size).toBe(0)
})

test('a lease that can no longer be extended ends the thread of a handler that does not obey', async () => {
  // Heartbeats get no answer: the runtime has to take its leases for lost.
  const deaf = new Proxy(memoryStore(), {
    get: (store, name: keyof Store) => {
      if (name === 'extend') return () => new Promise(() => {})
      const member: unknown = store[name]
      return typeof member === 'function' ? (member.bind(store) as unknown) : member
    },
  })
  const codes: unknown[] = []
  const middleware: Middleware = async (ctx, next) => {
    await next().catch(() => codes.push((ctx.signal.reason as JobchartError).code))
    return null
  }
  const { runtime, live } = await started({ store: deaf, lease: '1s', middleware: [middleware] })
  await runtime.enqueue(work, { act: 'loop' }, { maxAttempts: 1 })
  await expect.poll(() => codes.length).toBe(1)
  expect(codes).toEqual(['LEASE_LOST'])
  expect(live.size).toBe(0)
})

test('a stop gives running jobs back after its grace, and ends every thread', async () => {
  const { runtime, live } = await started()
  const jobs = await runtime.enqueueMany(work, [{ act: 'loop' }, { act: 'hang' }])
  await expect.poll(() => live.size).toBe(2)
  expect(await runtime.stop({ mode: 'abort', grace: 20 })).toMatchObject({ completed: true, running: 0 })
  expect(live.size).toBe(0)
  void jobs
})

test('there are never more threads than slots, whatever modules they run; idle ones of other modules make room', async () => {
  const others = ['a', 'b', 'c'].map((type) =>
    defineJob<Told, unknown>({ type, thread: new URL(`${url.href}?${type}`), retry: { maxAttempts: 1 } }),
  )
  const { runtime, most } = await started({ jobs: others, concurrency: 2 })
  await Promise.all(others.flatMap((job) => [1, 2, 3].map(() => runtime.run(job, { act: 'obey', ms: 5 }))))
  expect(most()).toBe(2)
})
