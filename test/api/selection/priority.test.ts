import { defineJob } from 'jobchart'
import { expect, test } from 'vitest'
import { stopInTime, world } from '../../support/leaks.ts'

function setUp() {
  const made = world()
  const ran: string[] = []
  const note = defineJob<string, void>({ type: 'note', run: async (name) => void ran.push(name) })
  return { ...made, ran, note }
}

test('higher priority goes first in its queue, equal ones first in, first out', async () => {
  const { clock, idle, ran, note } = setUp()
  const worker = idle({ jobs: [note], concurrency: 1 })
  const enqueues: [name: string, priority: number][] = [
    ['0a', 0],
    ['5a', 5],
    ['-1a', -1],
    ['5b', 5],
    ['0b', 0],
    ['2147483647', 2 ** 31 - 1],
    ['-2147483647', -(2 ** 31 - 1)],
    ['5c', 5],
  ]
  for (const [name, priority] of enqueues) await worker.enqueue(note, name, { priority })
  await worker.start()
  await clock.settle()
  expect(ran).toEqual(['2147483647', '5a', '5b', '5c', '0a', '0b', '-1a', '-2147483647'])
})

test('the default priority is 0', async () => {
  const { clock, idle, ran, note } = setUp()
  const worker = idle({ jobs: [note], concurrency: 1 })
  await worker.enqueue(note, 'below', { priority: -1 })
  await worker.enqueue(note, 'plain')
  await worker.enqueue(note, 'above', { priority: 1 })
  await worker.start()
  await clock.settle()
  expect(ran).toEqual(['above', 'plain', 'below'])
})

test('a thousand jobs of equal priority leave in the order in which they came', async () => {
  const { clock, idle, ran, note } = setUp()
  const worker = idle({ jobs: [note], concurrency: 7 })
  const names = Array.from({ length: 1_000 }, (_, n) => String(n))
  await Promise.all(names.map((name) => worker.enqueue(note, name)))
  await worker.start()
  await clock.settle()
  expect(ran).toEqual(names)
})

test('a retry goes behind its equals that wait, and before what is less urgent', async () => {
  const { clock, runtime } = world()
  const ran: string[] = []
  const flaky = defineJob<string, void>({
    type: 'flaky',
    retry: { backoff: () => '1s' },
    run: async (name, { attempt, signal }) => {
      ran.push(`${name}${attempt}`)
      if (name === 'a' && attempt === 1) throw new Error('again')
      // Long enough for the retry of a to fall due while b runs.
      if (name === 'b') await clock.sleep('5s', signal)
    },
  })
  const worker = await runtime({ jobs: [flaky], concurrency: 0 })
  await worker.enqueueMany(flaky, ['a', 'b', 'c'], { priority: 3 })
  await worker.enqueue(flaky, 'low')
  worker.concurrency = 1
  await clock.advance('1m')
  expect(ran).toEqual(['a1', 'b1', 'c1', 'a2', 'low1'])
})

test('a job that was released stands where it stood', async () => {
  const { clock, store, runtime } = world()
  const hang = defineJob<string, void>({ type: 'flaky', run: (_name, { signal }) => clock.sleep('1h', signal) })
  const first = await runtime({ jobs: [hang], concurrency: 1 })
  await first.enqueueMany(hang, ['a', 'b', 'c'])
  await clock.settle()
  await stopInTime(first, clock)
  expect(await store.counts()).toMatchObject({ queued: 3, running: 0 })
  const ran: string[] = []
  const note = defineJob<string, void>({ type: 'flaky', run: async (name) => void ran.push(name) })
  await runtime({ jobs: [note], concurrency: 1 })
  await clock.settle()
  expect(ran).toEqual(['a', 'b', 'c'])
})
