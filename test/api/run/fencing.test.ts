/** A worker that may have lost its leases stops by itself, before anybody else may start its jobs. */
import { defineJob, JobchartError, memoryStore, type Store } from 'jobchart'
import { createTestRuntime, faultyStore, VirtualClock } from 'jobchart/testing'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const start = Date.UTC(2026, 0, 1)

/** A job that sleeps until its signal aborts, and notes when and why it did. */
function setUp(store: Store) {
  const made = world({ store })
  const aborts: [code: string, afterMs: number][] = []
  const starts: number[] = []
  const job = defineJob<undefined, string>({
    type: 'job',
    retry: { maxAttempts: 5, backoff: () => 1 },
    run: async (_input, { signal }) => {
      starts.push(made.clock.now() - start)
      if (starts.length > 1) return 'again'
      await made.clock.sleep('1h', signal).catch((reason: JobchartError) => {
        aborts.push([reason.code, made.clock.now() - start])
        throw reason
      })
      return 'first'
    },
  })
  return { ...made, aborts, starts, job }
}

test('when heartbeats fail the signal aborts with LEASE_LOST before the lease has run out', async () => {
  const store = faultyStore(memoryStore(), { seed: 1, faults: { extend: { before: 1 } } })
  const { clock, runtime, aborts, starts, job } = setUp(store)
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('2m')
  expect(aborts).toEqual([['LEASE_LOST', expect.any(Number)]])
  const [[, abortedAt = 0] = []] = aborts
  expect(abortedAt).toBeGreaterThanOrEqual(27_000)
  expect(abortedAt).toBeLessThan(30_000)
  expect(starts[1]).toBeGreaterThanOrEqual(30_000)
  store.calm()
  await clock.advance('2m')
  expect(await handle.result()).toBe('again')
})

test('when heartbeats are not answered at all it aborts in time, too', async () => {
  const inner = memoryStore()
  const store: Store = { ...inner, extend: () => new Promise(() => {}) }
  const { clock, runtime, aborts, job } = setUp(store)
  await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  expect(aborts).toEqual([['LEASE_LOST', expect.any(Number)]])
  expect(aborts[0]?.[1]).toBeGreaterThanOrEqual(27_000)
  expect(aborts[0]?.[1]).toBeLessThan(30_000)
})

test('heartbeats whose replies are lost do not prove that the lease was extended', async () => {
  const store = faultyStore(memoryStore(), { seed: 1, faults: { extend: { lostReply: 1 } } })
  const { clock, runtime, aborts, job } = setUp(store)
  await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  expect(aborts).toEqual([['LEASE_LOST', expect.any(Number)]])
  expect(aborts[0]?.[1]).toBeLessThan(30_000)
})

test('one heartbeat that fails is no reason to stop', async () => {
  const inner = memoryStore()
  let heartbeats = 0
  const down = new JobchartError('STORE_UNAVAILABLE', 'down')
  const store: Store = {
    ...inner,
    extend: (request) => (++heartbeats % 3 === 0 ? inner.extend(request) : Promise.reject(down)),
  }
  const { clock, runtime, aborts, starts, job } = setUp(store)
  await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('59m')
  expect([aborts, starts.length]).toEqual([[], 1])
})

test('a process that was asleep notices at once that its leases may be gone, on a store that others share', async () => {
  const { clock, runtime, aborts, job } = setUp({ ...memoryStore(), capabilities: { durable: true, shared: true } })
  let asleepMs = 0
  Object.assign(clock, { boot: () => clock.monotonic() + asleepMs + 0.5 })
  await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('5s')
  // While a machine sleeps, its monotonic clock stands still; boot time and the wall go on.
  asleepMs = 3_600_000
  clock.jump(asleepMs)
  await clock.advance('5s')
  expect(aborts).toEqual([['LEASE_LOST', expect.any(Number)]])
  const [[, abortedAt = 0] = []] = aborts
  expect(abortedAt - 3_600_000).toBeLessThan(5_000 + 2_000)
  await clock.advance('1m')
})

test('a wall clock that is set back takes no lease and gives none', async () => {
  const { clock, runtime, aborts, starts, job } = setUp(memoryStore())
  await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('5s')
  clock.jump(-3_600_000)
  await clock.advance('10m')
  expect([aborts, starts.length]).toEqual([[], 1])
})

test('a wall clock that is set back does not keep a lease that cannot be extended', async () => {
  const { clock, runtime, aborts, job } = setUp(
    faultyStore(memoryStore(), { seed: 1, faults: { extend: { before: 1 } } }),
  )
  const worker = await runtime({ jobs: [job] })
  await worker.enqueue(job)
  clock.jump(-3_600_000)
  await clock.advance('30s')
  expect(aborts).toEqual([['LEASE_LOST', expect.any(Number)]])
  clock.jump(3_600_000)
  await clock.advance('1m')
})

