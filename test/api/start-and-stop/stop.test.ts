import { afterEach, expect, test } from 'vitest'
import { createRuntime, defineJob, memoryStore, type JobchartError, type Runtime, type Store } from 'jobchart'
import { createTestRuntime, VirtualClock } from 'jobchart/testing'

let clock: VirtualClock
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const starts: string[] = []

const work = defineJob<{ ms: number; deaf?: boolean }, string>({
  type: 'work',
  run: async ({ ms, deaf }, { id, signal, attempt }) => {
    starts.push(id)
    await clock.sleep(ms, deaf ? undefined : signal)
    return `attempt ${attempt}`
  },
})

async function runtimeWith(slots: number): Promise<Runtime> {
  starts.length = 0
  clock = new VirtualClock()
  const { runtime } = await createTestRuntime({ jobs: [work], concurrency: slots, clock, logger })
  return runtime
}

afterEach(() => {
  // Whatever a test did, a stopped runtime leaves no timer.
  expect(clock.pending).toBe(0)
})

/** Awaits a promise while time passes. */
async function during<T>(promise: Promise<T>, duration: number): Promise<T> {
  await clock.advance(duration)
  return promise
}

test('drain refuses new jobs, runs all that is queued, then resolves', async () => {
  const runtime = await runtimeWith(2)
  const jobs = await runtime.enqueueMany(
    work,
    Array.from({ length: 10 }, () => ({ ms: 100 })),
  )
  const stopping = runtime.stop({ mode: 'drain' })
  expect(runtime.state).toBe('draining')
  await expect(runtime.enqueue(work, { ms: 1 })).rejects.toMatchObject({ code: 'STOPPED' })
  expect(await during(stopping, 1_000)).toEqual({ completed: true, running: 0, dropped: 0 })
  expect(starts).toHaveLength(10)
  expect(runtime.state).toBe('stopped')
  const counts = await runtime.store.counts()
  expect(counts.done).toBe(10)
  expect(jobs).toHaveLength(10)
})

test('drain waits for retries if asked, and lets running jobs enqueue more', async () => {
  clock = new VirtualClock()
  const child = defineJob({ type: 'child', run: async () => 'child' })
  const parent = defineJob({
    type: 'parent',
    retry: { maxAttempts: 2, backoff: () => '10s' },
    run: async (_: undefined, { attempt, enqueue }) => {
      if (attempt === 1) throw new Error('once')
      await enqueue(child)
    },
  })
  const { runtime } = await createTestRuntime({ jobs: [parent, child], clock, logger })
  await runtime.enqueue(parent)
  await clock.settle()
  expect(await during(runtime.stop({ mode: 'drain', retries: true }), 11_000)).toMatchObject({ completed: true })
  expect(await runtime.store.counts()).toMatchObject({ done: 2, queued: 0 })
})

test('finish lets running jobs end, starts no other, and reports what the memory store drops', async () => {
  const runtime = await runtimeWith(2)
  await runtime.enqueueMany(
    work,
    Array.from({ length: 5 }, () => ({ ms: 100 })),
  )
  await runtime.enqueue(work, { ms: 1 }, { delay: '1h' })
  await clock.settle()
  expect(await during(runtime.stop({ mode: 'finish' }), 1_000)).toEqual({ completed: true, running: 0, dropped: 4 })
  expect(starts).toHaveLength(2)
})

test('abort aborts every signal with STOPPED and gives the attempts back', async () => {
  const runtime = await runtimeWith(3)
  const jobs = await runtime.enqueueMany(
    work,
    Array.from({ length: 3 }, () => ({ ms: 10_000 })),
  )
  await clock.settle()
  const report = await during(runtime.stop({ mode: 'abort', grace: '1s' }), 2_000)
  expect(report).toEqual({ completed: true, running: 0, dropped: 3 })
  for (const record of await runtime.store.get(jobs.map(({ id }) => id))) {
    expect(record).toMatchObject({ state: 'queued', attempt: 0 })
    expect(record?.errors).toEqual([])
  }
})

