import { createClient, defineJob, type Pressure } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

function setUp() {
  const made = world()
  const define = (type: string, weight: number) =>
    defineJob<number, void>({ type, weight, run: (ms, { signal }) => made.clock.sleep(ms, signal) })
  return { ...made, a: define('a', 3), b: define('b', 1) }
}

test('pressure$ tells how full the backlog is: now, then whenever that has changed', async () => {
  const { clock, runtime, a } = setUp()
  const worker = await runtime({ jobs: [a], capacity: 3, concurrency: 0 })
  const seen: Pressure[] = []
  worker.pressure$.subscribe((pressure) => seen.push(pressure))
  await clock.settle()
  await worker.enqueueMany(a, [1, 2])
  await clock.advance('1s')
  await worker.enqueue(a, 1, { delay: '1h' })
  await clock.advance('1s')
  worker.concurrency = 5
  await clock.advance('1s')
  const capacity = 3
  expect(seen).toEqual([
    { waiting: 0, capacity, full: false, fullTypes: [] },
    { waiting: 2, capacity, full: false, fullTypes: [] },
    { waiting: 3, capacity, full: true, fullTypes: [] },
    { waiting: 1, capacity, full: false, fullTypes: [] },
  ])
})

test('pressure$ without a capacity is never full', async () => {
  const { clock, runtime, a } = setUp()
  const worker = await runtime({ jobs: [a], concurrency: 0 })
  await worker.enqueueMany(a, Array(1_000).fill(1))
  const seen: Pressure[] = []
  worker.pressure$.subscribe((pressure) => seen.push(pressure))
  await clock.settle()
  expect(seen).toEqual([{ waiting: 1_000, capacity: null, full: false, fullTypes: [] }])
})

test('figures are told ten times a second at most, and the last one always', async () => {
  const { clock, runtime, a } = setUp()
  const worker = await runtime({ jobs: [a], concurrency: 0 })
  const seen: number[] = []
  worker.pressure$.subscribe(({ waiting }) => seen.push(waiting))
  for (let n = 1; n <= 500; n++) {
    await worker.enqueue(a, 1)
    await clock.advance(2)
  }
  await clock.advance('1s')
  expect(seen.length).toBeLessThanOrEqual(13)
  expect(seen.at(-1)).toBe(500)
})

test('the latency of a queue is the age of its first queued job', async () => {
  const { clock, runtime, a } = setUp()
  const worker = await runtime({ jobs: [a], concurrency: 0 })
  const latency = async (): Promise<number> => (await worker.queue('a').stats()).latencyMs
  expect(await latency()).toBe(0)
  const first = await worker.enqueue(a, 1)
  await clock.advance('3s')
  await worker.enqueue(a, 2)
  await clock.advance('1s')
  expect(await latency()).toBe(4_000)
  expect((await worker.queues()).map(({ type, latencyMs }) => [type, latencyMs])).toEqual([['a', 4_000]])
  expect((await worker.stats()).queues.map(({ latencyMs }) => latencyMs)).toEqual([4_000])
  await worker.enqueue(a, 3, { priority: 5 })
  await clock.advance('1s')
  expect(await latency()).toBe(1_000)
  await worker.cancel({ type: 'a' })
  expect(await latency()).toBe(0)
  expect((await first.record()).state).toBe('cancelled')
})

test('stats$ of a queue tells that it was paused and resumed', async () => {
  const { clock, store, runtime, a } = setUp()
  const worker = await runtime({ jobs: [a], concurrency: 0 })
  const seen: boolean[] = []
  worker.queue('a').stats$.subscribe(({ paused }) => seen.push(paused))
  await clock.advance('1s')
  await worker.queue('a').pause()
  await clock.advance('1s')
  await store.queue('a', { paused: false })
  await clock.advance('1s')
  expect(seen).toEqual([false, true, false])
})

