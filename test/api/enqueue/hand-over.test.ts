/** `capacity: 0`: a job is stored only when a worker has a free slot for it. */
import { createClient, defineJob, fatal, memoryStore, type Pressure, type Store } from 'jobchart'
import { expect, test } from 'vitest'
import { seededRandom } from '../../../src/core/clock.ts'
import { workerInfo } from '../../../src/store-testing/conformance/acts.ts'
import { fileStore } from '../../support/file-store.ts'
import { world } from '../../support/leaks.ts'

/** A job type whose runs end when the test says so. */
function handed(options: { readonly concurrency?: number; readonly capacity?: number; readonly type?: string } = {}) {
  const ends: (() => void)[] = []
  const order: number[] = []
  const job = defineJob<number, void>({
    type: 'handed',
    capacity: 0,
    ...options,
    run: (n, { signal }) => {
      order.push(n)
      return new Promise((resolve) => {
        ends.push(resolve)
        signal.addEventListener('abort', () => resolve())
      })
    },
  })
  return { job, order, end: () => ends.shift()?.() }
}

const other = defineJob<number, void>({ type: 'other', run: () => {} })

/** Which of these calls have been answered so far, and how. */
function watch(calls: Readonly<Record<string, Promise<unknown>>>): Record<string, unknown> {
  const answers: Record<string, unknown> = {}
  for (const [name, call] of Object.entries(calls)) {
    call.then(
      (handle) => (answers[name] = handle === null ? 'no slot' : 'stored'),
      (error: { code: string }) => (answers[name] = error.code),
    )
  }
  return answers
}

test('enqueue waits for a free slot, first come, first served, and tryEnqueue does not wait', async () => {
  const { clock, store, runtime } = world()
  const { job, order, end } = handed()
  const worker = await runtime({ jobs: [job], concurrency: 2 })
  const answers = watch(Object.fromEntries([1, 2, 3, 4].map((n) => [n, worker.enqueue(job, n)])))
  await clock.settle()
  expect(answers).toEqual({ 1: 'stored', 2: 'stored' })
  expect(await worker.tryEnqueue(job, 5)).toBeNull()
  expect((await store.counts()).types['handed']).toMatchObject({ running: 2, queued: 0 })
  end()
  await clock.settle()
  expect(answers).toEqual({ 1: 'stored', 2: 'stored', 3: 'stored' })
  expect(order).toEqual([1, 2, 3])
  end()
  end()
  await clock.settle()
  expect(await worker.tryEnqueue(job, 6)).not.toBeNull()
  expect(order).toEqual([1, 2, 3, 4, 6])
})

test('a wait ends with its timeout or its signal, and a stop ends all', async () => {
  const { clock, runtime } = world()
  const { job } = handed()
  const worker = await runtime({ jobs: [job], concurrency: 1 })
  await worker.enqueue(job, 1)
  const controller = new AbortController()
  const cause = worker.enqueue(job, 2, { timeout: '1s' }).catch((error: Error) => error.cause)
  const answers = watch({ a: worker.enqueue(job, 3, { signal: controller.signal }), b: worker.enqueue(job, 4) })
  await clock.advance('1s')
  expect(await cause).toMatchObject({
    code: 'CAPACITY',
    message: 'no room: no worker has a free slot for jobs of type handed',
  })
  controller.abort()
  await clock.settle()
  expect(answers).toEqual({ a: 'ABORTED' })
  void worker.stop({ mode: 'abort' })
  await clock.settle()
  expect(answers).toEqual({ a: 'ABORTED', b: 'STOPPED' })
})

test('a start, more slots, a resume of the queue and of the runtime each give room at once', async () => {
  const { clock, idle } = world()
  const { job } = handed()
  const worker = idle({ jobs: [job], concurrency: 0 })
  const answers: Record<string, unknown> = watch({ a: worker.enqueue(job, 1) })
  await clock.settle()
  expect(answers).toEqual({})
  await worker.start()
  await clock.settle()
  expect(answers).toEqual({})
  worker.concurrency = 1
  await clock.settle()
  expect(answers).toEqual({ a: 'stored' })
  await worker.pause()
  worker.concurrency = 2
  expect(await worker.tryEnqueue(job, 2)).toBeNull()
  const b = watch({ b: worker.enqueue(job, 2) })
  await clock.settle()
  expect(b).toEqual({})
  await worker.resume()
  await clock.settle()
  expect(b).toEqual({ b: 'stored' })
  worker.concurrency = 3
  await worker.queue('handed').pause()
  expect(await worker.tryEnqueue(job, 3)).toBeNull()
  const c = watch({ c: worker.enqueue(job, 3) })
  await worker.queue('handed').resume()
  await clock.settle()
  expect(c).toEqual({ c: 'stored' })
})