test('a handler that ignores the abort is abandoned after the grace and its late result is refused', async () => {
  const runtime = await runtimeWith(1)
  const job = await runtime.enqueue(work, { ms: 10_000, deaf: true })
  await clock.settle()
  const report = await during(runtime.stop({ mode: 'abort', grace: '1s' }), 1_000)
  expect(report).toEqual({ completed: false, running: 1, dropped: 1 })
  await clock.advance(10_000)
  expect((await runtime.store.get([job.id]))[0]).toMatchObject({ state: 'queued', attempt: 0, output: undefined })
})

test.each(['drain', 'finish', 'abort'] as const)('%s never takes longer than its timeout', async (mode) => {
  const runtime = await runtimeWith(1)
  await runtime.enqueueMany(work, [{ ms: 1_000_000, deaf: true }, { ms: 1 }])
  await clock.settle()
  const started = clock.now()
  let endedAt = 0
  const stopping = runtime.stop({ mode, timeout: '3s', grace: '1h' }).then((report) => {
    endedAt = clock.now()
    return report
  })
  expect(await during(stopping, 5_000)).toMatchObject({ completed: false, running: 1 })
  // And the moment that handlers have to end by themselves.
  expect(endedAt - started).toBeLessThanOrEqual(3_050)
  expect(runtime.state).toBe('stopped')
  // Nor does a slot that became free by it start anything more.
  expect(starts).toHaveLength(1)
  await clock.advance(1_000_000)
})

test('drain leaves a paused queue alone and reports what the memory store drops of it', async () => {
  const runtime = await runtimeWith(1)
  await runtime.queue('work').pause()
  await runtime.enqueue(work, { ms: 1 })
  expect(await during(runtime.stop({ mode: 'drain', timeout: '5s' }), 1_000)).toEqual({
    completed: true,
    running: 0,
    dropped: 1,
  })
})

test('a second stop joins the first, and a harder one makes it quicker', async () => {
  const runtime = await runtimeWith(1)
  await runtime.enqueueMany(
    work,
    Array.from({ length: 5 }, () => ({ ms: 10_000 })),
  )
  await clock.settle()
  const first = runtime.stop({ mode: 'drain' })
  const second = runtime.stop({ mode: 'finish' })
  expect(runtime.state).toBe('stopping')
  const third = runtime.stop({ mode: 'abort', grace: '1s' })
  const reports = await during(Promise.all([first, second, third]), 2_000)
  expect(reports[0]).toEqual({ completed: true, running: 0, dropped: 5 })
  expect(reports[1]).toEqual(reports[0])
  expect(reports[2]).toEqual(reports[0])
  expect(starts).toHaveLength(1)
})

test('a softer stop does not soften the first, a shorter timeout shortens it', async () => {
  const runtime = await runtimeWith(1)
  await runtime.enqueueMany(work, [{ ms: 10_000 }, { ms: 1 }])
  await clock.settle()
  const first = runtime.stop({ mode: 'finish', timeout: '1h' })
  const second = runtime.stop({ mode: 'drain', timeout: '2s' })
  expect(await during(Promise.all([first, second]), 4_000)).toEqual([
    { completed: false, running: 0, dropped: 2 },
    { completed: false, running: 0, dropped: 2 },
  ])
  await clock.advance(10_000)
})

test('each mode twice in a row gives the same report', async () => {
  for (const mode of ['drain', 'finish', 'abort'] as const) {
    const runtime = await runtimeWith(1)
    await runtime.enqueue(work, { ms: 10 })
    const report = await during(runtime.stop({ mode }), 100)
    expect(await runtime.stop({ mode })).toEqual(report)
    expect(await runtime.stop({ mode: 'abort' })).toEqual(report)
  }
})

test('a runtime that was never started stops at once', async () => {
  clock = new VirtualClock()
  const runtime = createRuntime({ jobs: [work], clock })
  await runtime.enqueue(work, { ms: 1 })
  expect(await runtime.stop({ mode: 'drain' })).toEqual({ completed: true, running: 0, dropped: 1 })
  await expect(runtime.start()).rejects.toMatchObject({ code: 'STOPPED' })
})

