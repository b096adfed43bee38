import {
  createClient,
  createRuntime,
  defineJob,
  fatal,
  type Duration,
  type JobDefinition,
  type JobHandle,
  type RuntimeOptions,
  type StatesRetention,
} from 'jobchart'
import { expect, test } from 'vitest'
import { isLong } from '../../harness/long-form.ts'
import { world } from '../../support/leaks.ts'

const job = defineJob<string, void>({
  type: 'job',
  run: async (what) => {
    if (what === 'die') throw fatal(new Error('no'))
  },
})

async function started(retention?: RuntimeOptions['retention'], lease: Duration = '30s') {
  const made = world()
  const worker = await made.runtime({ jobs: [job], lease, ...(retention && { retention }) })
  return { ...made, worker }
}

test('by default done and cancelled jobs are kept for a day, dead ones for thirty', async () => {
  const { clock, worker } = await started(undefined, '1h')
  await worker.enqueueMany(job, ['fine', 'die'])
  await worker.cancel((await worker.enqueue(job, 'x', { delay: '1h' })).id)
  await clock.advance('23h')
  expect(await worker.counts()).toMatchObject({ done: 1, dead: 1, cancelled: 1 })
  await clock.advance('2h')
  expect(await worker.counts()).toMatchObject({ done: 0, dead: 1, cancelled: 0 })
  await clock.advance('29d')
  expect(await worker.counts()).toMatchObject({ dead: 0 })
})

test('retention by age counts from the end of the job', async () => {
  const { clock, worker } = await started({ dead: { age: '1h' } })
  await worker.enqueue(job, 'die', { delay: '2h' })
  await clock.advance('150m')
  expect(await worker.counts()).toMatchObject({ dead: 1 })
  await clock.advance('31m')
  expect(await worker.counts()).toMatchObject({ dead: 0 })
})

test('retention by count lets the oldest go, a second after they are a minute old', async () => {
  const { clock, worker } = await started({ done: { count: 3 }, dead: { count: 0 } })
  for (const what of ['a', 'b', 'die', 'c', 'd', 'e']) {
    await worker.enqueue(job, what)
    await clock.advance('2s')
  }
  const kept = async () => (await worker.list({})).map(({ input }) => input)
  await clock.advance('47s')
  expect(await kept()).toEqual(['a', 'b', 'die', 'c', 'd', 'e'])
  await clock.advance('2s')
  expect(await kept()).toEqual(['b', 'die', 'c', 'd', 'e'])
  await clock.advance('4s')
  expect(await kept()).toEqual(['c', 'd', 'e'])
})

test('of very many ends in a minute no more than 5,000 beyond the count are kept in memory', async () => {
  const { clock, worker } = await started({ done: { count: 10 } })
  for (let n = 0; n < 2; n++) await worker.enqueueMany(job, Array<string>(10_000).fill('x'))
  await clock.settle()
  expect((await worker.counts()).done).toBeLessThanOrEqual(5_510)
  await clock.advance('1s')
  expect((await worker.counts()).done).toBe(5_010)
  await clock.advance('1m')
  expect((await worker.counts()).done).toBe(10)
})

test('an id is known for a minute after the end of its job, whatever the retention', async () => {
  const { clock, worker } = await started({ done: { age: 0, count: 0 } })
  const enqueued = async () => (await worker.enqueue(job, 'x', { id: 'mine' })).deduplicated
  expect(await enqueued()).toBe(false)
  await clock.advance('59s')
  expect(await enqueued()).toBe(true)
  await clock.advance('2s')
  expect(await enqueued()).toBe(false)
})

test('every result that a client of the process awaits is delivered, however few are kept', async () => {
  const { store, clock } = await started({ done: { age: 0, count: 0 } })
  const client = createClient({ store, jobs: [job], clock })
  const handles: JobHandle<void>[] = []
  for (let n = 0; n < (isLong ? 6 : 2); n++)
    handles.push(...(await client.enqueueMany(job, Array<string>(10_000).fill('x'))))
  const results = Promise.allSettled(handles.map((handle) => handle.result()))
  await clock.settle()
  // The last results, fewer than a read takes, are collected for 10 ms.
  await clock.advance('10ms')
  expect((await results).filter(({ status }) => status === 'rejected')).toEqual([])
  await client.close()
})

test('who waits for the result of a job that is pruned is told so', async () => {
  const { clock, worker } = await started({ done: { age: '1m' } })
  const handle = await worker.enqueue(job, 'fine')
  await clock.advance('5m')
  await expect(handle.result()).rejects.toMatchObject({ code: 'NOT_FOUND', hint: expect.stringContaining('retention') })
  expect(await worker.job(handle.id)).toBe(null)
})

