/** Types that keep fewer dead jobs than the retention. */
import { defineJob, JobDeadError } from 'jobchart'
import { expect, test } from 'vitest'
import { fileStore } from '../../support/file-store.ts'
import { world } from '../../support/leaks.ts'

const failing = (type: string, keepDead?: number) =>
  defineJob<number, void>({
    type,
    retry: { maxAttempts: 1 },
    ...(keepDead !== undefined && { keepDead }),
    run: async () => {
      throw new Error('no')
    },
  })

test('no more dead jobs of a type are kept than it says, the newest; the others stay', async () => {
  const { clock, runtime } = world()
  const [none, two, all] = [failing('none', 0), failing('two', 2), failing('all')]
  const worker = await runtime({ jobs: [none, two, all] })
  for (const n of [1, 2, 3]) {
    for (const job of [none, two, all]) await worker.enqueue(job, n)
    await clock.advance('100ms')
  }
  await clock.advance('2s')
  const kept = (await worker.list({ state: 'dead' })).map(({ type, input }) => [type, input])
  expect(kept).toEqual([
    ['all', 1],
    ['two', 2],
    ['all', 2],
    ['two', 3],
    ['all', 3],
  ])
})

test('whoever waits for the result of a job that is not kept hears that it died', async () => {
  const { clock, runtime } = world()
  const none = failing('none', 0)
  const worker = await runtime({ jobs: [none] })
  const handle = await worker.enqueue(none, 1)
  await expect(handle.result()).rejects.toBeInstanceOf(JobDeadError)
  await clock.advance('2s')
  expect(await worker.job(handle.id)).toBeNull()
})

test('where other processes may wait for the result, a dead job goes after ten seconds', async () => {
  const { clock, store, runtime } = world({ store: fileStore() })
  await store.open({ clock })
  const none = failing('none', 0)
  const worker = await runtime({ jobs: [none] })
  await worker.enqueue(none, 1)
  await clock.advance('9s')
  expect((await worker.counts()).dead).toBe(1)
  await clock.advance('3s')
  expect((await worker.counts()).dead).toBe(0)
})

test('a number that makes no sense is refused', () => {
  expect(() => failing('job', -1)).toThrow('keepDead of job job: expected a whole number')
})
