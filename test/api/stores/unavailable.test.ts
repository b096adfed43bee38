/**
 * The store is away for a while: calls are repeated, nothing is done twice, and what was said to be stored is there.
 */
import { createClient, defineJob, memoryStore } from 'jobchart'
import { faultyStore, type FaultPlan } from 'jobchart/testing'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const job = defineJob<string, string>({ type: 'job', run: async (name) => name })

const held = defineJob<string, void>({
  type: 'held',
  run: (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
})

function setUp(faults: FaultPlan, seed = 1) {
  const inner = memoryStore()
  const store = faultyStore(inner, { seed, faults })
  return { ...world({ store, seed }), inner, faulty: store }
}

test('an enqueue is tried again while the store is away, and is one job whichever replies were lost', async () => {
  for (const fault of ['before', 'lostReply'] as const) {
    const { clock, inner, faulty, runtime } = setUp({ insert: { [fault]: 1 } })
    const worker = await runtime({ jobs: [job], concurrency: 0 })
    const call = worker.enqueue(job, 'x')
    await clock.advance(100)
    faulty.calm()
    await clock.advance('1s')
    const { id } = await call
    expect((await inner.list({})).map((record) => record.id)).toEqual([id])
  }
})

test('an enqueue that finds no store in the end says so, and may be repeated with its own id', async () => {
  const { clock, inner, faulty, runtime, expectLogged } = setUp({ insert: { lostReply: 1 } })
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  const call = worker.enqueue(job, 'x', { id: 'mine' }).catch((error: unknown) => error)
  await clock.advance('1s')
  expect(await call).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(faulty.done.get('insert')).toMatchObject({ calls: 4 })
  faulty.calm()
  expect(await worker.enqueue(job, 'x', { id: 'mine' })).toMatchObject({ id: 'mine', deduplicated: true })
  expect(await inner.list({})).toHaveLength(1)
  expectLogged('error')
})

test('a close does not leave a caller waiting whose write is being repeated', async () => {
  const { clock, store, faulty } = setUp({ insert: { before: 1 } })
  const client = createClient({ store, clock, jobs: [job] })
  const call = client.enqueue(job, 'x').catch((error: unknown) => error)
  await clock.settle()
  // It waits for its turn, so that nothing of it can have been written.
  const behind = client.enqueue(job, 'y').catch((error: unknown) => error)
  await clock.settle()
  await client.close()
  expect(await call).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(await behind).toMatchObject({ code: 'STOPPED' })
  expect([faulty.done.get('insert')?.calls, clock.pending]).toEqual([2, 0])
})

test('a write that was repeated is not repeated by the stop', async () => {
  const { clock, inner, faulty, runtime } = setUp({ insert: { before: 1 } })
  const worker = await runtime({ jobs: [job] })
  const call = worker.enqueue(job, 'x')
  await clock.advance(10)
  faulty.calm()
  await clock.advance('1s')
  const handle = await call
  await handle.result()
  await worker.discard(handle.id)
  const { calls } = faulty.done.get('insert') ?? { calls: 0 }
  await worker.stop()
  await clock.settle()
  expect(faulty.done.get('insert')?.calls).toBe(calls)
  expect(await inner.list({})).toEqual([])
})

test('the end of a job is written again until it is, and is its end once', async () => {
  for (const fault of ['before', 'lostReply'] as const) {
    const { clock, inner, faulty, runtime } = setUp({ settle: { [fault]: 1 } })
    const worker = await runtime({ jobs: [job] })
    const handle = await worker.enqueue(job, 'x')
    await clock.advance('5s')
    faulty.calm()
    await clock.advance('5s')
    expect(await handle.result()).toBe('x')
    const [record] = await inner.get([handle.id])
    expect(record?.history.map(({ event }) => event)).toEqual(['ENQUEUE', 'CLAIM', 'COMPLETE'])
  }
})

test('an end that cannot be written within the lease is given up, and the job runs again', async () => {
  const { clock, faulty, runtime, expectLogged } = setUp({ settle: { before: 1 } })
  const runs: number[] = []
  const counted = defineJob<string, string>({
    type: 'job',
    run: async (name, { attempt }) => (runs.push(attempt), name),
  })
  const worker = await runtime({ jobs: [counted] })
  const handle = await worker.enqueue(counted, 'x')
  await clock.advance('29s')
  expect(runs).toEqual([1])
  faulty.disturb({ settle: { before: 1 } })
  await clock.advance('20s')
  faulty.calm()
  await clock.advance('1m')
  expect(runs).toEqual([1, 2])
  expect(await handle.result()).toBe('x')
  expect(expectLogged('error')).toEqual([expect.stringContaining('could not be written')])
})

test('picks go on by themselves when the store is back', async () => {
  const { clock, faulty, runtime, expectLogged } = setUp({ claim: { before: 1 } })
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job, 'x')
  await clock.advance('10m')
  expect((await handle.record()).state).toBe('queued')
  expect((await worker.stats()).taken).toBe(0)
  // It asks again and again, but not as fast as it can.
  expect(faulty.done.get('claim')?.calls).toBeLessThan(150)
  faulty.calm()
  await clock.advance('6s')
  expect(await handle.result()).toBe('x')
  // Said once, not at every try.
  expect(expectLogged('error')).toHaveLength(1)
})

