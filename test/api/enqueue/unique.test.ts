import { defineJob, type JobState } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

interface Input {
  readonly what: string
  readonly n?: number
}

function setUp() {
  const made = world()
  const { clock } = made
  const ran: unknown[] = []
  const ended: unknown[] = []
  const job = defineJob<Input, string>({
    type: 'job',
    retry: { maxAttempts: 2, backoff: () => '1h' },
    run: async (input, { signal }) => {
      ran.push(input)
      if (input.what === 'fail') throw new Error('no')
      if (input.what === 'hang') {
        await clock.sleep('10h', signal).catch((reason: { code: string }) => {
          ended.push(reason.code)
          throw reason
        })
      }
      return 'done'
    },
  })
  return { ...made, ran, ended, job }
}

test('unique: true is one live job per type and input, whatever the order of its members', async () => {
  const { store, runtime, job } = setUp()
  const twin = defineJob<Input, void>({ type: 'twin', unique: true, run: async () => {} })
  const worker = await runtime({ jobs: [job, twin], concurrency: 0 })
  const first = await worker.enqueue(job, { what: 'a', n: 1 }, { unique: true })
  const same = await worker.enqueue(job, { n: 1, what: 'a' }, { unique: true })
  const different = await worker.enqueue(job, { what: 'a', n: 2 }, { unique: true })
  const otherType = await worker.enqueue(twin, { what: 'a', n: 1 })
  expect([first, same, different, otherType].map(({ deduplicated }) => deduplicated)).toEqual([
    false,
    true,
    false,
    false,
  ])
  expect(same.id).toBe(first.id)
  expect((await store.counts()).queued).toBe(3)
})

test('a job without input is unique too', async () => {
  const { runtime } = setUp()
  const sweep = defineJob({ type: 'sweep', unique: true, run: async () => {} })
  const worker = await runtime({ jobs: [sweep], concurrency: 0 })
  const [first, second] = [await worker.enqueue(sweep), await worker.enqueue(sweep)]
  expect([second.id, second.deduplicated]).toEqual([first.id, true])
})

test('the default of the type holds unless the call says otherwise', async () => {
  const { runtime } = setUp()
  const job = defineJob<Input, void>({ type: 'job', unique: { key: 'the one' }, run: async () => {} })
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  await worker.enqueue(job, { what: 'a' })
  expect((await worker.enqueue(job, { what: 'b' })).deduplicated).toBe(true)
  expect((await worker.enqueue(job, { what: 'c' }, { unique: false })).deduplicated).toBe(false)
  expect((await worker.enqueue(job, { what: 'd' }, { unique: { key: 'another' } })).deduplicated).toBe(false)
})

test('calls of one turn and jobs of one bulk are unique among themselves', async () => {
  const { store, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  const turn = await Promise.all([1, 2, 3].map(() => worker.enqueue(job, { what: 'a' }, { unique: true })))
  expect(new Set(turn.map(({ id }) => id)).size).toBe(1)
  const bulk = await worker.enqueueMany(job, [{ what: 'b' }, { what: 'c' }, { what: 'b' }], { unique: true })
  expect(bulk.map(({ deduplicated }) => deduplicated)).toEqual([false, false, true])
  expect((await store.counts()).queued).toBe(3)
})

const key = { unique: { key: 'k' } }

test('the key is held in every live state and freed by the write that ends the job', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  const taken = async (): Promise<boolean> => {
    const { deduplicated, id } = await worker.enqueue(job, { what: 'probe' }, { ...key, delay: '1d' })
    if (!deduplicated) await worker.cancel(id)
    return deduplicated
  }
  const held: [JobState, boolean][] = []
  const look = async (id: string): Promise<void> => {
    const [record] = await worker.store.get([id])
    held.push([record?.state ?? 'queued', await taken()])
  }
  const failing = await worker.enqueue(job, { what: 'fail' }, { ...key, delay: '1m' })
  await look(failing.id)
  await clock.advance('1m')
  await look(failing.id)
  worker.concurrency = 1
  await clock.settle()
  await look(failing.id)
  await clock.advance('1h')
  worker.concurrency = 0
  await look(failing.id)
  const hanging = await worker.enqueue(job, { what: 'hang' }, key)
  worker.concurrency = 1
  await clock.settle()
  await look(hanging.id)
  await hanging.cancel()
  await clock.settle()
  await look(hanging.id)
  const fine = await worker.enqueue(job, { what: 'fine' }, key)
  await clock.settle()
  await look(fine.id)
  expect(held).toEqual([
    ['scheduled', true],
    ['queued', true],
    ['retrying', true],
    ['dead', false],
    ['running', true],
    ['cancelled', false],
    ['done', false],
  ])
})

