import { defineJob } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

const start = Date.UTC(2026, 0, 1)

function setUp() {
  const made = world()
  const ran: [n: number, afterMs: number][] = []
  const note = defineJob<number, void>({ type: 'note', run: async (n) => void ran.push([n, made.clock.now() - start]) })
  return { ...made, ran, note }
}

test('a delayed job waits in scheduled and runs when its time has come, not before', async () => {
  const { clock, runtime, ran, note } = setUp()
  const worker = await runtime({ jobs: [note] })
  const job = await worker.enqueue(note, 1, { delay: '5m' })
  expect(await job.record()).toMatchObject({ state: 'scheduled', dueAt: start + 300_000 })
  await clock.advance(299_999)
  expect(ran).toEqual([])
  await clock.advance(1)
  expect(ran).toEqual([[1, 300_000]])
  expect((await job.record()).history.map(({ event }) => event)).toEqual(['ENQUEUE', 'DUE', 'CLAIM', 'COMPLETE'])
})

test('runAt is a Date or ms since the epoch', async () => {
  const { clock, runtime, ran, note } = setUp()
  const worker = await runtime({ jobs: [note] })
  await worker.enqueue(note, 1, { runAt: new Date(start + 2_000) })
  await worker.enqueue(note, 2, { runAt: start + 1_000 })
  await clock.advance('1m')
  expect(ran).toEqual([
    [2, 1_000],
    [1, 2_000],
  ])
})

test('a time that has passed means now', async () => {
  const { clock, runtime, ran, note } = setUp()
  const worker = await runtime({ jobs: [note] })
  const job = await worker.enqueue(note, 1, { runAt: new Date(0) })
  await worker.enqueue(note, 2, { delay: 0 })
  await clock.settle()
  expect(ran).toEqual([
    [1, 0],
    [2, 0],
  ])
  expect((await job.record()).history[0]?.to).toBe('queued')
})

test('jobs that are due at one time keep the order of their enqueues', async () => {
  const { clock, runtime, ran, note } = setUp()
  const worker = await runtime({ jobs: [note], concurrency: 1 })
  await worker.enqueueMany(note, [1, 2, 3], { runAt: start + 1_000 })
  await worker.enqueue(note, 4, { delay: 1_000 })
  await clock.advance('1s')
  expect(ran.map(([n]) => n)).toEqual([1, 2, 3, 4])
})

test('a job that falls due takes its place behind those that were queued before', async () => {
  const { clock, runtime, ran, note } = setUp()
  const worker = await runtime({ jobs: [note], concurrency: 0 })
  await worker.enqueue(note, 1, { delay: '1s' })
  await worker.enqueue(note, 2)
  await clock.advance('2s')
  worker.concurrency = 1
  await clock.settle()
  expect(ran.map(([n]) => n)).toEqual([2, 1])
})

test('jobs that fell due while no runtime was there run at its start', async () => {
  const { clock, idle, ran, note } = setUp()
  const worker = idle({ jobs: [note] })
  await worker.enqueueMany(note, [1, 2], { delay: '1h' })
  await worker.enqueue(note, 3, { delay: '3h' })
  await clock.advance('2h')
  await worker.start()
  await clock.settle()
  expect(ran.map(([n]) => n)).toEqual([1, 2])
  await clock.advance('1h')
  expect(ran).toHaveLength(3)
})

test('a sooner job is not held up by a later one that is known already', async () => {
  const { clock, runtime, ran, note } = setUp()
  const worker = await runtime({ jobs: [note] })
  for (const delay of [50, 10, 30, 40, 20]) await worker.enqueue(note, delay, { delay })
  await clock.advance(100)
  expect(ran).toEqual([10, 20, 30, 40, 50].map((delay) => [delay, delay]))
})

test('a delay of years is kept, beyond what a platform timer can take', async () => {
  const { clock, runtime, ran, note } = setUp()
  const worker = await runtime({ jobs: [note], lease: '30d' })
  await worker.enqueue(note, 1, { delay: '400d' })
  await clock.advance('399d')
  expect(ran).toEqual([])
  await clock.advance('1d')
  expect(ran).toEqual([[1, 400 * 86_400_000]])
})

test('two thousand jobs due at once all run', async () => {
  const { clock, runtime, ran, note } = setUp()
  const worker = await runtime({ jobs: [note], concurrency: 100 })
  await worker.enqueueMany(
    note,
    Array.from({ length: 2_000 }, (_, n) => n),
    { delay: '1s' },
  )
  await clock.advance('1s')
  expect(ran).toHaveLength(2_000)
})