test.each<[string, () => Store]>([
  ['memory', memoryStore],
  ['sqlite', fileStore],
])('on %s the slots of all runtimes count, and each call takes one', async (_, create) => {
  const { clock, store, runtime } = world({ store: create() })
  await store.open({ clock })
  const { job } = handed()
  const one = await runtime({ jobs: [job], concurrency: 2 })
  const two = await runtime({ jobs: [job, other], concurrency: 3 })
  await runtime({ jobs: [other], concurrency: 7 })
  await using client = createClient({ store, jobs: [job], clock })
  const tries = Array.from({ length: 12 }, (_each, n) => [one, two, client][n % 3]?.tryEnqueue(job, n))
  expect((await Promise.all(tries)).filter((handle) => handle !== null)).toHaveLength(5)
  await clock.settle()
  expect(await client.tryEnqueue(job, 0)).toBeNull()
})

test('queued jobs go first, whatever their weight; the concurrency of the type is kept', async () => {
  const { clock, runtime } = world()
  const { job } = handed({ concurrency: 2 })
  const blocking = handed({ type: 'blocking', capacity: 1_000 })
  const worker = await runtime({ jobs: [job, blocking.job], concurrency: 4 })
  const calls = [
    ...[1, 2, 3].map((n) => worker.enqueue(blocking.job, n)),
    worker.tryEnqueue(job, 1),
    worker.tryEnqueue(job, 2),
  ]
  expect((await Promise.all(calls)).map((answer) => answer === null)).toEqual([false, false, false, false, true])
  blocking.end()
  blocking.end()
  await clock.settle()
  expect(await worker.tryEnqueue(job, 3)).not.toBeNull()
  expect(await worker.tryEnqueue(job, 4)).toBeNull()
})

test('enqueueMany waits until there is a slot for each of its jobs', async () => {
  const { clock, runtime } = world()
  const { job, end } = handed()
  const worker = await runtime({ jobs: [job], concurrency: 2 })
  await worker.enqueue(job, 1)
  const answers = watch({
    many: worker.enqueueMany(job, [2, 3]),
    three: worker.enqueueMany(job, [4, 5, 6], { timeout: '5s' }),
  })
  await clock.advance('1s')
  expect(answers).toEqual({})
  end()
  await clock.advance('1s')
  expect(answers).toEqual({ many: 'stored' })
  end()
  end()
  await clock.advance('5s')
  expect(answers).toEqual({ many: 'stored', three: 'TIMEOUT' })
})

test('a duplicate needs no slot', async () => {
  const { runtime } = world()
  const { job } = handed()
  const worker = await runtime({ jobs: [job], concurrency: 1 })
  const first = await worker.enqueue(job, 1, { unique: true })
  const second = await worker.enqueue(job, 1, { unique: true })
  expect([second.id, second.deduplicated]).toEqual([first.id, true])
  expect((await worker.enqueue(job, 1, { id: first.id })).deduplicated).toBe(true)
})

test('a run that enqueues, a schedule and a retry do not wait: their jobs stand in the queue', async () => {
  const { clock, runtime } = world()
  const runs: number[] = []
  const job = defineJob<number, void>({
    type: 'handed',
    capacity: 0,
    retry: { maxAttempts: 1 },
    run: async (n, { enqueue }) => {
      runs.push(n)
      if (n === 1) await enqueue(job, 2)
      if (n === 3) throw fatal('once')
    },
  })
  const worker = await runtime({ jobs: [job], concurrency: 1 })
  await worker.enqueue(job, 1)
  await clock.settle()
  expect(runs).toEqual([1, 2])
  const dead = await worker.enqueue(job, 3)
  await clock.settle()
  await worker.pause()
  await dead.retry()
  await worker.schedule('tick', '@every 10s', job, 4)
  await clock.advance('11s')
  expect((await worker.queue('handed').stats()).counts.queued).toBe(2)
  await worker.resume()
  await clock.settle()
  expect(runs).toEqual([1, 2, 3, 3, 4])
})