test('a stop while it starts wins', async () => {
  clock = new VirtualClock()
  const runtime = createRuntime({ jobs: [work], clock, logger })
  const starting = runtime.start().catch((error: JobchartError) => error.code)
  expect(await during(runtime.stop(), 10)).toMatchObject({ completed: true })
  expect(await starting).toBe('STOPPED')
  expect(runtime.state).toBe('stopped')
})

test('everything that waits is told when the runtime stops', async () => {
  clock = new VirtualClock()
  const { runtime } = await createTestRuntime({ jobs: [work], concurrency: 0, capacity: 1, clock, logger })
  const job = await runtime.enqueue(work, { ms: 1 })
  const result = job.result().catch((error: JobchartError) => error.code)
  const room = runtime.enqueue(work, { ms: 1 }).catch((error: JobchartError) => error.code)
  const drained = runtime.drain()
  const events: string[] = []
  runtime.events$.subscribe({ complete: () => events.push('events$') })
  runtime.transitions$().subscribe({ complete: () => events.push('transitions$') })
  runtime.pressure$.subscribe({ complete: () => events.push('pressure$') })
  runtime.state$.subscribe({ complete: () => events.push('state$') })
  await clock.settle()
  await during(runtime.stop(), 10)
  expect(await result).toBe('STOPPED')
  expect(await room).toBe('STOPPED')
  expect(await drained).toBe(false)
  await clock.settle()
  expect(events.toSorted()).toEqual(['events$', 'pressure$', 'state$', 'transitions$'])
})

test('await using stops it', async () => {
  clock = new VirtualClock()
  let kept: Runtime
  {
    await using runtime = createRuntime({ jobs: [work], clock })
    await runtime.start()
    kept = runtime
  }
  expect(kept.state).toBe('stopped')
})

test('two runtimes on one store do not know of each other: one stops, the other goes on', async () => {
  clock = new VirtualClock()
  starts.length = 0
  const store = memoryStore()
  const one = (await createTestRuntime({ jobs: [work], store, clock, logger })).runtime
  const two = (await createTestRuntime({ jobs: [work], store, clock, logger })).runtime
  const job = await one.enqueue(work, { ms: 10 })
  await clock.settle()
  await during(one.stop({ mode: 'abort' }), 1)
  await clock.advance(100)
  expect((await store.get([job.id]))[0]).toMatchObject({ state: 'done', worker: two.id })
  await during(two.stop(), 10)
})

/** A handler that ends so long after its signal has aborted. */
async function obeying(afterAbort: () => Promise<unknown>, store: Store = memoryStore()) {
  clock = new VirtualClock()
  const logged: string[] = []
  const job = defineJob({
    type: 'obeying',
    run: async (_: undefined, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      await afterAbort()
      throw signal.reason
    },
  })
  const warnings = { ...logger, warn: (message: string) => void logged.push(message) }
  const { runtime } = await createTestRuntime({ jobs: [job], store, clock, logger: warnings })
  const handle = await runtime.enqueue(job)
  await clock.settle()
  return { runtime, store, handle, logged }
}

test('a handler that ends soon after its signal has aborted is not reported as running, nor called stuck', async () => {
  for (const mode of ['drain', 'finish', 'abort'] as const) {
    const { runtime, store, handle, logged } = await obeying(() => clock.sleep(20))
    const report = await during(runtime.stop({ mode, timeout: '3s', grace: '1h' }), 4_000)
    expect(report, mode).toEqual({ completed: mode === 'abort', running: 0, dropped: 1 })
    expect((await store.get([handle.id]))[0]).toMatchObject({ state: 'queued', attempt: 0 })
    expect(logged).toEqual([])
  }
})

test('a handler that ends between the timeout and the report is not reported as running', async () => {
  const inner = memoryStore()
  let saysGoodbye = false
  const store: Store = {
    ...inner,
    async worker(id, info) {
      if (info === null) saysGoodbye = true
      if (info === null) await clock.sleep('500ms')
      return inner.worker(id, info)
    },
  }
  const { runtime } = await obeying(() => clock.sleep('300ms'), store)
  const report = await during(runtime.stop({ timeout: '3s' }), 5_000)
  expect(saysGoodbye).toBe(true)
  expect(report).toEqual({ completed: false, running: 0, dropped: 1 })
})
