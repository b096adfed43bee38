/**
 * Handlers of batches: what comes together, how long a batch waits, and that each of its jobs stays a job of its own.
 */
import {
  constant,
  defineJob,
  fatal,
  snooze,
  type BatchContext,
  type BatchItem,
  type Duration,
  type RuntimeOptions,
} from 'jobchart'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { world } from '../../support/leaks.ts'

type Items = readonly BatchItem<number>[]

/** A type whose batches are listed as they are called. */
function batches(size: number, wait: Duration, run?: (items: Items, context: BatchContext) => Promise<unknown[]>) {
  const calls: number[][] = []
  const job = defineJob<number, unknown>({
    type: 'batch',
    retry: { maxAttempts: 2, backoff: constant('1m') },
    batch: {
      size,
      wait,
      run: async (items, context) => {
        calls.push(items.map(({ input }) => input))
        return run === undefined ? items.map(({ input }) => input * 2) : run(items, context)
      },
    },
  })
  return { job, calls }
}

async function started(job: ReturnType<typeof batches>['job'], options: Partial<RuntimeOptions> = {}) {
  const made = world()
  return { ...made, runtime: await made.runtime({ jobs: [job], concurrency: 10, ...options }) }
}

const states = (handles: readonly { record(): Promise<{ state: string; attempt: number }> }[]): Promise<string[]> =>
  Promise.all(handles.map(async (handle) => (await handle.record()).state))

test('a full batch runs at once, in the order of its jobs, and each job has its own output', async () => {
  const { job, calls } = batches(3, '1h')
  const { clock, runtime } = await started(job)
  const handles = await runtime.enqueueMany(job, [1, 2, 3, 4, 5, 6])
  await clock.settle()
  expect(calls).toEqual([
    [1, 2, 3],
    [4, 5, 6],
  ])
  expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual([2, 4, 6, 8, 10, 12])
})

test('a partial batch waits from its first job for more, and then runs', async () => {
  const { job, calls } = batches(10, '1s')
  const { clock, runtime } = await started(job)
  await runtime.enqueue(job, 1)
  await clock.advance(600)
  await runtime.enqueue(job, 2)
  await clock.advance(399)
  expect(calls).toEqual([])
  await clock.advance(1)
  expect(calls).toEqual([[1, 2]])
})

test('without a wait a batch takes what has started in the same turn', async () => {
  const calls: number[] = []
  const job = defineJob<number, void>({
    type: 'job',
    batch: { size: 10, run: (items) => void calls.push(items.length) },
  })
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [job] })
  const handles = await worker.enqueueMany(job, [1, 2, 3])
  await clock.advance(0)
  expect(calls).toEqual([3])
  expect(await states(handles)).toEqual(['done', 'done', 'done'])
})

test('each job holds a slot: a batch is no larger than the slots of the runtime, or the limit of its type', async () => {
  const { job, calls } = batches(100, '1h')
  const { clock, runtime } = await started(job, { concurrency: 2 })
  await runtime.enqueueMany(job, [1, 2, 3, 4])
  await clock.settle()
  expect(calls).toEqual([
    [1, 2],
    [3, 4],
  ])
  const limited = { ...job, limits: { ...job.limits, concurrency: 3 } }
  const other = await started(limited)
  await other.runtime.enqueueMany(limited, [1, 2, 3])
  await other.clock.settle()
  expect(calls.at(-1)).toEqual([1, 2, 3])
})

test('an item may fail, fail for good or be snoozed, and the others are done', async () => {
  const { job } = batches(4, '1h', async (items) =>
    items.map(({ input, ctx }) => {
      if (ctx.attempt === 2) return 'again'
      return [new TypeError('bad'), fatal('for good'), snooze('5m'), 'fine'][input]
    }),
  )
  const { clock, runtime } = await started(job)
  const handles = await runtime.enqueueMany(job, [0, 1, 2, 3])
  await clock.settle()
  expect(await states(handles)).toEqual(['retrying', 'dead', 'scheduled', 'done'])
  expect((await handles[0]?.record())?.errors[0]?.error).toMatchObject({ name: 'TypeError', message: 'bad' })
  expect((await handles[1]?.record())?.error).toMatchObject({ message: 'for good' })
  expect(await handles[2]?.record()).toMatchObject({ attempt: 0 })
})