test('keep gives the job that is there, and its result', async () => {
  const { clock, runtime, ran, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  await worker.enqueue(job, { what: 'first' }, { ...key, delay: '1m' })
  const second = await worker.enqueue(job, { what: 'second' }, { unique: { key: 'k', onConflict: 'keep' } })
  expect(second.deduplicated).toBe(true)
  const result = second.result()
  await clock.advance('1m')
  expect(await result).toBe('done')
  expect(ran).toEqual([{ what: 'first' }])
})

test('replace gives the job that waits the new input and tags, and leaves one that runs alone', async () => {
  const { clock, runtime, ran, job } = setUp()
  const replace = { unique: { key: 'k', onConflict: 'replace' as const } }
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  const first = await worker.enqueue(job, { what: 'old' }, { ...key, tags: ['old'] })
  const second = await worker.enqueue(job, { what: 'hang' }, { ...replace, tags: ['new'] })
  expect(second).toMatchObject({ id: first.id, deduplicated: true })
  expect(await first.record()).toMatchObject({ input: { what: 'hang' }, tags: ['new'], state: 'queued' })
  worker.concurrency = 1
  await clock.settle()
  const third = await worker.enqueue(job, { what: 'newer' }, replace)
  expect(third).toMatchObject({ id: first.id, deduplicated: true })
  expect(await first.record()).toMatchObject({ input: { what: 'hang' }, state: 'running' })
  expect(ran).toEqual([{ what: 'hang' }])
  await first.cancel()
})

test('replace reaches a job that waits for its retry', async () => {
  const { clock, runtime, ran, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const first = await worker.enqueue(job, { what: 'fail' }, key)
  await clock.settle()
  await worker.enqueue(job, { what: 'repaired' }, { unique: { key: 'k', onConflict: 'replace' } })
  await clock.advance('1h')
  expect(ran).toEqual([{ what: 'fail' }, { what: 'repaired' }])
  expect(await first.result()).toBe('done')
})

test('supersede cancels the job that waits and takes its place', async () => {
  const { clock, runtime, ran, job } = setUp()
  const worker = await runtime({ jobs: [job], concurrency: 0 })
  const first = await worker.enqueue(job, { what: 'old' }, key)
  const second = await worker.enqueue(job, { what: 'new' }, { unique: { key: 'k', onConflict: 'supersede' } })
  expect(second.deduplicated).toBe(false)
  expect(await first.record()).toMatchObject({ state: 'cancelled', cancelReason: 'superseded' })
  await expect(first.result()).rejects.toMatchObject({ code: 'CANCELLED', reason: 'superseded' })
  worker.concurrency = 1
  await clock.settle()
  expect(ran).toEqual([{ what: 'new' }])
  expect((await worker.enqueue(job, { what: 'x' }, key)).deduplicated).toBe(false)
})

test('supersede aborts the job that runs, which ends cancelled, and the key stays with the new one', async () => {
  const { clock, runtime, ended, job } = setUp()
  const worker = await runtime({ jobs: [job], concurrency: 2 })
  const first = await worker.enqueue(job, { what: 'hang' }, key)
  await clock.settle()
  const second = await worker.enqueue(job, { what: 'hang', n: 2 }, { unique: { key: 'k', onConflict: 'supersede' } })
  await clock.settle()
  expect(ended).toEqual(['CANCELLED'])
  expect((await first.record()).state).toBe('cancelled')
  expect((await second.record()).state).toBe('running')
  const third = await worker.enqueue(job, { what: 'third' }, key)
  expect(third).toMatchObject({ id: second.id, deduplicated: true })
})

test('while a superseded job does not end, the new one does not start; it starts when the grace is over', async () => {
  const { clock, runtime } = setUp()
  const running = new Set<string>()
  const beside: string[][] = []
  const stubborn = defineJob<string, void>({
    type: 'stubborn',
    run: async (name) => {
      running.add(name)
      beside.push([...running])
      if (name === 'last') return
      await clock.sleep('8s')
      running.delete(name)
    },
  })
  const worker = await runtime({ jobs: [stubborn], concurrency: 3, grace: '5s' })
  const unique = { unique: { key: 'k', onConflict: 'supersede' } } as const
  const first = await worker.enqueue(stubborn, 'first', unique)
  await clock.settle()
  const second = await worker.enqueue(stubborn, 'second', unique)
  const states: JobState[] = []
  second.state$.subscribe((state) => states.push(state))
  await clock.advance('4s')
  expect([(await first.record()).state, (await second.record()).state]).toEqual(['cancelling', 'scheduled'])
  const last = await worker.enqueue(stubborn, 'last', unique)
  expect((await worker.enqueue(stubborn, 'none', { unique: { key: 'k' } })).id).toBe(last.id)
  await clock.advance('1s')
  expect([(await first.record()).state, (await second.record()).state]).toEqual(['cancelled', 'cancelled'])
  await last.result()
  expect(beside).toEqual([['first'], ['first', 'last']])
  expect(states).toEqual(['scheduled', 'cancelled'])
  await clock.advance('5s')
})

test('a job that waits for a superseded one reports each of its transitions', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  await worker.enqueue(job, { what: 'hang' }, key)
  await clock.settle()
  const events: unknown[] = []
  worker.events$.subscribe(({ event, from, to }) => events.push([event, from, to]))
  const next = await worker.enqueue(job, { what: 'new' }, { unique: { key: 'k', onConflict: 'supersede' } })
  expect(await next.result()).toBe('done')
  expect(events).toEqual([
    ['CANCEL', 'running', 'cancelling'],
    ['ENQUEUE', null, 'scheduled'],
    ['FAIL', 'cancelling', 'cancelled'],
    ['DUE', 'scheduled', 'queued'],
    ['CLAIM', 'queued', 'running'],
    ['COMPLETE', 'running', 'done'],
  ])
})

test('what is enqueued under the key of a job that is being cancelled is kept, and runs after it', async () => {
  const { clock, runtime, ran, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const first = await worker.enqueue(job, { what: 'hang' }, key)
  await clock.settle()
  const cancelled = first.cancel()
  const second = await worker.enqueue(job, { what: 'new' }, key)
  await cancelled
  expect([second.deduplicated, await second.result()]).toEqual([false, 'done'])
  expect(ran).toEqual([{ what: 'hang' }, { what: 'new' }])
})

test('a dead job is not sent through again while another one holds its key', async () => {
  const { clock, runtime, job } = setUp()
  const worker = await runtime({ jobs: [job] })
  const dead = await worker.enqueue(job, { what: 'fail' }, key)
  await clock.advance('1h')
  const holder = await worker.enqueue(job, { what: 'fine' }, { ...key, delay: '1h' })
  expect(await worker.retry(dead.id)).toEqual({ retried: [], refused: [dead.id], notFound: [] })
  await expect(dead.retry()).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
  await holder.cancel()
  expect((await worker.retry(dead.id)).retried).toEqual([dead.id])
})
