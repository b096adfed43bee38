/**
 * Handlers that block the event loop for longer than a lease: nobody else can have taken their jobs where nobody else
 * is.
 */
import { defineJob, memoryStore, type Duration, type Runtime, type Store } from 'jobchart'
import { faultyStore, type VirtualClock } from 'jobchart/testing'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

interface Blocking {
  readonly blocks: Duration
  /** What it does after that. */
  readonly after: 'return' | 'wait' | 'step'
}

/** A job that blocks the loop and then goes on, as its input says; how often it was started, and why it was aborted. */
function blocking(clock: VirtualClock) {
  const starts: number[] = []
  const aborts: string[] = []
  const job = defineJob<Blocking, string>({
    type: 'blocking',
    run: async ({ blocks, after }, { attempt, signal, step }) => {
      starts.push(attempt)
      signal.addEventListener('abort', () => aborts.push((signal.reason as { code: string }).code))
      clock.block(blocks)
      if (after === 'wait') await clock.sleep('10s', signal)
      if (after === 'step') await step('after', () => clock.sleep('10s'))
      return 'did it'
    },
  })
  return { job, starts, aborts }
}

const ways: readonly Blocking['after'][] = ['return', 'wait', 'step']

test.each(ways)(
  'on the memory store a run that blocks for three leases and then goes on (%s) is run once',
  async (after) => {
    const { clock, runtime } = world()
    const { job, starts, aborts } = blocking(clock)
    const worker = await runtime({ jobs: [job], concurrency: 4 })
    const handles = await worker.enqueueMany(
      job,
      (['90s', '1m', '2m'] as const).map((blocks) => ({ blocks, after })),
    )
    await clock.advance('10m')
    expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(['did it', 'did it', 'did it'])
    expect([starts, aborts]).toEqual([[1, 1, 1], []])
  },
)

test('a run that was going on while another one blocked the loop goes on', async () => {
  const { clock, runtime } = world()
  const { job, starts } = blocking(clock)
  const aborts: unknown[] = []
  const long = defineJob<undefined, number>({
    type: 'long',
    run: async (_input, { attempt, signal }) => {
      await clock.sleep('20m', signal).catch((reason: unknown) => {
        aborts.push(reason)
        throw reason
      })
      return attempt
    },
  })
  const worker = await runtime({ jobs: [job, long] })
  const handle = await worker.enqueue(long)
  await clock.advance('11s')
  await worker.enqueue(job, { blocks: '5m', after: 'return' })
  await clock.advance('40m')
  expect([await handle.result(), starts, aborts]).toEqual([1, [1], []])
})

test('a block in one runtime of a process does not cost the runs of another one their leases', async () => {
  const memory = memoryStore()
  const { clock, runtime } = world({
    // The answer to a heartbeat takes a moment, in which the other runtime could look for expired leases.
    store: { ...memory, extend: (request) => clock.sleep(100).then(() => memory.extend(request)) },
  })
  const { job } = blocking(clock)
  const starts: number[] = []
  const long = defineJob<undefined, void>({
    type: 'long',
    run: async (_input, { attempt, signal }) => {
      starts.push(attempt)
      await clock.sleep('20m', signal)
    },
  })
  const first = await runtime({ jobs: [job] })
  const second = await runtime({ jobs: [long] })
  const third = await runtime({ jobs: [job] })
  for (const blocked of [first, third]) {
    const handle = await second.enqueue(long)
    await clock.advance('11s')
    await blocked.enqueue(job, { blocks: '5m', after: 'return' })
    await clock.advance('40m')
    expect((await handle.record()).attempt).toBe(1)
  }
  expect(starts).toEqual([1, 1])
})

test('a job with one attempt whose start was held up by another one that blocked is not dead without having run', async () => {
  const { clock, runtime } = world()
  const starts: number[] = []
  const once = defineJob<number>({
    type: 'once',
    retry: { maxAttempts: 1 },
    run: async (n) => {
      starts.push(n)
      if (n === 1) clock.block('2m')
    },
  })
  const worker = await runtime({ jobs: [once], concurrency: 0 })
  await worker.enqueueMany(once, [1, 2])
  worker.concurrency = 2
  await clock.advance('5m')
  expect(await worker.counts()).toMatchObject({ done: 2, dead: 0 })
  expect(starts).toEqual([1, 2])
})

