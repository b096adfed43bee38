/** `defineJob({ capacity })`: the limit of one queue. */
import { createClient, defineJob, memoryStore, type Pressure, type Store } from 'jobchart'
import { expect, test } from 'vitest'
import type { VirtualClock } from 'jobchart/testing'
import { fileStore } from '../../support/file-store.ts'
import { world } from '../../support/leaks.ts'

const small = defineJob<number, void>({ type: 'small', capacity: 2, run: () => {} })
const other = defineJob<number, void>({ type: 'other', run: () => {} })
const third = defineJob<number, void>({ type: 'third', capacity: 1, run: () => {} })
const jobs = [small, other, third]

/** Which of these calls have been answered so far, and how. */
function watch(calls: Readonly<Record<string, Promise<unknown>>>): Record<string, unknown> {
  const answers: Record<string, unknown> = {}
  for (const [name, call] of Object.entries(calls)) {
    call.then(
      () => (answers[name] = 'stored'),
      (error: { code: string }) => (answers[name] = error.code),
    )
  }
  return answers
}

test('a full queue delays its own enqueues only', async () => {
  const { clock, idle } = world()
  const runtime = idle({ jobs })
  await runtime.enqueueMany(small, [1, 2], { tags: ['first'] })
  const answers = watch({ a: runtime.enqueue(small, 3), b: runtime.enqueue(small, 4) })
  await clock.advance('1s')
  await runtime.enqueue(other, 1)
  await runtime.enqueue(third, 1)
  expect(await runtime.tryEnqueue(small, 5)).toBeNull()
  expect(answers).toEqual({})
  await runtime.cancel({ tag: 'first' })
  await clock.advance('1s')
  expect(answers).toEqual({ a: 'stored', b: 'stored' })
})

test('who came first gets the room of a queue first, however much it needs', async () => {
  const { clock, idle } = world()
  const runtime = idle({ jobs })
  await runtime.enqueue(small, 1, { id: 'one' })
  await runtime.enqueue(small, 2, { id: 'two' })
  const many = runtime.enqueueMany(small, [3, 4])
  await clock.settle()
  const answers = watch({ many, later: runtime.enqueue(small, 5) })
  await clock.advance('1s')
  await runtime.cancel('one')
  await clock.advance('1s')
  expect(answers).toEqual({})
  await runtime.cancel('two')
  await clock.advance('1s')
  expect(answers).toEqual({ many: 'stored' })
  await runtime.cancel({ state: 'queued' })
  await clock.advance('1s')
  expect(answers).toEqual({ many: 'stored', later: 'stored' })
  const kept = await runtime.list({ state: ['queued', 'cancelled'] })
  expect(kept.map(({ input }) => input)).toEqual([1, 2, 3, 4, 5])
})

test('several thousand enqueues of a flooded type are served in their order, and another type runs at once', async () => {
  const { clock, runtime } = world()
  const order: number[] = []
  const flooded = defineJob<number, void>({
    type: 'flooded',
    capacity: 5,
    concurrency: 1,
    run: (n) => void order.push(n),
  })
  const worker = await runtime({ jobs: [flooded, other], concurrency: 10 })
  await worker.queue('flooded').pause()
  const calls = Array.from({ length: 3_000 }, (_, n) => worker.enqueue(flooded, n))
  await clock.advance('1s')
  const handle = await worker.enqueue(other, 1)
  expect(await handle.result()).toBeUndefined()
  expect((await worker.queue('flooded').stats()).counts.queued).toBe(5)
  await worker.queue('flooded').resume()
  await clock.advance('10s')
  await Promise.all(calls)
  await clock.advance('10s')
  expect(order).toEqual(Array.from({ length: 3_000 }, (_, n) => n))
})

/** A store whose inserts take effect half a round trip after their call, and are answered another half later. */
function withRoundTrip(store: Store, clock: VirtualClock, roundTripMs: number): Store {
  const half = (): Promise<void> => new Promise((resolve) => clock.timer(resolve, roundTripMs / 2, { keepAlive: true }))
  return {
    ...store,
    async insert(requests) {
      await half()
      const answers = await store.insert(requests)
      await half()
      return answers
    },
  }
}

test('who waits for room is served in order beside a steady stream of other enqueues, over a round trip of 4 ms', async () => {
  const { clock, store, runtime } = world()
  await runtime({ jobs, store, concurrency: 10 })
  const enqueuer = await runtime({ jobs, store: withRoundTrip(store, clock, 4), concurrency: 0 })
  const order: number[] = []
  const waiting = Array.from({ length: 60 }, (_, n) =>
    enqueuer.enqueue(small, n, { timeout: '5s' }).then(() => order.push(n)),
  )
  const answers = watch(Object.fromEntries(waiting.map((call, n) => [n, call])))
  const stream: Promise<unknown>[] = []
  for (let ms = 0; ms < 6_000; ms += 2) {
    stream.push(enqueuer.enqueue(other, ms))
    await clock.advance(2)
  }
  await clock.advance('1s')
  await Promise.all(stream)
  expect(Object.values(answers)).toEqual(Array.from({ length: 60 }, () => 'stored'))
  expect(order).toEqual(Array.from({ length: 60 }, (_, n) => n))
})

