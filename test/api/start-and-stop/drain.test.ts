/** Drains, of a runtime that goes on and of one that stops: what they wait for, and what not. */
import { createRuntime, defineJob, memoryStore, type Store } from 'jobchart'
import type { VirtualClock } from 'jobchart/testing'
import { describe, expect, test } from 'vitest'
import { fileStore } from '../../support/file-store.ts'
import { world } from '../../support/leaks.ts'

test.each(['memory', 'sqlite'] as const)(
  'a paused runtime that is asked to drain resumes and picks at once (%s)',
  async (kind) => {
    const { clock, store, idle } = world({ store: kind === 'memory' ? memoryStore() : fileStore() })
    await store.open({ clock })
    const startedAt: number[] = []
    const note = defineJob<number, void>({ type: 'note', run: async () => void startedAt.push(clock.monotonic()) })
    const runtime = idle({ jobs: [note] })
    await runtime.start()
    await runtime.pause()
    await runtime.enqueueMany(note, [1, 2, 3])
    // A store that others share looks a moment later whether there is something new.
    await clock.advance(10)
    const askedAt = clock.monotonic()
    const stopping = runtime.stop({ mode: 'drain', timeout: '30s' })
    expect(runtime.state).toBe('draining')
    await clock.advance('1m')
    expect(await stopping).toEqual({ completed: true, running: 0, dropped: 0 })
    expect(startedAt).toHaveLength(3)
    // A call to the file takes a turn of the loop, in which a millisecond of virtual time may pass.
    for (const at of startedAt) expect(at - askedAt).toBeLessThanOrEqual(kind === 'memory' ? 0 : 20)
  },
)

/** A runtime whose job fails as often as its input says, each time to be tried again 2 s later. */
async function withRetries(store: Store = memoryStore()) {
  const made = world({ store })
  await store.open({ clock: made.clock })
  const flaky = defineJob<number, void>({
    type: 'flaky',
    retry: { maxAttempts: 5, backoff: () => '2s' },
    run: async (failures, { attempt }) => {
      if (attempt <= failures) throw new Error(`failure ${attempt}`)
    },
  })
  const worker = await made.runtime({ jobs: [flaky] })
  return { ...made, flaky, worker }
}

/** How long a call takes in virtual time, and what it answers. */
async function timed<T>(clock: VirtualClock, call: Promise<T>): Promise<{ tookMs: number; answer: T }> {
  const askedAt = clock.monotonic()
  let endedAt = Infinity
  void call.finally(() => (endedAt = clock.monotonic())).catch(() => {})
  await clock.advance('10s')
  return { tookMs: endedAt - askedAt, answer: await call }
}

/** A clock between two milliseconds, as the system clock mostly is. */
const between = 1_700_000_000_000.5

test.each(['memory', 'sqlite'] as const)('a retry that is due at once counts as queued (%s)', async (kind) => {
  for (const start of [between, Math.ceil(between)]) {
    const { clock, store, runtime } = world({ store: kind === 'memory' ? memoryStore() : fileStore(), start })
    await store.open({ clock })
    const flaky = defineJob<number, void>({
      type: 'flaky',
      retry: { maxAttempts: 5, backoff: () => 0 },
      run: async (failures, { attempt }) => {
        if (attempt <= failures) throw new Error(`failure ${attempt}`)
      },
    })
    const worker = await runtime({ jobs: [flaky] })
    const handles = await worker.enqueueMany(flaky, [3, 1])
    const drained = worker.drain()
    await clock.advance('2s')
    expect(await drained).toBe(true)
    expect(await worker.counts()).toMatchObject({ done: 2, retrying: 0 })
    const last = await worker.enqueue(flaky, 2)
    const stopping = worker.stop({ mode: 'drain', timeout: '30s' })
    await clock.advance('5s')
    expect(await stopping).toEqual({ completed: true, running: 0, dropped: 0 })
    const ids = [...handles, last].map(({ id }) => id)
    expect((await store.get(ids)).map((job) => job?.state)).toEqual(['done', 'done', 'done'])
  }
})

test('a stop that drains in real time runs every retry without a backoff', async () => {
  const flaky = defineJob<number, void>({
    type: 'flaky',
    retry: { maxAttempts: 3, backoff: () => 0 },
    run: async (_, { attempt }) => {
      if (attempt < 3) throw new Error(`failure ${attempt}`)
    },
  })
  for (let n = 0; n < 20; n++) {
    const runtime = createRuntime({ jobs: [flaky] })
    await runtime.start()
    await runtime.enqueueMany(flaky, [1, 2, 3])
    expect(await runtime.stop({ mode: 'drain' })).toEqual({ completed: true, running: 0, dropped: 0 })
  }
})

