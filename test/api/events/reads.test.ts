/** How often the store is read for those who wait: for many in one call, and not at all where an event says enough. */
import { createClient, defineJob, memoryStore, type JobEvent, type Store } from 'jobchart'
import { expect, onTestFinished, test } from 'vitest'
import { setup } from 'xstate'
import { world } from '../../support/leaks.ts'

interface Reads {
  calls: number
  jobs: number
}

/** A store that counts its reads of jobs. */
function counting(store: Store): Store & { readonly reads: Reads } {
  const reads: Reads = { calls: 0, jobs: 0 }
  return {
    ...store,
    reads,
    get(ids) {
      reads.calls++
      reads.jobs += ids.length
      return store.get(ids)
    },
  }
}

const job = defineJob<number, { n: number }>({ type: 'job', retry: { maxAttempts: 1 }, run: (n) => ({ n }) })

test('10,000 awaited results of this process cost no read each: one for 500 at first, none at their end', async () => {
  const store = counting(memoryStore())
  const { clock, runtime } = world({ store })
  const worker = await runtime({ jobs: [job] })
  const handles = await worker.enqueueMany(
    job,
    Array.from({ length: 10_000 }, (_, n) => n),
  )
  const results = Promise.all(handles.map((handle) => handle.result()))
  await clock.settle()
  expect((await results).map(({ n }) => n)).toEqual(handles.map((_, n) => n))
  expect(store.reads.calls).toBeLessThanOrEqual(10_000 / 500)
})

test('the result of `run` is not read where the job ends in the turn in which it was enqueued', async () => {
  const store = counting(memoryStore())
  const { runtime } = world({ store })
  const worker = await runtime({ jobs: [job] })
  for (let n = 0; n < 100; n++) expect(await worker.run(job, n)).toEqual({ n })
  expect(store.reads.calls).toBe(0)
})

test('10,000 awaited results of another process cost one read for 100 at most', async () => {
  const made = world()
  const store = counting(made.store)
  const client = createClient({ store, clock: made.clock, jobs: [job] })
  onTestFinished(() => client.close())
  const handles = await client.enqueueMany(
    job,
    Array.from({ length: 10_000 }, (_, n) => n),
  )
  const results = Promise.all(handles.map((handle) => handle.result()))
  await made.runtime({ jobs: [job] })
  await made.clock.advance('1s')
  expect((await results).map(({ n }) => n)).toEqual(handles.map((_, n) => n))
  expect(store.reads.calls).toBeLessThanOrEqual(10_000 / 100)
})

test('the output of an event and that of a result are copies of their own', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [job] })
  const events: JobEvent[] = []
  worker.events$.subscribe((event) => events.push(event))
  const handle = await worker.enqueue(job, 7, { delay: '1s' })
  const results = Promise.all([handle.result(), handle.result()])
  await clock.advance('1s')
  const [one, two] = await results
  one.n = 8
  expect([two, events.at(-1)?.value]).toEqual([{ n: 7 }, { n: 7 }])
})

test('a wait for a state beside 1,000 others costs as many reads as alone', async () => {
  const machine = setup({ types: { events: {} as { type: 'GO' } } }).createMachine({
    initial: 'idle',
    states: { idle: { on: { GO: 'there' } }, there: { on: { GO: 'over' } }, over: { type: 'final' } },
  })
  const order = defineJob({ type: 'order', machine })
  const readsBeside = async (others: number): Promise<Reads> => {
    const store = counting(memoryStore())
    const { clock, runtime } = world({ store })
    const worker = await runtime({ jobs: [order] })
    const [first, ...rest] = await worker.enqueueMany(order, Array<undefined>(others + 1).fill(undefined))
    await clock.settle()
    const waits = rest.map((handle) => handle.waitFor('there').catch(() => 'stopped'))
    await clock.advance('1s')
    store.reads.calls = store.reads.jobs = 0
    const there = first?.waitFor('there')
    await first?.send({ type: 'GO' }, { accept: 'always' })
    await clock.settle()
    expect((await there)?.value).toBe('there')
    const reads = { ...store.reads }
    await worker.stop({ mode: 'abort' })
    expect(await Promise.all(waits)).toEqual(rest.map(() => 'stopped'))
    return reads
  }
  const alone = await readsBeside(0)
  const beside = await readsBeside(1_000)
  expect(beside.calls).toBeLessThanOrEqual(alone.calls + 1)
  expect(beside.jobs).toBeLessThanOrEqual(alone.jobs + 1)
})

test('while other jobs are woken all the time, 1,000 waits for a state read 2,500 jobs a second at most', async () => {
  const machine = setup({}).createMachine({ initial: 'idle', states: { idle: { on: { GO: 'there' } }, there: {} } })
  const order = defineJob({ type: 'order', machine })
  const store = counting(memoryStore())
  const { clock, runtime } = world({ store })
  const worker = await runtime({ jobs: [order, job] })
  const orders = await worker.enqueueMany(order, Array<undefined>(1_000).fill(undefined))
  await clock.settle()
  const waits = orders.map((handle) => handle.waitFor('there').catch(() => 'stopped'))
  await clock.advance('1s')
  store.reads.jobs = 0
  for (let ms = 0; ms < 1_000; ms += 25) {
    await worker.enqueue(job, ms)
    await clock.advance('25ms')
  }
  expect(store.reads.jobs).toBeGreaterThan(1_000)
  expect(store.reads.jobs).toBeLessThanOrEqual(2_500)
  await worker.stop({ mode: 'abort' })
  expect(await Promise.all(waits)).toEqual(orders.map(() => 'stopped'))
})
