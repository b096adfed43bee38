import { defineJob, type Runtime } from 'jobchart'
import { expect, test } from 'vitest'
import { world, type World } from '../../support/leaks.ts'

interface Task {
  readonly tenant?: string
  readonly ms?: number
}

/** Counts how many run at once, in all and per tenant. */
function gauge({ clock }: World) {
  const now = new Map<string, number>()
  const most = new Map<string, number>()
  const add = (name: string, change: 1 | -1): void => {
    now.set(name, (now.get(name) ?? 0) + change)
    most.set(name, Math.max(most.get(name) ?? 0, now.get(name) ?? 0))
  }
  const run = async ({ tenant = 'nobody', ms = 10 }: Task, { signal }: { signal: AbortSignal }): Promise<void> => {
    add('all', 1)
    add(tenant, 1)
    try {
      await clock.sleep(ms, signal)
    } finally {
      add('all', -1)
      add(tenant, -1)
    }
  }
  return { run, most: (name: string) => most.get(name) ?? 0, now: (name: string) => now.get(name) ?? 0 }
}

const tasks = (count: number, tenant?: string): Task[] =>
  Array.from({ length: count }, () => (tenant ? { tenant } : {}))

async function drained(runtime: Runtime, { clock }: World): Promise<void> {
  const draining = runtime.drain({ timeout: '10m' })
  await clock.advance('10m')
  expect(await draining).toBe(true)
}

test('the concurrency of a type holds across the runtimes of a store', async () => {
  const made = world()
  const { run, most } = gauge(made)
  const job = defineJob<Task, void>({ type: 'job', concurrency: 3, run })
  const one = await made.runtime({ jobs: [job], concurrency: 5 })
  await made.runtime({ jobs: [job], concurrency: 5 })
  await one.enqueueMany(job, tasks(40))
  await drained(one, made)
  expect(most('all')).toBe(3)
})

test('concurrency 1 is one after the other, in order', async () => {
  const made = world()
  const order: number[] = []
  const job = defineJob<number, void>({
    type: 'job',
    concurrency: 1,
    run: async (n, { signal }) => {
      order.push(n)
      await made.clock.sleep(1, signal)
      order.push(n)
    },
  })
  const one = await made.runtime({ jobs: [job] })
  await made.runtime({ jobs: [job] })
  await one.enqueueMany(job, [1, 2, 3, 4])
  await drained(one, made)
  expect(order).toEqual([1, 1, 2, 2, 3, 3, 4, 4])
})

test('no concurrency, or 0, is no cap', async () => {
  const made = world()
  const { run, most } = gauge(made)
  const job = defineJob<Task, void>({ type: 'job', concurrency: 0, run })
  const runtime = await made.runtime({ jobs: [job], concurrency: 30 })
  await runtime.enqueueMany(job, tasks(40))
  await drained(runtime, made)
  expect(most('all')).toBe(30)
})

test('a capped type takes no slot from the others while it waits', async () => {
  const made = world()
  const capped = defineJob<Task, void>({ type: 'capped', concurrency: 1, weight: 100, run: gauge(made).run })
  const other = gauge(made)
  const free = defineJob<Task, void>({ type: 'free', run: other.run })
  const runtime = await made.runtime({ jobs: [capped, free], concurrency: 4 })
  await runtime.enqueueMany(capped, tasks(10))
  await runtime.enqueueMany(free, tasks(30))
  await made.clock.advance(5)
  expect(other.now('all')).toBe(3)
  await drained(runtime, made)
})

test('perKey bounds each key, across runtimes, and one key does not hold up another', async () => {
  const made = world()
  const { run, most } = gauge(made)
  const job = defineJob<Task, void>({ type: 'job', concurrencyKey: ({ tenant }) => tenant, perKey: 2, run })
  const one = await made.runtime({ jobs: [job], concurrency: 4 })
  await made.runtime({ jobs: [job], concurrency: 4 })
  await one.enqueueMany(job, [...tasks(30, 'greedy'), ...tasks(5, 'modest')])
  await made.clock.advance(5)
  expect([most('greedy'), most('modest')]).toEqual([2, 2])
  await drained(one, made)
  expect([most('greedy'), most('modest'), most('all')]).toEqual([2, 2, 4])
})

test('perKey is 1 by default where there is a key, and jobs without a key are not capped', async () => {
  const made = world()
  const { run, most } = gauge(made)
  const job = defineJob<Task, void>({ type: 'job', concurrencyKey: ({ tenant }) => tenant ?? null, run })
  const runtime = await made.runtime({ jobs: [job], concurrency: 20 })
  await runtime.enqueueMany(job, [...tasks(5, 'a'), ...tasks(5)])
  await drained(runtime, made)
  expect([most('a'), most('nobody')]).toEqual([1, 5])
})

test('both caps of a type hold together', async () => {
  const made = world()
  const { run, most } = gauge(made)
  const job = defineJob<Task, void>({
    type: 'job',
    concurrency: 3,
    concurrencyKey: ({ tenant }) => tenant,
    perKey: 2,
    run,
  })
  const runtime = await made.runtime({ jobs: [job], concurrency: 20 })
  await runtime.enqueueMany(job, [...tasks(10, 'a'), ...tasks(10, 'b')])
  await drained(runtime, made)
  expect([most('all'), Math.max(most('a'), most('b'))]).toEqual([3, 2])
})

test('a worker that dies leaks no semaphore: its lease runs out, and the place is free', async () => {
  const made = world()
  const { run, now } = gauge(made)
  const job = defineJob<Task, void>({ type: 'job', concurrency: 1, run })
  const runtime = await made.runtime({ jobs: [job], concurrency: 0 })
  await runtime.enqueueMany(job, tasks(2))
  const { limits } = job
  await made.store.claim({ worker: 'dead', leaseMs: 30_000, token: 't', demand: [{ type: 'job', max: 1, limits }] })
  runtime.concurrency = 5
  await made.clock.advance('29s')
  expect(now('all')).toBe(0)
  await drained(runtime, made)
  expect(await made.store.counts()).toMatchObject({ done: 2 })
})

test('a concurrencyKey that throws or gives no text refuses the input, and nothing is stored', async () => {
  const { store, runtime } = world()
  const broken = defineJob<{ a?: { b: string } }, void>({
    type: 'broken',
    concurrencyKey: ({ a }) => (a as { b: string }).b,
    run: async () => {},
  })
  const worker = await runtime({ jobs: [broken] })
  await expect(worker.enqueue(broken, {})).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    cause: expect.any(TypeError),
  })
  for (const b of [1, {}, 'x'.repeat(501)]) {
    const call = worker.enqueue(broken, { a: { b: b as string } })
    await expect(call).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining('concurrencyKey'),
    })
  }
  expect(await store.list({})).toHaveLength(0)
})
