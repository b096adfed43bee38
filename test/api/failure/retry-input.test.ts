/** A job that is sent through again with another input. */
import { createClient, defineJob } from 'jobchart'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { world } from '../../support/leaks.ts'

function setUp() {
  const made = world()
  const steps: number[] = []
  const job = defineJob({
    type: 'job',
    input: z.object({ n: z.number() }),
    retry: { maxAttempts: 1 },
    run: async ({ n }, { step }) => {
      await step('note', async () => void steps.push(n))
      if (n < 0) throw new Error('below zero')
      return n
    },
  })
  return { ...made, job, steps }
}

test('a dead job runs with the new input, from its start', async () => {
  const { clock, runtime, job, steps } = setUp()
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job, { n: -1 }, { tags: ['x'] })
  await clock.settle()
  expect(await worker.retry(handle.id, { input: { n: 3 } })).toMatchObject({ retried: [handle.id] })
  expect(await handle.result()).toBe(3)
  expect([steps, (await handle.record()).tags]).toEqual([[-1, 3], ['x']])
})

test('an input that its schema refuses is refused, and nothing was written', async () => {
  const { clock, store, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job, { n: -1 })
  await clock.settle()
  await expect(handle.retry({ input: { n: 'three' } })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await expect(handle.retry({ input: new Date() })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect(await handle.record()).toMatchObject({ state: 'dead', input: { n: -1 } })
  // A process without the definition checks no more than that it is JSON: the worker does the rest.
  await using client = createClient({ store, clock, jobs: [] })
  await client.retry(handle.id, { input: { n: 'three' } })
  await clock.settle()
  expect(await handle.record()).toMatchObject({ state: 'dead', generation: 2, error: { code: 'INVALID_INPUT' } })
})

test('another input is for one job, and from its start', async () => {
  const { runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const invalid = { code: 'INVALID_OPTION' }
  await expect(worker.retry({ state: 'dead' }, { input: { n: 1 } })).rejects.toMatchObject(invalid)
  await expect(worker.retry(['a', 'b'], { input: { n: 1 } })).rejects.toMatchObject(invalid)
  await expect(worker.retry('a', { input: { n: 1 }, from: 'checkpoint' })).rejects.toMatchObject(invalid)
  await expect(worker.retry('a', { input: { n: 1 }, dropInbox: 1 })).rejects.toMatchObject(invalid)
  expect(await worker.retry('nobody', { input: { n: 1 } })).toMatchObject({ notFound: ['nobody'] })
})
