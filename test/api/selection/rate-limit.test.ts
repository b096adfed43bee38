import { defineJob, memoryStore } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const start = Date.UTC(2026, 0, 1)

test('a type starts at most limit times in any window of per, across the runtimes of a store', async () => {
  const { clock, runtime } = world()
  const starts: number[] = []
  const job = defineJob<number, void>({
    type: 'job',
    rateLimit: { limit: 5, per: '1s' },
    run: async (ms, { signal }) => {
      starts.push(clock.now())
      await clock.sleep(ms, signal)
    },
  })
  const one = await runtime({ jobs: [job], concurrency: 3 })
  await runtime({ jobs: [job], concurrency: 50 })
  for (let n = 0; n < 60; n++) {
    await one.enqueue(job, (n * 37) % 400)
    await clock.advance((n * 53) % 90)
  }
  await clock.advance('1m')
  expect(starts).toHaveLength(60)
  for (const from of starts)
    expect(starts.filter((at) => at >= from && at < from + 1_000).length).toBeLessThanOrEqual(5)
  // And no slower than it must be: the last of 60 in the twelfth window.
  expect((starts.at(-1) as number) - start).toBeLessThanOrEqual(12_000)
})

test('who is limited starts exactly when the window has moved on', async () => {
  const { clock, runtime } = world()
  const starts: number[] = []
  const job = defineJob<number, void>({
    type: 'job',
    rateLimit: { limit: 2, per: '1m' },
    run: async () => void starts.push(clock.now() - start),
  })
  const worker = await runtime({ jobs: [job] })
  await worker.enqueue(job, 0)
  await clock.advance('10s')
  await worker.enqueueMany(job, [1, 2, 3, 4])
  await clock.advance('10m')
  expect(starts).toEqual([0, 10_000, 60_000, 70_000, 120_000])
})

test('a limited type takes no slot from the others', async () => {
  const { clock, runtime } = world()
  const ran: string[] = []
  const limited = defineJob<number, void>({
    type: 'limited',
    weight: 1_000,
    rateLimit: { limit: 1, per: '1h' },
    run: async () => void ran.push('limited'),
  })
  const free = defineJob<number, void>({ type: 'free', run: async () => void ran.push('free') })
  const worker = await runtime({ jobs: [limited, free], concurrency: 1 })
  await worker.enqueueMany(limited, [1, 2, 3])
  await worker.enqueueMany(free, [1, 2, 3])
  await clock.advance('1m')
  expect(ran.toSorted()).toEqual(['free', 'free', 'free', 'limited'])
})

test('the search for missed hints of a shared store claims nothing of a type that waits for its window', async () => {
  const inner = memoryStore()
  let claims = 0
  const store = {
    ...inner,
    capabilities: { ...inner.capabilities, shared: true },
    claim: (...args: Parameters<typeof inner.claim>) => (claims++, inner.claim(...args)),
  }
  const { clock, runtime } = world({ store })
  const starts: number[] = []
  const run = async (): Promise<void> => void starts.push(clock.now() - start)
  const job = defineJob<number, void>({ type: 'job', rateLimit: { limit: 1, per: '1m' }, run })
  const worker = await runtime({ jobs: [job] })
  await worker.enqueueMany(job, [1, 2])
  await clock.advance('59s')
  expect(claims).toBe(1)
  await clock.advance('1s')
  expect(starts).toEqual([0, 60_000])
})

test('waiting for a window asks the store once, however many jobs come meanwhile', async () => {
  const inner = memoryStore()
  let claims = 0
  const store = { ...inner, claim: (...args: Parameters<typeof inner.claim>) => (claims++, inner.claim(...args)) }
  const { clock, runtime } = world({ store })
  const job = defineJob<number, void>({ type: 'job', rateLimit: { limit: 1, per: '1h' }, run: async () => {} })
  const worker = await runtime({ jobs: [job] })
  await worker.enqueue(job, 0)
  await clock.settle()
  const timers = clock.pending
  for (let n = 0; n < 50; n++) await worker.enqueue(job, n)
  await clock.settle()
  expect(clock.pending).toBeLessThanOrEqual(timers + 1)
  claims = 0
  await clock.advance('59m')
  expect(claims).toBe(0)
  await clock.advance('1m')
  expect((await worker.counts()).done).toBe(2)
})

test('each key starts at most limit times in any window, across the runtimes of a store, and no key waits for another', async () => {
  const { clock, runtime } = world()
  const starts: { readonly tenant: string; readonly at: number }[] = []
  const job = defineJob<{ tenant: string }, void>({
    type: 'job',
    concurrencyKey: ({ tenant }) => tenant,
    keyRateLimit: { limit: 2, per: '1s' },
    run: async ({ tenant }) => void starts.push({ tenant, at: clock.now() - start }),
  })
  const one = await runtime({ jobs: [job], concurrency: 3 })
  await runtime({ jobs: [job], concurrency: 50 })
  const of = (tenant: string, count: number) => Array.from({ length: count }, () => ({ tenant }))
  await one.enqueueMany(job, [...of('a', 7), ...of('b', 1)])
  await clock.advance(300)
  await one.enqueueMany(job, of('b', 4))
  await clock.advance('1m')
  const startsOf = (tenant: string) => starts.filter((each) => each.tenant === tenant).map(({ at }) => at)
  expect(startsOf('a')).toEqual([0, 0, 1_000, 1_000, 2_000, 2_000, 3_000])
  // Its windows end earlier than those of a that were waited for first.
  expect(startsOf('b')).toEqual([0, 300, 1_000, 1_300, 2_000])
})

test('a key that is at its rate leaves its slots to the others, and a job without a key is not limited', async () => {
  const { clock, runtime } = world()
  const ran: (string | undefined)[] = []
  const job = defineJob<{ tenant?: string }, void>({
    type: 'job',
    concurrencyKey: ({ tenant }) => tenant,
    keyRateLimit: { limit: 1, per: '1h' },
    run: async ({ tenant }) => void ran.push(tenant),
  })
  const worker = await runtime({ jobs: [job], concurrency: 1 })
  await worker.enqueueMany(job, [{ tenant: 'a' }, { tenant: 'a' }, {}, { tenant: 'b' }, {}])
  await clock.advance('1m')
  expect(ran).toEqual(['a', undefined, 'b', undefined])
  await clock.advance('1h')
  expect(ran).toEqual(['a', undefined, 'b', undefined, 'a'])
})

test('a clock that is set back keeps a key from starting for one window at most', async () => {
  const { clock, runtime } = world()
  const starts: number[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    concurrencyKey: () => 'a',
    keyRateLimit: { limit: 1, per: '1m' },
    run: async () => void starts.push(clock.now() - start),
  })
  const worker = await runtime({ jobs: [job] })
  await worker.enqueueMany(job, [undefined, undefined])
  await clock.advance('1s')
  clock.jump(-3_600_000)
  await clock.advance('5m')
  expect(starts).toHaveLength(2)
})