test('live jobs are never pruned', async () => {
  const { clock, worker } = await started({ done: { age: 0, count: 0 }, cancelled: { age: 0 }, dead: { age: 0 } }, '1h')
  await worker.enqueue(job, 'x', { delay: '30d' })
  await worker.enqueueMany(job, ['fine', 'die'])
  await clock.advance('29d')
  expect(await worker.counts()).toMatchObject({ scheduled: 1, done: 0, dead: 0 })
  await clock.advance('25h')
  expect(await worker.counts()).toMatchObject({ scheduled: 0, done: 0 })
})

test('by default an id is known for a day, however many jobs of another type end meanwhile', async () => {
  const { clock, runtime } = world()
  const [order, mail] = ['order', 'mail'].map((type) => defineJob<string, void>({ type, run: async () => {} }))
  const worker = await runtime({ jobs: [order, mail] as JobDefinition<string, void>[] })
  const enqueued = async () =>
    (await worker.enqueue(order as JobDefinition<string, void>, 'x', { id: 'order 7' })).deduplicated
  expect(await enqueued()).toBe(false)
  for (let n = 0; n < 2; n++)
    await worker.enqueueMany(mail as JobDefinition<string, void>, Array<string>(6_000).fill('x'))
  await clock.advance('5m')
  expect(await worker.counts()).toMatchObject({ types: { mail: { done: 10_000 }, order: { done: 1 } } })
  expect(await enqueued()).toBe(true)
  await clock.advance('25h')
  expect(await enqueued()).toBe(false)
})

test('10,001 dead jobs of a type leave the dead jobs of other types where they are', async () => {
  const { clock, worker } = await started()
  const other = await worker.enqueueByName('other', 'x', { id: 'other' })
  await worker.cancel(other.id)
  await worker.enqueue(job, 'die', { id: 'first' })
  await clock.advance('1s')
  for (let n = 0; n < 2; n++) await worker.enqueueMany(job, Array<string>(5_000).fill('die'))
  await clock.advance('2m')
  expect(await worker.counts()).toMatchObject({ dead: 10_000, types: { other: { cancelled: 1 } } })
  expect(await worker.job('first')).toBe(null)
})

test('a type is kept as its definition says, the rest as the runtime says, whichever worker prunes', async () => {
  const { clock, runtime } = world()
  const of = (type: string, retention?: StatesRetention) =>
    defineJob<string, void>({ type, run: async () => {}, ...(retention && { retention }) })
  const [long, short, plain] = [of('long', { done: { age: '2d' } }), of('short', { done: { count: 1 } }), of('plain')]
  const worker = await runtime({ jobs: [long, short, plain], retention: { done: { age: '10h' } } })
  await runtime({ jobs: [of('strange')], retention: { done: { age: '1m', count: 0 } } })
  for (const each of [long, short, plain]) await worker.enqueueMany(each, ['a', 'b'])
  const kept = async () => Object.entries((await worker.counts()).types).map(([type, { done }]) => [type, done])
  await clock.advance('2m')
  expect(await kept()).toEqual([
    ['long', 2],
    ['short', 1],
    ['plain', 2],
  ])
  await clock.advance('10h')
  expect(await kept()).toEqual([
    ['long', 2],
    ['short', 0],
    ['plain', 0],
  ])
  await clock.advance('38h')
  expect(await kept()).toEqual([
    ['long', 0],
    ['short', 0],
    ['plain', 0],
  ])
})

test('a runtime with many types keeps a million jobs of a state in all by default', async () => {
  const { clock, runtime } = world()
  const others = Array.from({ length: 1_999 }, (_, i) => defineJob({ type: `type ${i}`, run: async () => {} }))
  const worker = await runtime({ jobs: [job, ...others] })
  await worker.enqueueMany(job, Array<string>(600).fill('x'))
  await clock.advance('2m')
  expect((await worker.counts()).done).toBe(500)
})

test('a retention that makes no sense is refused', () => {
  const refused = (retention: unknown, message: string) =>
    expect(() => defineJob({ type: 'job', run: async () => {}, retention: retention as StatesRetention })).toThrow(
      message,
    )
  refused({ failed: { count: 1 } }, 'retention of job job')
  refused({ done: { count: -1 } }, 'retention of job job, done.count')
  refused({ dead: { age: 'long' } }, 'retention of job job, dead.age')
  refused({ dead: { days: 1 } }, 'retention of job job, dead')
  const both = { type: 'job', run: async () => {}, keepDead: 1, retention: { dead: { count: 2 } } }
  expect(() => defineJob(both)).toThrow('keepDead of job job: expected no keepDead beside retention.dead.count')
  expect(() => createRuntime({ jobs: [], retention: { done: { count: 0.5 } } })).toThrow('retention, done.count')
})