test('what a worker has left that is not heard of any more is still taken back after a block', async () => {
  const { clock, store, runtime } = world()
  const { job, starts } = blocking(clock)
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  const left = await worker.enqueue(job, { blocks: '1ms', after: 'return' })
  const limits = { concurrency: null, perKey: null, rate: null }
  await store.claim({ worker: 'dead', leaseMs: 30_000, token: 't', demand: [{ type: 'blocking', max: 1, limits }] })
  worker.concurrency = 1
  await worker.enqueue(job, { blocks: '2m', after: 'return' })
  await clock.advance('20s')
  expect(await left.record()).toMatchObject({ state: 'done', attempt: 2 })
  expect(starts).toEqual([1, 2])
})

test('a run whose lease cannot be made longer after a block is aborted before anybody takes its job', async () => {
  const store = faultyStore(memoryStore(), { seed: 1, faults: { extend: { before: 1 } } })
  const { clock, runtime } = world({ store })
  const { job, starts, aborts } = blocking(clock)
  const worker = await runtime({ jobs: [job] })
  let expired = 0
  worker.events$.subscribe(({ event }) => {
    if (event === 'EXPIRE') expect(aborts.length).toBeGreaterThan(expired++)
  })
  await worker.enqueue(job, { blocks: '2m', after: 'wait' })
  await clock.advance('1m')
  expect(aborts[0]).toBe('LEASE_LOST')
  // The block ends at two minutes, and other runtimes have a third of the lease to renew theirs.
  await clock.advance('75s')
  expect(starts.length).toBeGreaterThan(1)
  store.calm()
  await clock.advance('10m')
})

/** A store that other processes share, so that any of them may take what has expired. */
const shared = (inner: Store): Store => ({ ...inner, capabilities: { durable: true, shared: true } })

async function blockOnShared(after: Blocking['after'], duringBlock: (store: Store) => unknown) {
  const store = shared(memoryStore())
  const { clock, runtime } = world({ store })
  const starts: number[] = []
  const job = defineJob<undefined, number>({
    type: 'job',
    run: async (_input, { attempt, signal }) => {
      starts.push(attempt)
      if (attempt > 1) return attempt
      clock.block('2m')
      duringBlock(store)
      if (after === 'wait') await clock.sleep('10s', signal)
      return attempt
    },
  })
  const worker: Runtime = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job)
  await clock.advance('2m')
  return { starts, result: await handle.result() }
}

test('on a shared store a handler that returned after a block is settled if nobody has taken its job', async () => {
  expect(await blockOnShared('return', () => {})).toEqual({ starts: [1], result: 1 })
})

test('it is refused if somebody has, and one that goes on is aborted', async () => {
  const took = await blockOnShared('return', (store) => store.rescue(10))
  expect(took).toEqual({ starts: [1, 2], result: 2 })
  expect(await blockOnShared('wait', () => {})).toEqual({ starts: [1, 2], result: 2 })
})

test('a handler that does not heed the loss of its lease and returns is settled if nobody has taken its job', async () => {
  const store = faultyStore(shared(memoryStore()), { seed: 1, faults: {} })
  const { clock, runtime } = world({ store })
  const starts: number[] = []
  const job = defineJob<undefined, number>({
    type: 'job',
    run: async (_input, { attempt, signal }) => {
      starts.push(attempt)
      await clock.sleep('28s')
      expect(signal.aborted).toBe(true)
      return attempt
    },
  })
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job)
  await clock.settle()
  store.disturb({ extend: { before: 1 } })
  await clock.advance('1m')
  expect(starts).toEqual([1])
  expect(await handle.record()).toMatchObject({ state: 'done', output: 1 })
})
