import { defineJob, memoryStore } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

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
    priority: 1_000,
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
