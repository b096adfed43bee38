import { defineJob, durable, TimeoutError } from 'jobchart'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

test('an attempt that takes too long fails with TIMEOUT, its signal having aborted at the deadline', async () => {
  const { clock, runtime } = world()
  const aborted: unknown[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    attemptTimeout: '10s',
    retry: { maxAttempts: 2, backoff: () => '1s' },
    run: async (_input, { signal, deadline }) => {
      signal.addEventListener('abort', () => aborted.push([signal.reason, clock.now() - (deadline ?? 0)]))
      await clock.sleep('1h', signal)
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance(9_999)
  expect(aborted).toEqual([])
  await clock.advance('20s')
  expect(aborted).toEqual([
    [expect.any(TimeoutError), 0],
    [expect.any(TimeoutError), 0],
  ])
  const record = await handle.record()
  expect(record).toMatchObject({ state: 'dead', attempt: 2, error: { name: 'TimeoutError', code: 'TIMEOUT' } })
  await expect(handle.result()).rejects.toMatchObject({ code: 'DEAD', cause: { code: 'TIMEOUT' } })
})

test('an attempt that ends in time is left alone, and its timer with it', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, string>({
    type: 'job',
    attemptTimeout: '10s',
    run: async (_input, { signal }) => clock.sleep(9_999, signal).then(() => 'in time'),
  })
  const worker = await runtime({ jobs: [job] })
  const before = clock.pending
  const handle = await worker.enqueue(job)
  await clock.advance('1m')
  expect(await handle.result()).toBe('in time')
  expect(clock.pending).toBe(before)
})

test('each attempt has the whole time', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, number>({
    type: 'job',
    attemptTimeout: '10s',
    retry: { backoff: () => '1s' },
    run: async (_input, { attempt, signal }) => {
      await clock.sleep('8s', signal)
      if (attempt < 3) throw new Error('again')
      return attempt
    },
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('1m')
  expect(await handle.result()).toBe(3)
})

test('a success that comes after the timeout does not take it back', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, string>({
    type: 'job',
    attemptTimeout: '1s',
    retry: { maxAttempts: 1 },
    run: async () => clock.sleep(1_500).then(() => 'late'),
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('2s')
  expect(await handle.record()).toMatchObject({ state: 'dead', output: undefined, error: { code: 'TIMEOUT' } })
})

test('a handler that ignores its signal is abandoned: its slot is free, its late result and signs of life are refused', async () => {
  const { clock, runtime, logged } = world()
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const job = defineJob<string, string>({
    type: 'job',
    attemptTimeout: '1s',
    retry: { maxAttempts: 2, backoff: () => '1h' },
    run: async (name, { checkin, attempt }) => {
      if (name === 'good' || attempt === 2) return name
      await gate
      checkin('too late')
      return 'too late'
    },
  })
  const worker = await runtime({ jobs: [job], concurrency: 1 })
  const stuck = await worker.enqueue(job, 'stuck')
  const next = await worker.enqueue(job, 'good')
  await clock.advance(1_999)
  expect((await next.record()).state).toBe('queued')
  await clock.advance(1)
  expect(await next.result()).toBe('good')
  expect(await worker.stats()).toMatchObject({ abandoned: 1, taken: 0, running: 0 })
  expect(await stuck.record()).toMatchObject({ state: 'retrying', error: { code: 'TIMEOUT' } })
  open()
  await clock.settle()
  expect(await worker.stats()).toMatchObject({ abandoned: 0 })
  expect(await stuck.record()).toMatchObject({ state: 'retrying', checkin: null, output: undefined })
  expect(logged.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
    expect.stringContaining('is abandoned'),
    expect.stringContaining('late result'),
  ])
  await clock.advance('1h')
  expect(await stuck.result()).toBe('stuck')
})

test('stuck handlers are counted until they come back, and a stop says that they still run', async () => {
  const { clock, runtime } = world()
  const gates: (() => void)[] = []
  const job = defineJob<undefined, void>({
    type: 'job',
    attemptTimeout: '1s',
    retry: { maxAttempts: 1 },
    run: () => new Promise((resolve) => void gates.push(resolve)),
  })
  const worker = await runtime({ jobs: [job], concurrency: 2 })
  await worker.enqueueMany(job, Array(4).fill(undefined))
  await clock.advance('10s')
  expect(gates).toHaveLength(4)
  expect(await worker.stats()).toMatchObject({ abandoned: 4, taken: 0 })
  gates[0]?.()
  await clock.settle()
  expect((await worker.stats()).abandoned).toBe(3)
  expect(await worker.stop()).toEqual({ completed: false, running: 3, dropped: 0 })
})

test('a timeout may be what retryIf decides by', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, void>({
    type: 'job',
    attemptTimeout: '1s',
    retry: { retryIf: (error) => !(error instanceof TimeoutError) },
    run: (_input, { signal }) => clock.sleep('1h', signal),
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.advance('2s')
  expect(await handle.record()).toMatchObject({ state: 'dead', attempt: 1 })
})

test('`timeout` of a definition is an older name of `attemptTimeout`, and both may be given if they agree', () => {
  const run = async () => {}
  const limitOf = (options: object) => defineJob({ type: 'job', run, ...options }).attemptTimeoutMs
  expect(limitOf({})).toBe(null)
  expect(limitOf({ attemptTimeout: '10s' })).toBe(10_000)
  expect(limitOf({ timeout: '10s' })).toBe(10_000)
  expect(limitOf({ attemptTimeout: '10s', timeout: 10_000 })).toBe(10_000)
  const both = { attemptTimeout: '10s', timeout: '20s' } as const
  const message = 'expected no timeout beside another attemptTimeout ("10s"), got "20s"'
  expect(() => limitOf(both)).toThrow(`timeout of job job: ${message}`)
  expect(() => durable(run, both)).toThrow(`timeout of durable: ${message}`)
  expect(() => limitOf({ onDead: { run, ...both } })).toThrow(`timeout of job job:dead: ${message}`)
})

test('the `timeout` of an enqueue is how long the call waits: it does not limit an attempt', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, string>({ type: 'job', run: () => clock.sleep('1m').then(() => 'done') })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job, undefined, { timeout: '1s' })
  await clock.advance('2m')
  expect(await handle.result()).toBe('done')
})
