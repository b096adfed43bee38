import { defineJob, type Runtime } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

function setUp() {
  const made = world()
  const running = new Set<number>()
  const job = defineJob<number, void>({
    type: 'job',
    run: async (n, { signal }) => {
      running.add(n)
      await made.clock.sleep('1m', signal).finally(() => running.delete(n))
    },
  })
  const start = async (concurrency: number): Promise<Runtime> => {
    const runtime = await made.runtime({ jobs: [job], concurrency })
    await runtime.enqueueMany(
      job,
      Array.from({ length: 30 }, (_, n) => n),
    )
    await made.clock.settle()
    return runtime
  }
  return { ...made, running, job, start }
}

test('as many jobs run at once as there are slots', async () => {
  const { running, start } = setUp()
  const runtime = await start(4)
  expect([...running]).toEqual([0, 1, 2, 3])
  expect(await runtime.stats()).toMatchObject({ concurrency: 4, taken: 4, running: 4, abandoned: 0, state: 'running' })
})

test('the default is ten slots', async () => {
  const { clock, running, job, runtime } = setUp()
  const worker = await runtime({ jobs: [job] })
  await worker.enqueueMany(
    job,
    Array(30)
      .fill(0)
      .map((_, n) => n),
  )
  await clock.settle()
  expect([worker.concurrency, running.size]).toEqual([10, 10])
})

test('more slots take up work at once', async () => {
  const { clock, running, start } = setUp()
  const runtime = await start(2)
  runtime.concurrency = 7
  expect(runtime.concurrency).toBe(7)
  await clock.settle()
  expect(running.size).toBe(7)
})

test('fewer slots let what runs go on, and start nothing until enough has ended', async () => {
  const { clock, running, start } = setUp()
  const runtime = await start(5)
  runtime.concurrency = 2
  await clock.advance('59s')
  expect([...running]).toEqual([0, 1, 2, 3, 4])
  await clock.advance('1s')
  expect([...running]).toEqual([5, 6])
  await clock.advance('1m')
  expect([...running]).toEqual([7, 8])
})

test('no slots at all is a pause, and slots end it', async () => {
  const { clock, running, start } = setUp()
  const runtime = await start(0)
  await clock.advance('1h')
  expect(running.size).toBe(0)
  runtime.concurrency = 3
  await clock.settle()
  expect(running.size).toBe(3)
  runtime.concurrency = 0
  await clock.advance('1h')
  expect(running.size).toBe(0)
  expect((await runtime.counts()).done).toBe(3)
})

test('slots that come and go while jobs come and go end with all of the work done', async () => {
  const { clock, start } = setUp()
  const runtime = await start(1)
  for (const slots of [9, 1, 0, 4, 3, 12, 2]) {
    runtime.concurrency = slots
    await clock.advance('50s')
    const { taken, running } = await runtime.stats()
    expect(taken).toBe(running)
  }
  const draining = runtime.drain()
  await clock.advance('1h')
  expect(await draining).toBe(true)
})

test('idle slots cost nothing: no timer fires but those that look after things', async () => {
  const { clock, job, runtime } = setUp()
  const few = await runtime({ jobs: [job], concurrency: 1 })
  const before = clock.pending
  few.concurrency = 100_000
  await clock.settle()
  expect(clock.pending).toBe(before)
  // Nothing keeps virtual time going: the runtime is asleep.
  await clock.runAll(1)
})
