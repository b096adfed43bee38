/** `keyWeight`: the keys of a type share its starts by weight. */
import { defineJob } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

interface Task {
  readonly tenant?: string
}

/** A type whose runs are listed by tenant. */
function reports(keyWeight?: (tenant: string) => number) {
  const ran: string[] = []
  const job = defineJob<Task, void>({
    type: 'report',
    concurrencyKey: ({ tenant }) => tenant,
    perKey: 10,
    ...(keyWeight !== undefined && { keyWeight }),
    run: async ({ tenant = 'nobody' }) => void ran.push(tenant),
  })
  return { job, ran }
}

const tasks = (tenant: string, count: number): Task[] => Array.from({ length: count }, () => ({ tenant }))

test('a tenant of weight 3 gets three times the starts of one of weight 1, whoever came first', async () => {
  const made = world()
  const { job, ran } = reports((tenant) => (tenant === 'big' ? 3 : 1))
  const worker = made.idle({ store: made.store, jobs: [job], concurrency: 4 })
  await worker.enqueueMany(job, tasks('small', 100))
  await worker.enqueueMany(job, tasks('big', 100))
  await worker.start()
  await worker.drain()
  expect(ran.slice(0, 80).filter((tenant) => tenant === 'big')).toHaveLength(60)
  expect(ran).toHaveLength(200)
})

test('without weights the jobs of a type start first in, first out, whatever their keys', async () => {
  const made = world()
  const { job, ran } = reports()
  const worker = made.idle({ store: made.store, jobs: [job], concurrency: 1 })
  await worker.enqueueMany(job, [...tasks('a', 2), ...tasks('b', 2)])
  await worker.start()
  await worker.drain()
  expect(ran).toEqual(['a', 'a', 'b', 'b'])
})

test('perKey is 1 by default, and none with weights', () => {
  const key = { type: 'a', concurrencyKey: () => 'k', run: async () => {} }
  expect(defineJob(key).limits.perKey).toBe(1)
  expect(defineJob({ ...key, keyWeight: () => 1 }).limits.perKey).toBeNull()
  expect(defineJob({ ...key, keyWeight: () => 1, perKey: 2 }).limits.perKey).toBe(2)
})

test.each([0, 1.5, 100_001, Number.NaN, '3' as never])(
  'a weight of %s is refused, and nothing is stored',
  async (weight) => {
    const made = world()
    const { job } = reports(() => weight)
    const worker = await made.runtime({ store: made.store, jobs: [job] })
    await expect(worker.enqueue(job, { tenant: 'a' })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    expect(await worker.list()).toEqual([])
  },
)

test('a weight function that throws refuses the enqueue; it is not asked for a job without a key', async () => {
  const made = world()
  const { job, ran } = reports(() => {
    throw new Error('no such tenant')
  })
  const worker = await made.runtime({ store: made.store, jobs: [job] })
  await expect(worker.enqueue(job, { tenant: 'a' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await worker.run(job, {})
  expect(ran).toEqual(['nobody'])
})