test('a handler that ignores the loss is stuck after its grace: its slot is free, its result goes nowhere', async () => {
  const store = faultyStore(memoryStore(), { seed: 1, faults: { extend: { before: 1 } } })
  const { clock, runtime } = world({ store })
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const outputs: number[] = []
  const job = defineJob<undefined, number>({
    type: 'job',
    run: async (_input, { attempt }) => {
      outputs.push(attempt)
      if (attempt === 1) await gate
      return attempt
    },
  })
  const worker = await runtime({ jobs: [job], concurrency: 1, grace: '5s' })
  const handle = await worker.enqueue(job)
  await clock.advance('30s')
  store.calm()
  await clock.advance('1m')
  expect(outputs).toEqual([1, 2])
  expect(await handle.result()).toBe(2)
  expect((await worker.stats()).abandoned).toBe(1)
  open()
  await clock.settle()
  expect(await handle.record()).toMatchObject({ state: 'done', output: 2, attempt: 2 })
})

test('it is stuck after its grace however long the store stays away, and its lease is not extended behind its back', async () => {
  const store = faultyStore(memoryStore(), { seed: 1, faults: { extend: { before: 1 } } })
  const { clock, runtime } = world({ store })
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const starts: number[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    run: async (_input, { attempt }) => {
      starts.push(attempt)
      if (attempt === 1) await gate
    },
  })
  const worker = await runtime({ jobs: [job], concurrency: 2, grace: '10s' })
  await worker.enqueue(job)
  await clock.advance('28s')
  store.calm()
  await clock.advance('8s')
  store.disturb({ extend: { before: 1 } })
  expect([starts, (await worker.stats()).abandoned]).toEqual([[1, 2], 0])
  await clock.advance('10s')
  expect((await worker.stats()).abandoned).toBe(1)
  open()
  await clock.settle()
  store.calm()
})

test('a run beside the one that was lost has a life of its own', async () => {
  const store = faultyStore(memoryStore(), { seed: 1, faults: { extend: { before: 1 } } })
  const { clock, runtime } = world({ store })
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const starts: number[] = []
  const job = defineJob<undefined, number>({
    type: 'job',
    run: async (_input, { attempt, signal }) => {
      starts.push(attempt)
      // The first is deaf, the second needs its heartbeats for longer than a lease.
      await (attempt === 1 ? gate : clock.sleep('2m', signal))
      return attempt
    },
  })
  const worker = await runtime({ jobs: [job], concurrency: 2, grace: '40s' })
  const handle = await worker.enqueue(job)
  await clock.advance('29s')
  store.calm()
  await clock.advance('61s')
  expect(starts).toEqual([1, 2])
  open()
  await clock.advance('5m')
  expect(starts).toEqual([1, 2])
  expect(await handle.result()).toBe(2)
})

test('a job whose claim was answered after its lease ran out is not started by the late one', async () => {
  const clock = new VirtualClock()
  const inner = memoryStore({ clock })
  let lateMs = 0
  const late: Store = {
    ...inner,
    claim: async (request) => {
      const answer = await inner.claim(request)
      if (lateMs > 0 && answer.jobs.length > 0) await clock.sleep(lateMs)
      return answer
    },
  }
  const starts: number[] = []
  const job = defineJob({ type: 'job', run: async (_: undefined, { attempt }) => void starts.push(attempt) })
  const { runtime } = await createTestRuntime({ jobs: [job], store: late, clock, lease: '1s', logger: {} })
  lateMs = 5_000
  await runtime.enqueue(job)
  await clock.advance('4s')
  lateMs = 0
  await clock.advance('10s')
  expect(starts).toEqual([2])
  await runtime.stop()
})

test('a run whose claim was slow to answer is aborted before its lease has run out, although no beat was due', async () => {
  const inner = memoryStore()
  let slow = false
  const { clock, aborts, job, runtime } = setUp({
    ...inner,
    claim: async (request) => {
      const answer = await inner.claim(request)
      if (slow && answer.jobs.length > 0) await clock.sleep(26_900)
      return answer
    },
  })
  const worker = await runtime({ jobs: [job] })
  // Beats come every ten seconds: at 30, when the run is not here yet, and at 40, when its lease is over.
  await clock.advance('3500ms')
  slow = true
  await worker.enqueue(job)
  await clock.advance('28s')
  slow = false
  await clock.advance('8s')
  expect(aborts).toEqual([['LEASE_LOST', expect.any(Number)]])
  expect(aborts[0]?.[1]).toBeLessThan(33_500)
  await clock.advance('1m')
})

test('a job is not started when the start before it has blocked the process for longer than the lease: it goes back', async () => {
  const { clock, runtime } = world()
  const starts: [n: number, attempt: number][] = []
  const job = defineJob<number>({
    type: 'job',
    run: async (n, { attempt }) => {
      starts.push([n, attempt])
      if (n === 1) clock.block('1h')
    },
  })
  const worker = await runtime({ jobs: [job], concurrency: 2 })
  const handles = await worker.enqueueMany(job, [1, 2])
  await clock.advance('1m')
  expect(starts).toEqual([
    [1, 1],
    [2, 1],
  ])
  const { history } = (await handles[1]?.record()) ?? {}
  expect(history?.map(({ event }) => event)).toEqual(['ENQUEUE', 'CLAIM', 'RELEASE', 'CLAIM', 'COMPLETE'])
})