describe.each(['memory', 'sqlite'] as const)('on %s', (kind) => {
  const storeOf = (): Store => (kind === 'memory' ? memoryStore() : fileStore())

  test('drain waits neither for a backoff nor for a delay', async () => {
    const { clock, worker, flaky } = await withRetries(storeOf())
    const failed = await worker.enqueue(flaky, 1)
    const later = await worker.enqueue(flaky, 0, { delay: '4s' })
    const drained = await timed(clock, worker.drain())
    expect(drained.answer).toBe(true)
    expect(drained.tookMs).toBeLessThan(1_000)
    expect([(await failed.record()).attempt, (await later.record()).state]).toEqual([2, 'done'])
  })

  test('drain({ retries: true }) waits for every attempt', async () => {
    const { clock, worker, flaky } = await withRetries(storeOf())
    const failed = await worker.enqueue(flaky, 2)
    await worker.enqueue(flaky, 0, { delay: '9s' })
    const drained = await timed(clock, worker.drain({ retries: true }))
    expect(drained.answer).toBe(true)
    expect(drained.tookMs).toBeGreaterThanOrEqual(4_000)
    expect(drained.tookMs).toBeLessThan(5_000)
    expect(await failed.record()).toMatchObject({ state: 'done', attempt: 3 })
  })

  test('drains with and without retries wait each for its own', async () => {
    const { clock, worker, flaky } = await withRetries(storeOf())
    await worker.enqueue(flaky, 1)
    const [short, long] = [worker.drain(), worker.drain({ retries: true })]
    let longIsOver = false
    void long.then(() => (longIsOver = true))
    await clock.advance('1s')
    expect([await short, longIsOver]).toEqual([true, false])
    await clock.advance('2s')
    expect(await long).toBe(true)
  })

  test('drain waits for what is due, though nobody has looked yet', async () => {
    const made = world({ store: storeOf() })
    await made.store.open({ clock: made.clock })
    let attempts = 0
    const soon = defineJob<void, void>({
      type: 'soon',
      retry: { maxAttempts: 3, backoff: () => 0 },
      run: async () => {
        if (++attempts < 3) throw new Error('again')
      },
    })
    const worker = await made.runtime({ jobs: [soon] })
    await worker.enqueue(soon)
    const drained = worker.drain()
    await made.clock.advance('1s')
    expect([await drained, attempts]).toEqual([true, 3])
  })

  test('drain does not wait for a paused queue, but for what runs of it', async () => {
    const { clock, runtime, store } = world({ store: storeOf() })
    await store.open({ clock })
    const ended: string[] = []
    const define = (type: string) =>
      defineJob<string, void>({
        type,
        run: async (name) => {
          await clock.sleep('1s')
          ended.push(name)
        },
      })
    const [open, shut] = [define('open'), define('shut')]
    const worker = await runtime({ jobs: [open, shut], concurrency: 1 })
    await worker.enqueue(shut, 'running')
    await clock.advance(50)
    await worker.queue('shut').pause()
    await worker.enqueueMany(shut, ['held 1', 'held 2'])
    await worker.enqueue(open, 'open')
    const drained = await timed(clock, worker.drain({ retries: true }))
    expect(drained.answer).toBe(true)
    expect(drained.tookMs).toBeLessThan(3_000)
    expect(ended).toEqual(['running', 'open'])
    expect(await worker.queue('shut').stats()).toMatchObject({ paused: true, counts: { queued: 2 } })
    // A queue that is resumed is waited for again.
    const again = worker.drain()
    await worker.queue('shut').resume()
    await timed(clock, again)
    expect(ended).toHaveLength(4)
  })
})

test.each([
  { retries: false, dropped: 1, attempts: 1 },
  { retries: true, dropped: 0, attempts: 2 },
])('a stop that drains waits for retries only if asked: $retries', async ({ retries, dropped, attempts }) => {
  const { clock, store, worker, flaky } = await withRetries()
  const failed = await worker.enqueue(flaky, 1)
  await clock.settle()
  const { answer, tookMs } = await timed(clock, worker.stop({ mode: 'drain', timeout: '1h', retries }))
  expect(answer).toEqual({ completed: true, running: 0, dropped })
  expect(tookMs >= 2_000).toBe(retries)
  expect((await store.get([failed.id]))[0]?.attempt).toBe(attempts)
})

test('a drain takes jobs all the while, and its timeout and signal end it', async () => {
  const { clock, runtime } = world()
  const nap = defineJob<string, void>({ type: 'nap', run: () => clock.sleep('10m') })
  const worker = await runtime({ jobs: [nap] })
  await worker.enqueue(nap, 'first')
  const controller = new AbortController()
  const short = worker.drain({ timeout: '5m' })
  const aborted = expect(worker.drain({ signal: controller.signal })).rejects.toMatchObject({ code: 'ABORTED' })
  const long = worker.drain()
  let over = false
  void long.then(() => (over = true))
  await clock.advance('5m')
  expect(await short).toBe(false)
  controller.abort()
  await aborted
  await worker.enqueue(nap, 'second')
  await clock.advance('5m')
  expect(over).toBe(false)
  await clock.advance('5m')
  expect(await long).toBe(true)
})

test('the timeout and signal of a drain hold from its call on, also while the store opens', async () => {
  const opening = { ...memoryStore(), open: () => new Promise<never>(() => {}) }
  const { clock, idle } = world({ store: opening })
  const worker = idle({ jobs: [] })
  const short = worker.drain({ timeout: '5m' })
  const controller = new AbortController()
  const aborted = expect(worker.drain({ signal: controller.signal })).rejects.toMatchObject({ code: 'ABORTED' })
  controller.abort()
  await aborted
  await clock.advance('5m')
  expect(await short).toBe(false)
})