test('both limits hold, and the error says which one is reached', async () => {
  const { clock, idle } = world()
  const runtime = idle({ jobs, capacity: 3 })
  await runtime.enqueueMany(small, [1, 2])
  const queueFull = runtime.enqueue(small, 3, { timeout: '1s' }).catch((error: Error) => error.cause)
  await clock.advance('2s')
  expect(await queueFull).toMatchObject({
    code: 'CAPACITY',
    message: 'no room: `capacity` (2) jobs of type small are waiting',
  })
  await runtime.enqueue(other, 1)
  const storeFull = runtime.enqueue(third, 1, { timeout: '1s' }).catch((error: Error) => error.cause)
  await clock.advance('2s')
  expect(await storeFull).toMatchObject({ code: 'CAPACITY', message: 'no room: `capacity` (3) jobs are waiting' })
  await expect(runtime.enqueueMany(small, [1, 2, 3])).rejects.toMatchObject({ code: 'CAPACITY' })
})

test('where the limit of the runtime is reached, the types take turns, each in the order of its calls', async () => {
  const { clock, idle } = world()
  const big = defineJob<number, void>({ type: 'big', capacity: 1_000, run: () => {} })
  const late = defineJob<number, void>({ type: 'late', capacity: 1_000, run: () => {} })
  const runtime = idle({ jobs: [big, late, other, third], capacity: 1 })
  const first = await runtime.enqueue(other, 0)
  const order: string[] = []
  const calls: Promise<unknown>[] = []
  const call = (job: typeof big, n: number): void => {
    calls.push(runtime.enqueue(job, n, { id: `${job.type} ${n}` }).then(({ id }) => order.push(id)))
  }
  for (let n = 1; n <= 6; n++) call(big, n)
  for (let n = 1; n <= 2; n++) call(late, n)
  // Types without a capacity of their own wait in one line.
  call(other, 1)
  await clock.settle()
  await first.cancel()
  for (let n = 0; n < calls.length; n++) {
    await clock.advance('1s')
    await runtime.cancel({ state: 'queued' })
  }
  await Promise.all(calls)
  expect(order).toEqual(['big 1', 'late 1', 'other 1', 'big 2', 'late 2', 'big 3', 'big 4', 'big 5', 'big 6'])
})

test('a wait ends with its signal; with a stop all do', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs, concurrency: 0 })
  await worker.enqueue(third, 1)
  const controller = new AbortController()
  const answers = watch({ a: worker.enqueue(third, 2, { signal: controller.signal }), b: worker.enqueue(third, 3) })
  await clock.settle()
  controller.abort()
  await clock.settle()
  expect(answers).toEqual({ a: 'ABORTED' })
  await worker.stop({ mode: 'abort' })
  expect(answers).toEqual({ a: 'ABORTED', b: 'STOPPED' })
})

test.each<[string, () => Store]>([
  ['memory', memoryStore],
  ['sqlite', fileStore],
])('on %s processes of one store keep it together', async (_, create) => {
  const { clock, store, idle } = world({ store: create() })
  await store.open({ clock })
  const [one, two] = [idle({ jobs }), idle({ jobs })]
  const calls = Array.from({ length: 20 }, (_each, n) => (n % 2 === 0 ? one : two).tryEnqueue(small, n))
  expect((await Promise.all(calls)).filter((handle) => handle !== null)).toHaveLength(2)
})

test('figures tell of it', async () => {
  const { clock, idle } = world()
  const runtime = idle({ jobs })
  const seen: Pressure[] = []
  runtime.pressure$.subscribe((pressure) => void seen.push(pressure))
  await runtime.enqueue(third, 1)
  await clock.advance('1s')
  expect(seen.at(-1)).toEqual({ waiting: 1, capacity: null, full: false, fullTypes: ['third'] })
  expect(await runtime.queue('third').stats()).toMatchObject({ capacity: 1 })
  expect(await runtime.queue('other').stats()).toMatchObject({ capacity: null })
})

test('a job that runs does not wait for room, and a process without the definition is not bounded', async () => {
  const { clock, store, runtime } = world()
  const many = defineJob<void, void>({
    type: 'many',
    run: async (_input, { enqueue }) => {
      for (const n of [1, 2, 3]) await enqueue(third, n)
    },
  })
  const worker = await runtime({ jobs: [many, third] })
  await worker.queue('third').pause()
  await worker.enqueue(many, undefined)
  await clock.advance('1s')
  await using client = createClient({ store, clock })
  await client.enqueueByName('third', 4)
  expect((await worker.queue('third').stats()).counts.queued).toBe(4)
})

test.each([-1, 1.5])('a capacity of %s is refused', (capacity) => {
  expect(() => defineJob({ type: 'job', capacity, run: () => {} })).toThrow(
    'capacity of job job: expected a whole number',
  )
})
