/** Calls of the memory store that look at a few things, however many it has. */
import { memoryStore } from 'jobchart'
import { expect, test, vi } from 'vitest'
import { FailureGroups } from '../../src/stores/memory/failure-groups.ts'
import { Series } from '../../src/stores/memory/series.ts'
import { boom, lease, newJob, put, recordOf, take, takeOne } from '../../src/store-testing/conformance/acts.ts'

import { movingClock } from './moving-clock.ts'

const many = (count: number, job: (i: number) => ReturnType<typeof newJob>) =>
  Array.from({ length: count }, (_, i) => job(i))

test('the end of a child does not look at the ends of the others in the inbox of its parent', async () => {
  const store = memoryStore()
  await put(store, newJob('parent', { type: 'parent', version: '1' }))
  const parent = await takeOne(store, { type: 'parent' })
  await put(store, ...many(500, (i) => newJob(`${i}`, { parent: { id: 'parent', checkins: false } })))
  const children = await take(store, { max: 500 })
  const end = (jobs: typeof children) =>
    store.settle(jobs.map((job) => ({ ...lease(job), event: 'COMPLETE', to: 'done' })))
  await end(children.slice(1))
  const filter = vi.spyOn(Array.prototype, 'filter')
  await end(children.slice(0, 1))
  const lengths = filter.mock.contexts.map((each) => (each as unknown[]).length)
  filter.mockRestore()
  expect(Math.max(0, ...lengths)).toBeLessThan(50)
  expect((await recordOf(store, parent.id)).inbox).toHaveLength(500)
})

test('of the groups of failures of all types no more are looked at than are asked for, and one of each type', async () => {
  const store = memoryStore()
  const code = (i: number) => String.fromCodePoint(97 + (i % 26), 97 + Math.floor(i / 26))
  await put(store, ...many(1_000, (i) => newJob(`${i}`, { type: `type ${i % 20}` })))
  const seen: string[] = []
  for (let group = 0; group < 50; group++) {
    for (let type = 0; type < 20; type++) {
      const [job] = await take(store, { type: `type ${type}`, max: 1 })
      if (job === undefined) throw new Error('a job was to be claimed')
      // Every other failure of a type is one that has occurred before.
      const error = { ...boom, name: `E${code(group % 25)}` }
      await store.settle([{ ...lease(job), event: 'FAIL', to: 'dead', fatal: true, error }])
      seen.push(job.id)
    }
  }
  const made = vi.spyOn(FailureGroups.prototype, 'latestFirst')
  const groups = await store.failures({ limit: 30 })
  // What is left of each type is what was not looked at.
  const left = made.mock.results.map(({ value }) => [...(value as Iterable<unknown>)].length)
  made.mockRestore()
  expect(groups.map(({ lastId }) => lastId)).toEqual(seen.toReversed().slice(0, 30))
  expect(groups.every(({ count }) => count === 2)).toBe(true)
  expect(left.reduce((sum, each) => sum + each, 0)).toBe(20 * 25 - 30 - 20)
  expect(await store.failures({ type: 'type 3', limit: 1_000 })).toHaveLength(25)
})

test('the activity of all types together is read without that of each', async () => {
  const clock = movingClock()
  const store = memoryStore({ clock })
  const from = clock.now()
  for (let minute = 0; minute < 3; minute++) {
    await put(store, ...many(50, (i) => newJob(`${minute} ${i}`, { type: `type ${i}` })))
    await clock.advance(60_000)
  }
  const [each] = await store.activity({ period: 'minute', from, queues: ['type 7'] })
  expect(each?.buckets.map(({ enqueued }) => enqueued)).toEqual([1, 1, 1])
  const ofEach = vi.spyOn(Series.prototype, 'since')
  const [total] = await store.activity({ period: 'minute', from, queues: 'total' })
  const [hours] = await store.activity({ period: 'hour', from, queues: 'total' })
  expect(ofEach).not.toHaveBeenCalled()
  ofEach.mockRestore()
  expect(total?.buckets.map(({ enqueued }) => enqueued)).toEqual([50, 50, 50])
  expect(hours?.buckets.reduce((sum, { enqueued }) => sum + enqueued, 0)).toBe(150)
})
