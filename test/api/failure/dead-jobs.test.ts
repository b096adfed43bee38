import { defineJob } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

/** A type whose jobs fail until `repaired`. */
function setUp() {
  const made = world()
  const shop = { repaired: false }
  const define = (type: string) =>
    defineJob<number, number>({
      type,
      retry: { maxAttempts: 2, backoff: () => 1 },
      run: async (n) => {
        if (!shop.repaired) throw new Error(`${type} ${n} is broken`)
        return n
      },
    })
  return { ...made, shop, a: define('a'), b: define('b') }
}

test('dead jobs are kept with their errors, listed by type and tag, oldest first', async () => {
  const { clock, runtime, a, b } = setUp()
  const worker = await runtime({ jobs: [a, b] })
  const first = await worker.enqueueMany(a, [1, 2], { tags: ['x'] })
  await worker.enqueue(b, 3)
  await clock.advance(10)
  const dead = await worker.list({ state: 'dead' })
  expect(dead.map(({ input, error }) => [input, error?.message])).toEqual([
    [1, 'a 1 is broken'],
    [2, 'a 2 is broken'],
    [3, 'b 3 is broken'],
  ])
  expect((await worker.list({ state: 'dead', tag: 'x' })).map(({ id }) => id)).toEqual(first.map(({ id }) => id))
  expect(await worker.list({ state: ['dead', 'done'], type: ['b'] })).toHaveLength(1)
  expect(await worker.counts()).toMatchObject({ dead: 3, types: { a: { dead: 2 }, b: { dead: 1 } } })
})

test('retry sends one through again: back to its queue, a new generation, its attempts anew', async () => {
  const { clock, runtime, shop, a } = setUp()
  const worker = await runtime({ jobs: [a] })
  const handle = await worker.enqueue(a, 1)
  await clock.advance(10)
  shop.repaired = true
  expect(await worker.retry(handle.id)).toEqual({ retried: [handle.id], refused: [], notFound: [] })
  await clock.settle()
  expect(await handle.result()).toBe(1)
  expect(await handle.record()).toMatchObject({
    state: 'done',
    generation: 2,
    attempt: 1,
    errors: [{}, {}],
    cancelReason: null,
  })
})

test('a job that was sent through again may die again, with all of its attempts', async () => {
  const { clock, runtime, a } = setUp()
  const worker = await runtime({ jobs: [a] })
  const handle = await worker.enqueue(a, 1)
  await clock.advance(10)
  await handle.retry()
  await clock.advance(10)
  expect(await handle.record()).toMatchObject({ state: 'dead', generation: 2, attempt: 2, errors: [{}, {}, {}, {}] })
  await expect(handle.result()).rejects.toMatchObject({ code: 'DEAD' })
})

test('retry takes a filter: all of a type at once, in the order in which they came', async () => {
  const { clock, runtime, shop, a, b } = setUp()
  const worker = await runtime({ jobs: [a, b], concurrency: 1 })
  const handles = await worker.enqueueMany(a, [1, 2, 3])
  await worker.enqueue(b, 4)
  await clock.advance(100)
  shop.repaired = true
  const report = await worker.retry({ type: 'a', state: 'dead' })
  expect(report.retried).toEqual(handles.map(({ id }) => id))
  await clock.advance(10)
  expect(await worker.counts()).toMatchObject({ done: 3, dead: 1 })
})

test('retry says which are not there and which are not ended', async () => {
  const { clock, runtime, a } = setUp()
  const worker = await runtime({ jobs: [a] })
  const dead = await worker.enqueue(a, 1)
  await clock.advance(10)
  const waiting = await worker.enqueue(a, 2, { delay: '1h' })
  expect(await worker.retry([dead.id, waiting.id, 'nobody', dead.id])).toEqual({
    retried: [dead.id],
    refused: [waiting.id],
    notFound: ['nobody'],
  })
  await expect(waiting.retry()).rejects.toMatchObject({ code: 'NOT_ACCEPTED', hint: expect.any(String) })
})

test('a job that was done is not sent through again', async () => {
  const { clock, runtime, shop, a } = setUp()
  shop.repaired = true
  const worker = await runtime({ jobs: [a] })
  const handle = await worker.enqueue(a, 1)
  await clock.settle()
  expect((await worker.retry(handle.id)).refused).toEqual([handle.id])
})

test('a cancelled job may be sent through again, and forgets why it was cancelled', async () => {
  const { clock, runtime, shop, a } = setUp()
  shop.repaired = true
  const worker = await runtime({ jobs: [a] })
  const handle = await worker.enqueue(a, 1, { delay: '1h' })
  await handle.cancel({ reason: 'a mistake' })
  expect(await handle.record()).toMatchObject({ state: 'cancelled', cancelReason: 'a mistake' })
  await handle.retry()
  await clock.settle()
  expect(await handle.record()).toMatchObject({ state: 'done', generation: 2, cancelReason: null })
})

test('discard removes one or all, and what is not ended stays', async () => {
  const { clock, runtime, a, b } = setUp()
  const worker = await runtime({ jobs: [a, b] })
  const [one, two, three] = await worker.enqueueMany(a, [1, 2, 3])
  await worker.enqueue(b, 4)
  await clock.advance(10)
  const live = await worker.enqueue(a, 5, { delay: '1h' })
  expect(await worker.discard([one?.id ?? '', live.id, 'nobody'])).toEqual({
    discarded: [one?.id],
    refused: [live.id],
    notFound: ['nobody'],
  })
  expect(await worker.job(one?.id ?? '')).toBe(null)
  await expect(one?.record()).rejects.toMatchObject({ code: 'NOT_FOUND', hint: expect.any(String) })
  await expect(one?.result()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(one?.retry()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect((await worker.discard({ type: 'a' })).discarded).toEqual([two?.id, three?.id])
  expect(await worker.counts()).toMatchObject({ dead: 1, scheduled: 1 })
})

test('an id that was discarded may be used again', async () => {
  const { clock, runtime, shop, a } = setUp()
  const worker = await runtime({ jobs: [a] })
  await worker.enqueue(a, 1, { id: 'mine' })
  await clock.advance(10)
  await worker.discard('mine')
  shop.repaired = true
  const again = await worker.enqueue(a, 2, { id: 'mine' })
  expect(again.deduplicated).toBe(false)
  await clock.settle()
  expect(await again.result()).toBe(2)
})

test('a list comes in pages that lead to each other, none twice, none missed', async () => {
  const { runtime, a } = setUp()
  const worker = await runtime({ jobs: [a], concurrency: 0 })
  await worker.enqueueMany(
    a,
    Array.from({ length: 250 }, (_, n) => n),
  )
  const seen: unknown[] = []
  let after: string | undefined
  do {
    const page = await worker.list({ limit: 100, ...(after !== undefined && { after }) })
    seen.push(...page.map(({ input }) => input))
    after = page.next
  } while (after !== undefined)
  expect(seen).toEqual(Array.from({ length: 250 }, (_, n) => n))
  await expect(worker.list({ after: 'nobody' })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})
