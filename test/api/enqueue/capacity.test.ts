import { defineJob, type Runtime, type Store } from 'jobchart'
import { createTestRuntime, type VirtualClock } from 'jobchart/testing'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const job = defineJob<number, void>({ type: 'job', run: async () => {} })

/** Which of these calls have been answered so far, and how. */
function watch(calls: Readonly<Record<string, Promise<unknown>>>): Record<string, unknown> {
  const answers: Record<string, unknown> = {}
  for (const [name, call] of Object.entries(calls)) {
    call.then(
      (answer) => (answers[name] = answer === null ? null : 'stored'),
      (error: { code: string }) => (answers[name] = error.code),
    )
  }
  return answers
}

/** A runtime of one capacity whose backlog is full of its first `capacity` jobs; none runs. */
async function full(capacity: number): Promise<{ clock: VirtualClock; store: Store; runtime: Runtime }> {
  const { clock, store, idle } = world()
  const runtime = idle({ jobs: [job], capacity })
  for (let n = 0; n < capacity; n++) await runtime.enqueue(job, n, { id: `first ${n}` })
  return { clock, store, runtime }
}

const inputs = async (runtime: Runtime): Promise<unknown[]> => (await runtime.list({})).map(({ input }) => input)

test('enqueue waits for room, and who came first gets it first, however much it needs', async () => {
  const { clock, runtime } = await full(4)
  const a = runtime.enqueue(job, 10)
  await clock.settle()
  const b = runtime.enqueueMany(job, [11, 12, 13])
  await clock.settle()
  const answers = watch({ a, b, c: runtime.enqueue(job, 14), d: runtime.enqueue(job, 15) })
  await clock.advance('1m')
  expect(answers).toEqual({})
  // Room for two: a takes one, the other is too little for b; c and d are smaller but came later.
  await runtime.cancel(['first 0', 'first 1'])
  await clock.advance('1m')
  expect(answers).toEqual({ a: 'stored' })
  await runtime.cancel(['first 2', 'first 3'])
  await clock.advance('1s')
  expect(answers).toEqual({ a: 'stored', b: 'stored' })
  await runtime.cancel({ state: 'queued' })
  await clock.advance('1s')
  expect(answers).toEqual({ a: 'stored', b: 'stored', c: 'stored', d: 'stored' })
  expect(await inputs(runtime)).toEqual([0, 1, 2, 3, 10, 11, 12, 13, 14, 15])
})

test('a thousand callers that wait are served in the order in which they came while jobs run', async () => {
  const { clock, runtime } = world()
  const order: number[] = []
  const note = defineJob<number, void>({ type: 'note', run: async (n) => void order.push(n) })
  const worker = await runtime({ jobs: [note], capacity: 3, concurrency: 2 })
  const calls = Array.from({ length: 1_000 }, (_, n) => worker.enqueue(note, n))
  await clock.advance('1s')
  await Promise.all(calls)
  await clock.advance('1s')
  expect(order).toEqual(Array.from({ length: 1_000 }, (_, n) => n))
})

test('the backlog never holds more than the capacity, whoever enqueues', async () => {
  const { clock, store, runtime } = world()
  const counts: number[] = []
  const look = defineJob<number, void>({
    type: 'look',
    run: async () => {
      const { queued, scheduled, retrying } = await store.counts()
      counts.push(queued + scheduled + retrying)
    },
  })
  const workers = [await runtime({ jobs: [look], capacity: 4 }), await runtime({ jobs: [look], capacity: 4 })]
  const calls = Array.from({ length: 100 }, (_, n) => (workers[n % 2] as Runtime).enqueue(look, n, { delay: n % 3 }))
  await clock.advance('1m')
  await Promise.all(calls)
  await clock.advance('1m')
  expect(counts).toHaveLength(100)
  expect(Math.max(...counts)).toBeLessThanOrEqual(4)
})

test('tryEnqueue answers null at once when there is no room, and nothing is stored', async () => {
  const { store, runtime } = await full(2)
  expect(await runtime.tryEnqueue(job, 9)).toBe(null)
  expect((await store.counts()).queued).toBe(2)
  await runtime.cancel('first 0')
  expect(await runtime.tryEnqueue(job, 9)).toMatchObject({ type: 'job', deduplicated: false })
})

test('tryEnqueue does not overtake those who wait', async () => {
  const { clock, runtime } = await full(1)
  const waiting = watch({ a: runtime.enqueueMany(job, [1]) })
  await clock.settle()
  expect(await runtime.tryEnqueue(job, 2)).toBe(null)
  const cancelled = runtime.cancel('first 0')
  const tried = runtime.tryEnqueue(job, 2)
  await cancelled
  expect(await tried).toBe(null)
  await clock.advance('1s')
  expect(waiting).toEqual({ a: 'stored' })
})

test('a duplicate needs no room', async () => {
  const { runtime } = await full(1)
  const [first] = await runtime.list({})
  expect(await runtime.tryEnqueue(job, 0, { id: first?.id ?? '' })).toMatchObject({ deduplicated: true })
  expect((await runtime.enqueue(job, 0, { id: first?.id ?? '' })).deduplicated).toBe(true)
})