test('a job whose worker dies after the hand-over waits for another one', async () => {
  const { clock, store, runtime } = world()
  const { job, order } = handed()
  await store.open({ clock })
  await store.worker('lost', workerInfo('lost', { slots: 1, types: ['handed'], leaseMs: 5_000 }))
  await using client = createClient({ store, jobs: [job], clock })
  expect(await client.tryEnqueue(job, 1)).not.toBeNull()
  await clock.advance('5s')
  expect(await client.tryEnqueue(job, 2)).toBeNull()
  expect(order).toEqual([])
  await runtime({ jobs: [job] })
  await clock.settle()
  expect(order).toEqual([1])
})

test('with a capacity of 0 a runtime hands over every type', async () => {
  const { clock, store, runtime } = world()
  const { job } = handed({ capacity: 5 })
  const worker = await runtime({ jobs: [job, other], capacity: 0, concurrency: 1 })
  await worker.enqueue(job, 1)
  await clock.settle()
  expect(await worker.tryEnqueue(job, 2)).toBeNull()
  expect(await worker.tryEnqueue(other, 3)).toBeNull()
  await using client = createClient({ store, clock, capacity: 0 })
  const answers = watch({ byName: client.enqueueByName('other', 4, { timeout: '1s' }) })
  await clock.advance('1s')
  expect(answers).toEqual({ byName: 'TIMEOUT' })
})

test('pressure$ names the types without a free slot', async () => {
  const { clock, runtime } = world()
  const { job, end } = handed()
  const worker = await runtime({ jobs: [job, other], concurrency: 1 })
  const seen: Pressure[] = []
  worker.pressure$.subscribe((pressure) => void seen.push(pressure))
  await clock.advance('1s')
  expect(seen.at(-1)).toEqual({ waiting: 0, capacity: null, full: false, fullTypes: [] })
  await worker.enqueue(job, 1)
  await clock.advance('1s')
  expect(seen.at(-1)).toEqual({ waiting: 0, capacity: null, full: false, fullTypes: ['handed'] })
  end()
  await clock.advance('1s')
  expect(seen.at(-1)?.fullTypes).toEqual([])
  expect(await worker.queue('handed').stats()).toMatchObject({ capacity: 0 })
})

test('a delay is refused, and so are limits by which a job that was handed over would have to wait', async () => {
  const { runtime } = world()
  const { job } = handed()
  const worker = await runtime({ jobs: [job] })
  const refusal = { code: 'INVALID_OPTION', message: expect.stringContaining('cannot have a delay') as string }
  await expect(worker.enqueue(job, 1, { delay: '1s' })).rejects.toMatchObject(refusal)
  await expect(worker.tryEnqueue(job, 1, { runAt: new Date(2e12) })).rejects.toMatchObject(refusal)
  const concurrencyKey = (): string => 'k'
  for (const limit of [{ rateLimit: { limit: 1, per: '1s' } }, { concurrencyKey }] as const) {
    expect(() => defineJob({ type: 'job', capacity: 0, ...limit, run: () => {} })).toThrow('no 0 beside a rate limit')
  }
  expect(defineJob({ type: 'job', capacity: 0, concurrencyKey, keyWeight: () => 1, run: () => {} }).capacity).toBe(0)
})

test.each(Array.from({ length: 20 }, (_, i) => i + 1))(
  'whatever the runs take, no job waits in the queue, and all run in order (seed %i)',
  async (seed) => {
    const { clock, runtime } = world({ seed })
    const random = seededRandom(seed)
    const started: number[] = []
    const waits: number[] = []
    const job = defineJob<number, void>({
      type: 'handed',
      capacity: 0,
      run: async (n, { job: { startedAt, enqueuedAt } }) => {
        started.push(n)
        waits.push((startedAt ?? Infinity) - enqueuedAt)
        await clock.sleep(Math.floor(random() * 500))
      },
    })
    const slots = 1 + Math.floor(random() * 4)
    const worker = await runtime({ jobs: [job], concurrency: slots })
    const calls = Array.from({ length: 40 }, (_, n) => worker.run(job, n))
    await clock.advance('60s')
    await Promise.all(calls)
    expect(started).toEqual(Array.from({ length: 40 }, (_, n) => n))
    expect(Math.max(...waits)).toBe(0)
  },
)