test('a pick whose reply was lost leaks no slot: its jobs are released when the store answers, and no attempt is spent', async () => {
  const { clock, faulty, runtime, expectLogged } = setUp({})
  const worker = await runtime({ jobs: [job, held], concurrency: 3 })
  const other = await worker.enqueue(held, 'x')
  await clock.settle()
  faulty.disturb({ claim: { lostReply: 1 } })
  const handles = await worker.enqueueMany(job, ['x', 'y'])
  await clock.settle()
  expect((await worker.stats()).taken).toBe(1)
  faulty.calm()
  faulty.disturb({ settle: { before: 1 } })
  await clock.advance('1s')
  faulty.calm()
  // It is tried again after the next claim.
  expect((await handles[0]!.record()).state).toBe('running')
  await worker.enqueue(job, 'z')
  await clock.advance('1s')
  expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(['x', 'y'])
  const { attempt, history } = await handles[0]!.record()
  expect([attempt, history.map(({ event }) => event)]).toEqual([
    1,
    ['ENQUEUE', 'CLAIM', 'RELEASE', 'CLAIM', 'COMPLETE'],
  ])
  expect(await other.record()).toMatchObject({ state: 'running', attempt: 1 })
  expectLogged('error')
})

test('a pick whose reply was lost comes back with its lease if the store answers too late to release it', async () => {
  const { clock, faulty, runtime, expectLogged } = setUp({})
  const worker = await runtime({ jobs: [job], concurrency: 1 })
  faulty.disturb({ claim: { lostReply: 1 } })
  const handle = await worker.enqueue(job, 'x')
  await clock.settle()
  faulty.disturb({ claim: { before: 1 } })
  await clock.advance('40s')
  faulty.calm()
  await clock.advance('10s')
  expect(await handle.result()).toBe('x')
  expect((await handle.record()).attempt).toBe(2)
  expectLogged('error')
})

test('delays, retries and rescues are late, but come', async () => {
  const { clock, faulty, runtime } = setUp({
    promote: { before: 0.7, lostReply: 0.2 },
    rescue: { before: 0.7 },
    prune: { before: 1 },
  })
  const flaky = defineJob<string, string>({
    type: 'job',
    retry: { backoff: () => '1s' },
    run: async (name, { attempt }) => {
      if (attempt === 1) throw new Error('again')
      return name
    },
  })
  const worker = await runtime({ jobs: [flaky] })
  const handles = []
  for (let n = 0; n < 20; n++) handles.push(await worker.enqueue(flaky, String(n), { delay: n * 100 }))
  await clock.advance('5m')
  expect(await worker.counts()).toMatchObject({ done: 20 })
  expect(faulty.done.get('promote')?.before).toBeGreaterThan(3)
  expect(await Promise.all(handles.map((handle) => handle.result()))).toHaveLength(20)
})

test('waits for results go on when the store is back', async () => {
  const { clock, faulty, runtime } = setUp({})
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  const handle = await worker.enqueue(job, 'x')
  faulty.disturb({ get: { before: 1 } })
  const result = handle.result()
  worker.concurrency = 1
  await clock.advance('10s')
  faulty.calm()
  await clock.advance('2s')
  expect(await result).toBe('x')
})

test('what is asked by hand is refused with STORE_UNAVAILABLE while the store is away', async () => {
  const { runtime, faulty } = setUp({})
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  const handle = await worker.enqueue(job, 'x')
  faulty.disturb({ every: { before: 1 } })
  const calls = [handle.record(), handle.cancel(), worker.list(), worker.counts(), worker.workers(), worker.retry('x')]
  const more = [worker.discard('x'), worker.queue('job').pause(), worker.stats(), worker.job('x')]
  for (const result of await Promise.allSettled([...calls, ...more])) {
    expect(result).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } })
  }
  faulty.calm()
})

test('a start that does not reach the store fails, and says so', async () => {
  const { faulty, idle } = setUp({ open: { before: 1 } })
  const worker = idle({ jobs: [job] })
  await expect(worker.start()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(worker.state).toBe('failed')
  faulty.calm()
})
