import { defineJob, memoryStore, type Store } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const job = defineJob<number, void>({ type: 'job', run: async () => {} })
const other = defineJob<number, void>({ type: 'other', run: async () => {} })

/** A memory store that notes how many jobs each request of each insert carried. */
function countingStore(): { store: Store; inserts: number[][] } {
  const inner = memoryStore()
  const inserts: number[][] = []
  const store: Store = {
    ...inner,
    insert(requests) {
      inserts.push(requests.map(({ jobs }) => jobs.length))
      return inner.insert(requests)
    },
  }
  return { store, inserts }
}

test('calls made in the same turn share one write, and each learns its own result', async () => {
  const { store, inserts } = countingStore()
  const { idle } = world({ store })
  const runtime = idle({ jobs: [job, other] })
  await runtime.enqueue(other, 0, { id: 'taken' })
  inserts.length = 0
  const results = await Promise.allSettled([
    runtime.enqueue(job, 1),
    runtime.enqueue(job, 2, { id: 'taken' }),
    runtime.enqueue(job, 3, { id: 'mine' }),
    runtime.enqueue(job, 4, { id: 'mine' }),
    runtime.enqueue(job, 5),
    runtime.enqueue(job, 6n as unknown as number),
  ])
  expect(inserts).toEqual([[1, 1, 1, 1, 1]])
  expect(
    results.map((result) => (result.status === 'fulfilled' ? result.value.deduplicated : result.reason.code)),
  ).toEqual([false, 'ID_TAKEN', false, true, false, 'INVALID_INPUT'])
})

test('ten thousand calls of one turn are a few writes, none of them large', async () => {
  const { store, inserts } = countingStore()
  const { idle } = world({ store })
  const runtime = idle({ jobs: [job] })
  await runtime.enqueue(job, 0)
  inserts.length = 0
  await Promise.all(Array.from({ length: 10_000 }, (_, n) => runtime.enqueue(job, n)))
  const sizes = inserts.map((requests) => requests.length)
  expect(sizes.reduce((sum, size) => sum + size)).toBe(10_000)
  expect(sizes.length).toBeLessThanOrEqual(20)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(1_000)
})

test('calls made while a write is under way share the next one', async () => {
  const inner = memoryStore()
  const inserts: number[] = []
  let answer = (): void => {}
  const slow: Store = {
    ...inner,
    async insert(requests) {
      inserts.push(requests.length)
      await new Promise<void>((resolve) => void (answer = resolve))
      return inner.insert(requests)
    },
  }
  const { clock, idle } = world({ store: slow })
  const runtime = idle({ jobs: [job] })
  const first = runtime.enqueue(job, 1)
  await clock.settle()
  const second = runtime.enqueue(job, 2)
  await clock.settle()
  const third = runtime.enqueue(job, 3)
  await clock.settle()
  expect(inserts).toEqual([1])
  answer()
  await first
  await clock.settle()
  expect(inserts).toEqual([1, 2])
  answer()
  await Promise.all([second, third])
})

test('enqueueMany is one request of one write: all of it or nothing', async () => {
  const { store, inserts } = countingStore()
  const { idle } = world({ store })
  const runtime = idle({ jobs: [job] })
  const handles = await runtime.enqueueMany(
    job,
    Array.from({ length: 500 }, (_, n) => n),
    { tags: ['bulk'], priority: 2 },
  )
  expect(inserts).toEqual([[500]])
  const records = await store.get(handles.map(({ id }) => id))
  expect(records.map((record) => record?.input)).toEqual(Array.from({ length: 500 }, (_, n) => n))
  expect(records.every((record) => record?.priority === 2 && record.tags[0] === 'bulk')).toBe(true)
  await expect(runtime.enqueueMany(job, [1, Number.NaN])).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringMatching(/^inputs\[1\]: input of job .*NaN is not JSON/),
    hint: expect.any(String),
  })
  expect(inserts).toHaveLength(1)
})

test('enqueueMany of nothing writes nothing', async () => {
  const { store, inserts } = countingStore()
  const { idle } = world({ store })
  expect(await idle({ jobs: [job] }).enqueueMany(job, [])).toEqual([])
  expect(inserts).toEqual([])
})

test('the ends of jobs that end in one turn share one write', async () => {
  const inner = memoryStore()
  const settles: number[] = []
  const store: Store = {
    ...inner,
    settle(settlements) {
      settles.push(settlements.length)
      return inner.settle(settlements)
    },
  }
  const { clock, runtime } = world({ store })
  const worker = await runtime({ jobs: [job], concurrency: 50 })
  await worker.enqueueMany(job, Array(100).fill(1))
  await clock.settle()
  expect(settles.reduce((sum, count) => sum + count)).toBe(100)
  expect(settles.length).toBeLessThanOrEqual(4)
})