test('nobody who listens costs anything: no timer, no question to the store', async () => {
  const { clock, runtime, a } = setUp()
  const worker = await runtime({ jobs: [a] })
  const before = clock.pending
  const subscription = worker.pressure$.subscribe(() => {})
  await worker.enqueue(a, 1)
  await clock.settle()
  subscription.unsubscribe()
  await clock.advance('1s')
  expect(clock.pending).toBe(before)
})

test('queue.stats() says what is there, its weight, and the share it was given', async () => {
  const { clock, runtime, a, b } = setUp()
  const worker = await runtime({ jobs: [a, b], concurrency: 1 })
  await worker.queue('a').pause()
  await worker.queue('b').pause()
  await worker.enqueueMany(a, Array(60).fill(1))
  await worker.enqueueMany(b, Array(60).fill(1))
  await Promise.all([worker.queue('a').resume(), worker.queue('b').resume()])
  await clock.advance(40)
  const [one, two] = [await worker.queue('a').stats(), await worker.queue('b').stats()]
  expect(one).toMatchObject({ type: 'a', paused: false, weight: 3, expectedShare: 0.75 })
  expect(two).toMatchObject({ type: 'b', paused: false, weight: 1, expectedShare: 0.25 })
  expect(one.given + two.given).toBe(one.counts.done + one.counts.running + two.counts.done + two.counts.running)
  expect(one.share).toBeCloseTo(0.75, 1)
  expect(one.share + two.share).toBeCloseTo(1)
})

test('queue.stats$ follows, and counts add up at every moment', async () => {
  const { clock, runtime, a } = setUp()
  const worker = await runtime({ jobs: [a], concurrency: 2 })
  const sums: number[] = []
  worker
    .queue('a')
    .stats$.subscribe(({ counts }) => sums.push(Object.values(counts).reduce((sum, count) => sum + count)))
  await clock.settle()
  await worker.enqueueMany(a, Array(50).fill(100))
  await clock.advance('1m')
  expect(sums[0]).toBe(0)
  expect(new Set(sums.slice(1))).toEqual(new Set([50]))
  expect(sums.length).toBeGreaterThan(10)
})

test('stats() is the whole picture of a runtime', async () => {
  const { clock, runtime, a, b } = setUp()
  const worker = await runtime({ jobs: [a, b], concurrency: 4 })
  await worker.enqueueMany(a, [1_000, 1_000, 5_000])
  await clock.settle()
  expect(await worker.stats()).toMatchObject({ state: 'running', concurrency: 4, taken: 3, running: 3, abandoned: 0 })
  expect((await worker.stats()).queues.map(({ type, counts }) => [type, counts.running])).toEqual([
    ['a', 3],
    ['b', 0],
  ])
  await clock.advance('2s')
  await worker.pause()
  expect(await worker.stats()).toMatchObject({ state: 'paused', taken: 1, running: 1 })
})

test('counts() are of every type in the store, known to this runtime or not', async () => {
  const { clock, store, runtime, a, b } = setUp()
  const worker = await runtime({ jobs: [a], concurrency: 0 })
  const client = createClient({ store, clock, jobs: [b] })
  await client.enqueue(b, 1)
  await worker.enqueue(a, 1)
  expect(await worker.counts()).toMatchObject({ queued: 2, types: { a: { queued: 1 }, b: { queued: 1 } } })
  await client.close()
})

test('state$ of a runtime tells its life, and completes when it has stopped', async () => {
  const { idle, a } = setUp()
  const worker = idle({ jobs: [a] })
  const states: string[] = []
  worker.state$.subscribe({ next: (state) => states.push(state), complete: () => states.push('complete') })
  await worker.start()
  await worker.pause()
  await worker.resume()
  await worker.stop()
  expect(states).toEqual(['idle', 'starting', 'running', 'paused', 'running', 'stopping', 'stopped', 'complete'])
  expect(worker.actor.getSnapshot().status).toBe('done')
})