test('what the handler throws fails every item: each is retried on its own', async () => {
  const { job, calls } = batches(3, '1s', async (items) => {
    if (items.some(({ ctx }) => ctx.attempt === 1)) throw new Error('the bulk insert failed')
    return items.map(() => 'second')
  })
  const { clock, runtime } = await started(job)
  const handles = await runtime.enqueueMany(job, [1, 2, 3])
  await clock.settle()
  expect(await states(handles)).toEqual(['retrying', 'retrying', 'retrying'])
  await clock.advance('62s')
  expect(calls).toEqual([
    [1, 2, 3],
    [1, 2, 3],
  ])
  expect(await states(handles)).toEqual(['done', 'done', 'done'])
})

test.each([[[1]], [[1, 2, 3]], ['done'], [null]])(
  'a handler that returns %j for two jobs makes both dead',
  async (results) => {
    const { job } = batches(2, '1h', async () => results as unknown[])
    const { clock, runtime } = await started(job)
    const handles = await runtime.enqueueMany(job, [1, 2])
    await clock.settle()
    expect(await states(handles)).toEqual(['dead', 'dead'])
    expect((await handles[0]?.record())?.error).toMatchObject({ code: 'INVALID_OUTPUT' })
  },
)

test('a job that is cancelled while its batch waits leaves it, and an empty batch does not run', async () => {
  const { job, calls } = batches(10, '1s')
  const { clock, runtime } = await started(job)
  const handles = await runtime.enqueueMany(job, [1, 2])
  await clock.settle()
  await handles[0]?.cancel()
  await clock.advance('1s')
  expect(calls).toEqual([[2]])
  expect(await states(handles)).toEqual(['cancelled', 'done'])
  const alone = await runtime.enqueue(job, 3)
  await clock.settle()
  await alone.cancel()
  await clock.advance('1m')
  expect(calls).toEqual([[2]])
})

test('a cancel of one job of a running batch aborts its signal alone; that of the batch aborts when all have', async () => {
  const seen: string[] = []
  const { job } = batches(2, '1h', async (items, { signal }) => {
    signal.addEventListener('abort', () => seen.push(`batch ${signal.reason.code}`))
    for (const { ctx, input } of items) ctx.signal.addEventListener('abort', () => seen.push(`item ${input}`))
    await clock.sleep('1m')
    return ['a', 'b']
  })
  const { clock, runtime } = await started(job)
  const handles = await runtime.enqueueMany(job, [1, 2, 3, 4])
  await clock.settle()
  await handles[0]?.cancel({ grace: '2m' })
  expect(seen).toEqual(['item 1'])
  await runtime.cancel(
    handles.slice(2).map(({ id }) => id),
    { grace: '2m' },
  )
  // The listener of the batch was added before that of its last item.
  expect(seen).toEqual(['item 1', 'item 3', 'batch CANCELLED', 'item 4'])
  await clock.advance('1m')
  expect(await states(handles)).toEqual(['cancelled', 'done', 'cancelled', 'cancelled'])
})

test('a timeout or the grace of a cancel abandons one job, and the batch goes on for the others', async () => {
  const { job } = batches(2, '1h', async (items) => {
    await clock.sleep('1m')
    return items.map(() => 'late')
  })
  const { clock, runtime } = await started(job)
  const slow = await runtime.enqueue(job, 1, { attemptTimeout: '10s', maxAttempts: 1 })
  const other = await runtime.enqueue(job, 2)
  await clock.advance('11s')
  expect(await states([slow, other])).toEqual(['dead', 'running'])
  expect(await runtime.stats()).toMatchObject({ taken: 1, abandoned: 1 })
  await clock.advance('1m')
  expect(await states([slow, other])).toEqual(['dead', 'done'])
  expect(await runtime.stats()).toMatchObject({ taken: 0, abandoned: 0 })
})

