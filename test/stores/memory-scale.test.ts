/** Calls of the memory store that look at a few things, however many it has. */
import { memoryStore } from 'jobchart'
import { expect, test, vi } from 'vitest'
import { lease, newJob, put, recordOf, take, takeOne } from '../../src/store-testing/conformance/acts.ts'

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
