import { defineJob, memoryStore, snooze, type EnqueueOptions, type Store } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { world } from '../../support/leaks.ts'

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
  const job = await worker.enqueue(note, 1, { runAt: new Date(start - 60_000) })
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

const stores: Record<string, () => Store> = {
  memory: () => memoryStore(),
  sqlite: () => {
    const folder = temporaryFolder()
    const store = sqliteStore({ path: `${folder.path}/jobs.db`, durability: 'normal' })
    onTestFinished(() => store.close().then(() => folder.remove()))
    return store
  },
}
const farDays = 400
const far: Record<string, EnqueueOptions> = {
  delay: { delay: `${farDays}d` },
  'runAt, a Date': { runAt: new Date(start + farDays * 86_400_000) },
  'runAt, a number': { runAt: start + farDays * 86_400_000 },
}
const farCases = Object.entries(stores).flatMap(([name, makeStore]) =>
  Object.entries(far).map(([option, options]) => ({ name, makeStore, option, options })),
)

test.each(farCases)('$name: a job due in years waits for its time ($option)', async ({ makeStore, options }) => {
  const { clock, store, runtime } = world({ store: makeStore() })
  // So that it can still be asked after the runtime has stopped.
  await store.open({ clock })
  const ranAt: number[] = []
  const note = defineJob<undefined, void>({ type: 'note', run: async () => void ranAt.push(clock.now() - start) })
  // A runtime looks after its leases and polls a shared store: the clock passes over most of the time in one step.
  const worker = await runtime({ jobs: [note] })
  const handle = await worker.enqueue(note, undefined, options)
  await clock.advance('1m')
  clock.jump((farDays - 1) * 86_400_000)
  await clock.advance('5m')
  expect(await handle.record()).toMatchObject({ state: 'scheduled', dueAt: start + farDays * 86_400_000 })
  clock.jump(86_400_000 - 7 * 60_000)
  await clock.advance('2m')
  const [at = 0, ...others] = ranAt
  expect(others).toEqual([])
  // The claim comes a turn of the event loop after the promotion.
  expect(at - farDays * 86_400_000).toBeGreaterThanOrEqual(0)
  expect(at - farDays * 86_400_000).toBeLessThanOrEqual(1)
})

test('a timer may be longer than the platform takes: delays, snoozes, backoff and timeouts of months', async () => {
  const { clock, runtime } = world()
  const day = 86_400_000
  const log: [what: string, atDay: number][] = []
  const job = defineJob<string, void>({
    type: 'job',
    attemptTimeout: '50d',
    retry: { maxAttempts: 2, backoff: () => '60d' },
    run: async (what, { attempt, signal }) => {
      log.push([what, (clock.now() - start) / day])
      if (what === 'snooze' && clock.now() < start + 30 * day) throw snooze('40d')
      if (what === 'retry' && attempt === 1) throw new Error('again')
      if (what === 'timeout' && attempt === 1) await clock.sleep('99d', signal)
    },
  })
  const worker = await runtime({ jobs: [job], lease: '30d' })
  await worker.enqueueMany(job, ['snooze', 'retry', 'timeout'])
  await worker.enqueue(job, 'delay', { delay: '70d' })
  await clock.advance('200d')
  expect(log).toEqual([
    ['snooze', 0],
    ['retry', 0],
    ['timeout', 0],
    ['snooze', 40],
    ['retry', 60],
    ['delay', 70],
    ['timeout', 110],
  ])
})

test('the virtual clock takes no longer timers than a platform does', () => {
  const { clock } = setUp()
  const options = { keepAlive: true }
  for (const delayMs of [2 ** 31, Number.NaN]) {
    expect(() => clock.timer(() => {}, delayMs, options)).toThrow(RangeError)
  }
})

const senseless: Record<string, [runAt: Date | number, says: { message: string; hint: string }]> = {
  'seconds as a number': [start / 1_000, { message: 'after April 1970, got 1767225600', hint: 'seconds' }],
  'seconds in a Date': [new Date(start / 1_000), { message: 'got the Date 1970-01-21', hint: 'seconds' }],
  zero: [0, { message: 'after April 1970, got 0', hint: 'leave runAt out' }],
  'an invalid Date': [
    new Date('tomorrow'),
    { message: 'a valid Date or ms since the epoch, got an invalid Date', hint: '' },
  ],
  NaN: [Number.NaN, { message: 'got NaN', hint: '' }],
  microseconds: [start * 1_000, { message: 'within a hundred years from now', hint: 'microseconds' }],
  'the end of time': [new Date(8.64e15), { message: 'within a hundred years from now', hint: '' }],
}
test.each(Object.entries(senseless))('runAt: %s is refused, and nothing is stored', async (_name, [runAt, says]) => {
  const { runtime, store, note } = setUp()
  const worker = await runtime({ jobs: [note] })
  await expect(worker.enqueue(note, 1, { runAt })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringContaining(says.message),
    hint: expect.stringContaining(says.hint),
  })
  expect(await store.list({})).toHaveLength(0)
})

test('where the clock itself stands in 1970, so may runAt', async () => {
  const { clock, runtime } = world({ start: 0 })
  const ranAt: number[] = []
  const note = defineJob<undefined, void>({ type: 'note', run: async () => void ranAt.push(clock.now()) })
  await (await runtime({ jobs: [note] })).enqueue(note, undefined, { runAt: 5_000 })
  await clock.advance('1m')
  expect(ranAt).toEqual([5_000])
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