test('waiting for room ends with TIMEOUT, and nothing is stored then or later', async () => {
  const { clock, runtime } = await full(1)
  const call = runtime.enqueue(job, 5, { timeout: '30s' })
  const answers = watch({ call })
  await clock.advance(29_999)
  expect(answers).toEqual({})
  await clock.advance(1)
  await expect(call).rejects.toMatchObject({ code: 'TIMEOUT', name: 'TimeoutError', cause: { code: 'CAPACITY' } })
  await runtime.cancel('first 0')
  await clock.advance('1m')
  expect(await inputs(runtime)).toEqual([0])
})

test('waiting for room ends with ABORTED when the signal aborts, and the place in the line is free', async () => {
  const { clock, runtime } = await full(1)
  const controller = new AbortController()
  const aborted = runtime.enqueue(job, 5, { signal: controller.signal })
  const answers = watch({ aborted, next: runtime.enqueue(job, 6) })
  await clock.advance('1s')
  controller.abort(new Error('the user left'))
  await expect(aborted).rejects.toMatchObject({
    code: 'ABORTED',
    name: 'AbortError',
    cause: { message: 'the user left' },
  })
  await runtime.cancel('first 0')
  await clock.advance('1s')
  expect(answers).toEqual({ aborted: 'ABORTED', next: 'stored' })
  expect(await inputs(runtime)).toEqual([0, 6])
})

test('a call that has its answer leaves no timer behind', async () => {
  const { clock, runtime } = await full(1)
  const before = clock.pending
  const controller = new AbortController()
  const { signal } = controller
  const call = runtime.enqueue(job, 5, { signal, timeout: '1h' })
  const next = runtime.enqueue(job, 6, { timeout: '1h' })
  await clock.settle()
  controller.abort()
  await expect(call).rejects.toMatchObject({ code: 'ABORTED' })
  await runtime.cancel('first 0')
  await clock.advance('1s')
  expect((await next).deduplicated).toBe(false)
  expect(clock.pending).toBe(before)
})

test('a signal that has aborted before refuses the call, also when there is room', async () => {
  const { store, idle } = world()
  const runtime = idle({ jobs: [job], capacity: 5 })
  const call = runtime.enqueue(job, 1, { signal: AbortSignal.abort('late') })
  await expect(call).rejects.toMatchObject({ code: 'ABORTED', cause: 'late' })
  expect(await store.list({})).toHaveLength(0)
})

test('a signal that aborts after the job was stored changes nothing', async () => {
  const { clock, runtime } = world()
  const controller = new AbortController()
  const worker = await runtime({ jobs: [job], capacity: 5 })
  const handle = await worker.enqueue(job, 1, { signal: controller.signal, timeout: '1s' })
  controller.abort()
  await clock.advance('2s')
  expect((await handle.record()).state).toBe('done')
})

test('enqueueMany stores all of its jobs or none, and waits until all fit', async () => {
  const { clock, store, runtime } = await full(3)
  const answers = watch({ many: runtime.enqueueMany(job, [10, 11]) })
  await runtime.cancel('first 0')
  await clock.advance('1m')
  expect([answers, (await store.counts()).queued]).toEqual([{}, 2])
  await runtime.cancel('first 1')
  await clock.advance('1s')
  expect([answers, (await store.counts()).queued]).toEqual([{ many: 'stored' }, 3])
})

test('more jobs at once than the capacity are refused at once: they would wait for ever', async () => {
  const { idle } = world()
  const runtime = idle({ jobs: [job], capacity: 3 })
  await expect(runtime.enqueueMany(job, [1, 2, 3, 4])).rejects.toMatchObject({
    code: 'CAPACITY',
    hint: expect.any(String),
  })
  expect(await runtime.enqueueMany(job, [1, 2, 3])).toHaveLength(3)
})

test('running jobs take no room; scheduled and retrying ones do', async () => {
  const { clock, store, runtime } = world()
  const hold = defineJob<string, void>({
    type: 'hold',
    retry: { backoff: () => '1h' },
    run: async (what, { signal }) => {
      if (what === 'fail') throw new Error('later')
      await clock.sleep('1d', signal)
    },
  })
  const worker = await runtime({ jobs: [hold], capacity: 2 })
  await worker.enqueue(hold, 'run')
  await worker.enqueue(hold, 'fail')
  await clock.settle()
  await worker.enqueue(hold, 'later', { delay: '1h' })
  expect(await store.counts()).toMatchObject({ running: 1, retrying: 1, scheduled: 1 })
  expect(await worker.tryEnqueue(hold, 'no')).toBe(null)
})

test('what a running job enqueues does not wait for room, which its own slot might have to make', async () => {
  const child = defineJob<number, void>({ type: 'child', run: async () => {} })
  const parent = defineJob<number, void>({
    type: 'parent',
    run: async (n, { enqueue }) => {
      for (let i = 0; i < 4; i++) await enqueue(child, n)
    },
  })
  const { runtime, clock } = await createTestRuntime({ jobs: [parent, child], concurrency: 2, capacity: 3 })
  const enqueued = [1, 2, 3, 4].map((n) => runtime.enqueue(parent, n))
  const drained = runtime.drain({ timeout: '1m' })
  await clock.advance('1m')
  expect(await drained).toBe(true)
  await Promise.all(enqueued)
  expect((await runtime.counts()).done).toBe(20)
  await runtime.stop()
})
