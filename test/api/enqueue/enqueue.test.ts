import { defineJob, JobchartError } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const echo = defineJob<{ n: number }, number>({ type: 'echo', run: async ({ n }) => n })
const other = defineJob<{ n: number }, number>({ type: 'other', run: async ({ n }) => -n })

test('an acknowledged job is in the store, in the queue that has the name of its type', async () => {
  const { store, idle } = world()
  const job = await idle({ jobs: [echo] }).enqueue(echo, { n: 1 })
  const [record] = await store.get([job.id])
  expect(record).toMatchObject({
    id: job.id,
    type: 'echo',
    state: 'queued',
    input: { n: 1 },
    attempt: 0,
    maxAttempts: 3,
  })
  expect((await store.counts()).types['echo']).toMatchObject({ queued: 1 })
  expect(job.deduplicated).toBe(false)
})

test('a job that nobody waits for runs all the same', async () => {
  const { clock, runtime } = world()
  const ran: number[] = []
  const note = defineJob<number, void>({ type: 'note', run: async (n) => void ran.push(n) })
  const worker = await runtime({ jobs: [note] })
  await worker.enqueue(note, 1)
  await worker.enqueue(note, 2)
  await clock.settle()
  expect(ran).toEqual([1, 2])
})

test('jobs enqueued before the start run after it', async () => {
  const { idle } = world()
  const worker = idle({ jobs: [echo] })
  const job = await worker.enqueue(echo, { n: 7 })
  expect((await job.record()).state).toBe('queued')
  await worker.start()
  expect(await job.result()).toBe(7)
})

test('run resolves with the output and rejects with the error of the job', async () => {
  const { runtime } = world()
  const fail = defineJob<undefined, void>({
    type: 'fail',
    retry: { maxAttempts: 1 },
    run: () => Promise.reject(Object.assign(new Error('no paper'), { code: 'PAPER' })),
  })
  const worker = await runtime({ jobs: [echo, fail] })
  expect(await worker.run(echo, { n: 3 })).toBe(3)
  await expect(worker.run(fail)).rejects.toMatchObject({
    name: 'JobDeadError',
    code: 'DEAD',
    cause: { message: 'no paper', code: 'PAPER' },
  })
})

test('the same own id twice is one job, which runs once', async () => {
  const { runtime } = world()
  let runs = 0
  const count = defineJob<{ n: number }, number>({ type: 'count', run: async ({ n }) => (runs++, n) })
  const worker = await runtime({ jobs: [count] })
  const first = await worker.enqueue(count, { n: 1 }, { id: 'once' })
  const second = await worker.enqueue(count, { n: 2 }, { id: 'once' })
  expect([first.deduplicated, second.deduplicated]).toEqual([false, true])
  expect(await second.result()).toBe(1)
  const third = await worker.enqueue(count, { n: 3 }, { id: 'once' })
  expect(await third.result()).toBe(1)
  expect(runs).toBe(1)
})

test('the same own id in the same turn is one job', async () => {
  const { runtime } = world()
  const worker = await runtime({ jobs: [echo] })
  const handles = await Promise.all([1, 2, 3].map((n) => worker.enqueue(echo, { n }, { id: 'once' })))
  expect(handles.map(({ id }) => id)).toEqual(['once', 'once', 'once'])
  expect(handles.map(({ deduplicated }) => deduplicated)).toEqual([false, true, true])
  expect(await Promise.all(handles.map((job) => job.result()))).toEqual([1, 1, 1])
})

test('an id that belongs to a job of another type is refused and nothing is stored', async () => {
  const { store, runtime } = world()
  const worker = await runtime({ jobs: [echo, other] })
  await worker.enqueue(echo, { n: 1 }, { id: 'mine' })
  const refused = worker.enqueue(other, { n: 1 }, { id: 'mine' })
  await expect(refused).rejects.toMatchObject({ code: 'ID_TAKEN', hint: expect.any(String) })
  expect((await store.counts()).types['other']?.queued ?? 0).toBe(0)
})

test('a definition that is not among the jobs of the runtime is refused, even if its type is', async () => {
  const { store, runtime } = world()
  const twin = defineJob<{ n: number }, number>({ type: 'echo', concurrency: 1, run: async ({ n }) => n })
  const worker = await runtime({ jobs: [echo] })
  for (const job of [other, twin]) {
    await expect(worker.enqueue(job, { n: 1 })).rejects.toMatchObject({
      code: 'UNKNOWN_TYPE',
      hint: expect.any(String),
    })
  }
  expect((await store.counts()).queued).toBe(0)
})

test('the record carries tags, priority and times', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [echo] })
  const at = clock.now()
  const job = await worker.enqueue(echo, { n: 1 }, { tags: ['a', 'b'], priority: -3 })
  await job.result()
  const record = await job.record()
  expect(record).toMatchObject({
    tags: ['a', 'b'],
    priority: -3,
    worker: worker.id,
    output: 1,
    key: null,
    generation: 1,
  })
  expect(record).toMatchObject({ enqueuedAt: at, startedAt: at, finishedAt: at, dueAt: null })
  expect(record.history.map(({ event, from, to }) => [event, from, to])).toEqual([
    ['ENQUEUE', null, 'queued'],
    ['CLAIM', 'queued', 'running'],
    ['COMPLETE', 'running', 'done'],
  ])
})

test('a handler may enqueue other jobs', async () => {
  const { runtime } = world()
  const parent = defineJob<{ n: number }, string>({
    type: 'parent',
    run: async ({ n }, context) => (await context.enqueue(echo, { n }, { tags: ['child'] })).id,
  })
  const worker = await runtime({ jobs: [parent, echo] })
  const child = await worker.run(parent, { n: 5 })
  expect(await (await worker.job(child))?.result()).toBe(5)
  expect((await worker.list({ tag: 'child' })).map(({ id }) => id)).toEqual([child])
})

test('every refusal is a JobchartError', async () => {
  const { runtime } = world()
  const worker = await runtime({ jobs: [echo] })
  const error = await worker.enqueue(other, { n: 1 }).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(JobchartError)
})

test('enqueueMany refuses inputs that are too large together, and stores none of them', async () => {
  const { runtime } = world()
  const text = defineJob<string, void>({ type: 'text', run: async () => {} })
  const worker = await runtime({ jobs: [text], concurrency: 0 })
  const inputs = (count: number): string[] => Array.from({ length: count }, () => 'x'.repeat(1_000_000))
  const refusal = { code: 'INVALID_OPTION', message: expect.stringContaining('16777216 bytes') }
  await expect(worker.enqueueMany(text, inputs(17))).rejects.toMatchObject(refusal)
  expect((await worker.counts()).queued).toBe(0)
  expect(await worker.enqueueMany(text, inputs(16))).toHaveLength(16)
})
