import { defineJob, snooze } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const start = Date.UTC(2026, 0, 1)

test('a snoozed job goes back to scheduled, and the attempt is not spent', async () => {
  const { clock, runtime } = world()
  const starts: [attempt: number, afterMs: number][] = []
  const job = defineJob<undefined, string>({
    type: 'job',
    retry: { maxAttempts: 1 },
    run: async (_input, { attempt }) => {
      starts.push([attempt, clock.now() - start])
      if (starts.length < 4) throw snooze('10m')
      return 'awake'
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.settle()
  expect(await handle.record()).toMatchObject({ state: 'scheduled', attempt: 0, dueAt: start + 600_000, error: null })
  await clock.advance('1h')
  expect(starts).toEqual([0, 1, 2, 3].map((n) => [1, n * 600_000]))
  expect(await handle.result()).toBe('awake')
  const { history, errors } = await handle.record()
  expect(history.map(({ event }) => event).slice(0, 5)).toEqual(['ENQUEUE', 'CLAIM', 'SNOOZE', 'DUE', 'CLAIM'])
  expect(errors).toEqual([])
})

test('a snooze after failures keeps the attempts that were spent', async () => {
  const { clock, runtime } = world()
  const attempts: number[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    retry: { maxAttempts: 2, backoff: () => '1s' },
    run: async (_input, { attempt }) => {
      attempts.push(attempt)
      if (attempts.length === 2) throw snooze(500)
      throw new Error('no')
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  expect(attempts).toEqual([1, 2, 2])
  expect(await handle.record()).toMatchObject({ state: 'dead', attempt: 2 })
})

test('a snooze of nothing goes round once', async () => {
  const { clock, runtime } = world()
  let runs = 0
  const job = defineJob<undefined, void>({
    type: 'job',
    run: async () => {
      if (++runs === 1) throw snooze(0)
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance(1)
  expect([runs, (await handle.record()).state]).toEqual([2, 'done'])
})

test('a snoozed job frees its slot, keeps its unique key, and can be cancelled', async () => {
  const { clock, runtime } = world()
  const job = defineJob<string, void>({
    type: 'job',
    unique: true,
    run: async (name) => {
      if (name === 'sleepy') throw snooze('1d')
    },
  })
  const worker = await runtime({ jobs: [job], concurrency: 1 })
  const sleepy = await worker.enqueue(job, 'sleepy')
  const next = await worker.enqueue(job, 'next')
  await clock.settle()
  expect((await next.record()).state).toBe('done')
  expect((await worker.enqueue(job, 'sleepy')).deduplicated).toBe(true)
  expect(await sleepy.cancel()).toMatchObject({ cancelled: [sleepy.id] })
})

test('a cancel that came first wins over a snooze', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, void>({
    type: 'job',
    run: async (_input, { signal }) => {
      await clock.sleep('1h', signal).catch(() => {})
      throw snooze('1m')
    },
  })
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job)
  await clock.settle()
  await handle.cancel()
  await clock.advance('2m')
  expect((await handle.record()).state).toBe('cancelled')
})
