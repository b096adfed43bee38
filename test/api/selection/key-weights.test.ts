/** `keyWeight`: the keys of a type share its starts by weight. */
import { createClient, defineJob } from 'jobchart'
import { expect, test } from 'vitest'
import { countedKeysMax, KeyPicks } from '../../../src/worker/key-picks.ts'
import { world } from '../../support/leaks.ts'

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

test('the figures of a queue say what each key was given, the 20 keys with the most first', async () => {
  const made = world()
  const { job } = reports((tenant) => (tenant === 'big' ? 3 : 1))
  const worker = await made.runtime({ store: made.store, jobs: [job] })
  await worker.enqueueMany(job, [...tasks('small', 2), ...tasks('big', 6), ...Array.from({ length: 2 }, () => ({}))])
  await worker.drain()
  const { given, keys } = await worker.queue('report').stats()
  expect(given).toBe(10)
  expect(keys).toEqual([
    { key: 'big', given: 6, share: 0.6 },
    { key: 'small', given: 2, share: 0.2 },
  ])
  await worker.enqueueMany(
    job,
    Array.from({ length: 30 }, (_, i) => ({ tenant: `tenant ${i}` })),
  )
  await worker.drain()
  const { keys: top } = await worker.queue('report').stats()
  expect(top).toHaveLength(20)
  expect(top.slice(0, 2).map(({ key }) => key)).toEqual(['big', 'small'])
  const client = createClient({ store: made.store, jobs: [job] })
  expect((await client.queue('report').stats()).keys).toEqual([])
  await client.close()
})

test('of more keys than are counted none with many picks is missing', () => {
  const picks = new KeyPicks()
  for (let i = 0; i < 20_000; i++) {
    picks.add(`tenant ${i}`)
    if (i % 4 === 0) picks.add('big')
  }
  const [first, second] = picks.top(2)
  expect(first?.key).toBe('big')
  expect(first?.picks).toBeGreaterThanOrEqual(5_000)
  expect(first?.picks).toBeLessThanOrEqual(5_000 + 25_000 / countedKeysMax)
  expect(second?.picks).toBeLessThanOrEqual(1 + 25_000 / countedKeysMax)
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