test.each([
  ['drain', (runtime: Awaited<ReturnType<typeof started>>['runtime']) => runtime.drain()],
  ['stop', (runtime: Awaited<ReturnType<typeof started>>['runtime']) => runtime.stop()],
  ['stop in mode drain', (runtime: Awaited<ReturnType<typeof started>>['runtime']) => runtime.stop({ mode: 'drain' })],
  ['pause', (runtime: Awaited<ReturnType<typeof started>>['runtime']) => runtime.pause()],
  ['pause of its queue', (runtime: Awaited<ReturnType<typeof started>>['runtime']) => runtime.queue('batch').pause()],
])('a partial batch runs at once on %s', async (_, act) => {
  const { job, calls } = batches(10, '1h')
  const { clock, runtime } = await started(job)
  const handles = await runtime.enqueueMany(job, [1, 2])
  await clock.settle()
  expect(calls).toEqual([])
  const acted = act(runtime)
  await clock.settle()
  expect(calls).toEqual([[1, 2]])
  await clock.advance('1s')
  await acted
  void handles
})

test('while a drain waits, jobs that start together run together, without a wait', async () => {
  const { job, calls } = batches(10, '1h')
  const { clock, runtime } = await started(job)
  const draining = runtime.drain()
  await runtime.enqueueMany(job, [1, 2, 3])
  await clock.advance('1s')
  expect(await draining).toBe(true)
  expect(calls).toEqual([[1, 2, 3]])
})

test('middleware and schema are applied to each job; one that they refuse is not in the batch', async () => {
  const calls: Date[][] = []
  const dated = defineJob({
    type: 'dated',
    input: z.string().transform((text, context) => {
      const date = new Date(text)
      if (Number.isNaN(date.getTime())) context.addIssue('no date')
      return date
    }),
    batch: {
      size: 3,
      wait: '1s',
      run: async (items) => {
        calls.push(items.map(({ input }) => input))
        return items.map(({ ctx }) => ctx.id)
      },
    },
  })
  const around: string[] = []
  const { clock, runtime } = world()
  const worker = await runtime({
    jobs: [dated],
    middleware: [async (ctx, next) => around.push(`${ctx.id} ${String(await next())}`)],
  })
  const day = '2026-01-01'
  await worker.enqueue(dated, day, { id: 'a' })
  const bad = await worker.enqueueByName('dated', 'never', { id: 'b' }).catch(() => null)
  await worker.enqueue(dated, day, { id: 'c' })
  await clock.advance('1s')
  expect(bad).toBeNull()
  expect(calls).toEqual([[new Date(day), new Date(day)]])
  expect(around.toSorted()).toEqual(['a a', 'c c'])
})

test('a handler may take the items out of its list', async () => {
  const { job } = batches(3, 0, async (items) => {
    const taken = (items as BatchItem<number>[]).splice(0)
    return taken.map(({ input }) => input)
  })
  const { runtime } = await started(job)
  const jobs = await runtime.enqueueMany(job, [1, 2, 3])
  expect(await Promise.all(jobs.map((each) => each.result()))).toEqual([1, 2, 3])
})

test('a wait is refused in which each job of a batch that is not full would time out', () => {
  const define = (attemptTimeout: Duration) => () =>
    defineJob({ type: 'late', attemptTimeout, batch: { size: 2, wait: '1s', run: async () => undefined } })
  expect(define('1s')).toThrow('batch.wait of job late: expected less than attemptTimeout, which counts it, got 1000')
  expect(define('2s')).not.toThrow()
})
