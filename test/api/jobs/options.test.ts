/**
 * Every door refuses what makes no sense: with INVALID_OPTION, the name of the option and a hint, and nothing is done.
 */
import {
  createClient,
  createRuntime,
  defineJob,
  exponential,
  linear,
  memoryStore,
  schedule,
  snooze,
  thread,
  type ThreadOptions,
  type Runtime,
} from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const job = defineJob<number, void>({ type: 'job', run: async () => {} })
const run = async (): Promise<void> => {}
const refusal = {
  code: 'INVALID_OPTION',
  message: expect.stringMatching(/expected .+, got .+/),
  hint: expect.any(String),
}

// What the types forbid is what is tried: callers without types, and values from a file.
const rows = (table: readonly unknown[]): Record<string, unknown>[] => table as Record<string, unknown>[]

const badDefinitions = rows([
  null,
  { run },
  { type: '', run },
  { type: 'x'.repeat(201), run },
  { type: 'a\ud800', run },
  { type: 1, run },
  { type: 'a' },
  { type: 'a', run: 'later' },
  { type: 'a', run, attempts: 3 },
  { type: 'a', run, priority: 1 },
  { type: 'a', run, weight: 2, priority: 2 },
  { type: 'a', run, weight: 0 },
  { type: 'a', run, weight: 100_001 },
  { type: 'a', run, weight: 1.5 },
  { type: 'a', run, weight: '10' },
  { type: 'a', run, concurrency: -1 },
  { type: 'a', run, concurrency: Number.NaN },
  { type: 'a', run, concurrencyKey: 'tenant' },
  { type: 'a', run, perKey: 1 },
  { type: 'a', run, keyWeight: () => 1 },
  { type: 'a', run, keyRateLimit: { limit: 1, per: '1s' } },
  { type: 'a', run, concurrencyKey: () => 'k', keyRateLimit: { limit: 0, per: '1s' } },
  { type: 'a', run, concurrencyKey: () => 'k', keyRateLimit: { limit: 1, per: 0 } },
  { type: 'a', run, concurrencyKey: () => 'k', keyWeight: 3 },
  { type: 'a', run, concurrencyKey: () => 'k', keyWeight: async () => 3 },
  { type: 'a', run, concurrencyKey: () => 'k', perKey: 0 },
  { type: 'a', run, rateLimit: null },
  { type: 'a', run, rateLimit: { limit: 0, per: '1s' } },
  { type: 'a', run, rateLimit: { limit: 1 } },
  { type: 'a', run, rateLimit: { limit: 1, per: 0 } },
  { type: 'a', run, rateLimit: { limit: 1, per: '1s', burst: 2 } },
  { type: 'a', run, retry: null },
  { type: 'a', run, retry: { maxAttempts: 0 } },
  { type: 'a', run, retry: { maxAttempts: Infinity } },
  { type: 'a', run, retry: { attempts: 3 } },
  { type: 'a', run, retry: { retryIf: true } },
  { type: 'a', run, retry: { retryIf: async () => false } },
  { type: 'a', run, retry: { backoff: async () => '1s' } },
  { type: 'a', run, concurrencyKey: async () => 'a' },
  { type: 'a', run, retry: { backoff: '1s' } },
  { type: 'a', run, retry: { backoff: { baseMs: Number.NaN } } },
  { type: 'a', run, attemptTimeout: -1 },
  { type: 'a', run, attemptTimeout: '10s', timeout: '20s' },
  { type: 'a', run, timeout: -1 },
  { type: 'a', run, timeout: '1 minute' },
  { type: 'a', run, timeout: Number.NaN },
  { type: 'a', run, timeout: '101000d' },
  { type: 'a', run, unique: 'yes' },
  { type: 'a', run, unique: { key: '' } },
  { type: 'a', run, unique: { onConflict: 'merge' } },
  { type: 'a', run, input: {} },
  { type: 'a', thread: './resize.ts' },
  { type: 'a', thread: null },
  { type: 'a', thread: new URL('https://example.org/resize.js') },
  { type: 'a', run, thread: new URL('file:///resize.js') },
  { type: 'a', run, batch: { size: 2, run } },
  { type: 'a', batch: { size: 2, run }, thread: new URL('file:///resize.js') },
  { type: 'a', batch: null },
  { type: 'a', batch: { size: 2 } },
  { type: 'a', batch: { run } },
  { type: 'a', batch: { size: 0, run } },
  { type: 'a', batch: { size: 10_001, run } },
  { type: 'a', batch: { size: 2, wait: -1, run } },
  { type: 'a', batch: { size: 2, max: 3, run } },
])

test.each([
  ['file:///resize.js', {}],
  [new URL('file:///resize.js'), { memoryMb: 8 }],
  [new URL('file:///resize.js'), { memoryMb: 1.5 }],
  [new URL('file:///resize.js'), { memory: 64 }],
])('thread refuses %s with %j', (url, options) => {
  expect(() => thread(url as URL, options as ThreadOptions)).toThrow(expect.objectContaining(refusal))
})

test.each(badDefinitions)('defineJob refuses %j', (options) => {
  expect(() => defineJob(options as never)).toThrow(expect.objectContaining(refusal))
})

const badSettings = rows([
  {},
  { jobs: job },
  { jobs: [{ type: 'job', run }] },
  { jobs: [null] },
  { jobs: [job, job] },
  { jobs: [], capacity: -1 },
  { jobs: [defineJob({ type: 'job', rateLimit: { limit: 1, per: '1s' }, run })], capacity: 0 },
  { jobs: [], capacity: 1.5 },
  { jobs: [], logger: { warn: 'loud' } },
  { jobs: [], random: 0.5 },
  { jobs: [], unknown: 1 },
])
const badRuntimeSettings = rows([
  { jobs: [], concurrency: -1 },
  { jobs: [], concurrency: '10' },
  { jobs: [], concurrency: 1_000_001 },
  { jobs: [], selection: 'fair' },
  { jobs: [], selection: { strategy: 'fair' } },
  { jobs: [], selection: { strategy: 'strict', ageing: 0 } },
  { jobs: [], selection: { strategy: 'strict', age: 1 } },
  { jobs: [], selection: null },
  { jobs: [], middleware: ['log'] },
  { jobs: [], lease: 999 },
  { jobs: [], lease: 'long' },
  { jobs: [], name: '' },
  { jobs: [], grace: -1 },
  { jobs: [], selection: async () => null },
  { jobs: [], retention: { done: { age: 'week' } } },
  { jobs: [], retention: { done: { count: -1 } } },
  { jobs: [], retention: { failed: {} } },
])

test.each([...badSettings, ...badRuntimeSettings])('createRuntime refuses %o', (options) => {
  expect(() => createRuntime(options as never)).toThrow(expect.objectContaining(refusal))
})

const badClientSettings = badSettings.filter((options) => Object.keys(options ?? { none: 1 }).length > 0)

test.each([...badClientSettings, { jobs: [], concurrency: 1 }])('createClient refuses %o', (options) => {
  expect(() => createClient(options as never)).toThrow(expect.objectContaining(refusal))
})

const badEnqueueOptions = rows([
  null,
  { id: '' },
  { id: 7 },
  { id: 'x'.repeat(201) },
  { id: 'a\udc00' },
  { delay: -1 },
  { delay: 'soon' },
  { delay: Infinity },
  { delay: 1, runAt: 1 },
  { runAt: 'tomorrow' },
  { runAt: new Date(Number.NaN) },
  { runAt: -1 },
  { priority: 0.5 },
  { priority: 2 ** 31 },
  { unique: 'key' },
  { unique: null },
  { unique: { key: 1 } },
  { unique: { key: 'x'.repeat(501) } },
  { unique: { onConflict: 'drop' } },
  { unique: { replace: true } },
  { tags: 'a' },
  { tags: [''] },
  { tags: Array(21).fill('a') },
  { signal: {} },
  { timeout: 'for ever' },
  { attempts: 3 },
])

test.each(badEnqueueOptions)('enqueue refuses %o, and nothing is stored', async (options) => {
  const { store, runtime } = world()
  const worker = await runtime({ jobs: [job] })
  await expect(worker.enqueue(job, 1, options as never)).rejects.toMatchObject(refusal)
  await expect(worker.run(job, 1, options as never)).rejects.toMatchObject(refusal)
  if (options !== null) await expect(worker.enqueueMany(job, [1], options as never)).rejects.toMatchObject(refusal)
  expect(await store.list({})).toHaveLength(0)
})

const badCalls: [name: string, call: (runtime: Runtime, bad: never) => unknown, bads: readonly unknown[]][] = [
  ['enqueueMany', (runtime, bad) => runtime.enqueueMany(job, bad), [1, 'ab', null, Array(10_001).fill(1)]],
  ['enqueueMany with an id', (runtime, bad) => runtime.enqueueMany(job, [1], bad), [{ id: 'a' }]],
  ['cancel', (runtime, bad) => runtime.cancel(bad), [{}, { type: undefined }, { state: 'gone' }, { name: 'a' }, null]],
  [
    'cancel with',
    (runtime, bad) => runtime.cancel('a', bad),
    [{ grace: 'x' }, { reason: '' }, { priority: 0.5 }, { why: 'x' }],
  ],
  ['retry', (runtime, bad) => runtime.retry(bad), [{}, { state: 'failed' }]],
  ['discard', (runtime, bad) => runtime.discard(bad), [{}, { state: 'failed' }]],
  ['list', (runtime, bad) => runtime.list(bad), [{ limit: 0 }, { limit: 1_001 }, { state: 'x' }, { name: 'a' }]],
  ['drain', (runtime, bad) => runtime.drain(bad), [{ timeout: 'x' }, { retries: 1 }, { signal: 1 }, { wait: 1 }]],
  ['pause', (runtime, bad) => runtime.pause(bad), [{ idle: 1 }, { signal: 1 }, { until: 1 }, null]],
  [
    'stop',
    (runtime, bad) => runtime.stop(bad),
    [{ mode: 'now' }, { timeout: 'x' }, { grace: -1 }, { retries: 1 }, { force: true }],
  ],
  [
    'result',
    async (runtime, bad) => (await runtime.enqueue(job, 1)).result(bad),
    [{ timeout: 'x' }, { signal: 1 }, { wait: 1 }],
  ],
]

test.each(badCalls)('%s refuses what makes no sense', async (_name, call, bads) => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [job] })
  const before = clock.pending
  for (const bad of bads) {
    await expect(Promise.resolve(call(worker, bad as never)), String(bad)).rejects.toMatchObject(refusal)
  }
  expect([worker.state, clock.pending]).toEqual(['running', before])
})

test('what is set or made at once is refused at once', async () => {
  const { runtime } = world()
  const worker = await runtime({ jobs: [job], concurrency: 3 })
  const bad: (() => unknown)[] = [
    () => (worker.concurrency = -1),
    () => (worker.concurrency = 1.5),
    () => worker.transitions$({ from: -1 }),
    () => worker.events$.iterate({ buffer: 0 }),
    () => worker.events$.iterate({ overflow: 'block' as never }),
    () => memoryStore({ transitionsMax: 0 }),
    () => snooze('later' as never),
    () => exponential({ base: -1 }),
    () => linear('1 s' as never),
  ]
  for (const call of bad) expect(call, String(call)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  expect(worker.concurrency).toBe(3)
})

/** An option that is left out has its default; null is a value, and no option has it. */
test.each<[name: string, call: () => unknown]>([
  ['weight of job a', () => defineJob({ type: 'a', run, weight: null } as never)],
  ['retry.maxAttempts of job a', () => defineJob({ type: 'a', run, retry: { maxAttempts: null } } as never)],
  ['schedules', () => createRuntime({ jobs: [], schedules: null } as never)],
  ['timezone', () => schedule('nightly', '@daily', job, 1, { timezone: null } as never)],
  ['exponential jitter', () => exponential({ jitter: null } as never)],
])('null is refused as %s', (name, call) => {
  expect(call).toThrow(expect.objectContaining({ ...refusal, message: expect.stringContaining(`${name}: `) as string }))
})

test.each<[name: string, call: () => unknown]>([
  ['priority', () => schedule('nightly', '@daily', job, 1, { priority: 0.5 })],
  ['tags', () => schedule('nightly', '@daily', job, 1, { tags: [''] })],
  ['clock', () => memoryStore({ clock: Date } as never)],
  ['thread', () => sqliteStore({ path: 'jobs.db', thread: 'yes' } as never)],
  ['onStatement', () => sqliteStore({ path: 'jobs.db', onStatement: 'log' } as never)],
  ['retry.backoff', () => defineJob({ type: 'a', run, retry: { backoff: { kind: 'cubic', baseMs: 1 } } } as never)],
])('%s is checked where it is given', (name, call) => {
  expect(call).toThrow(expect.objectContaining({ ...refusal, message: expect.stringContaining(`${name}: `) as string }))
})

test('the options of an instance of a class are read as those of a plain object', async () => {
  class Defaults {
    readonly tags = ['own']
    get priority() {
      return 7
    }
  }
  const client = createClient({ jobs: [job] })
  const handle = await client.enqueue(job, 1, new Defaults())
  expect(await handle.record()).toMatchObject({ priority: 7, tags: ['own'] })
  await client.close()
})

test.each([undefined, '', 7, 'x'.repeat(201)])('a queue named %o is refused', async (type) => {
  const { runtime } = world()
  const worker = await runtime({ jobs: [job] })
  expect(() => worker.queue(type as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})

test('a runtime refuses a thread whose module does not exist, and a client does not look', () => {
  const resize = defineJob({ type: 'resize', thread: new URL('./nowhere.mjs?width=1', import.meta.url) })
  expect(() => createRuntime({ jobs: [resize] })).toThrow(
    expect.objectContaining({
      ...refusal,
      message: expect.stringMatching(/^thread of job resize: .*nowhere.mjs/) as string,
    }),
  )
  expect(createClient({ jobs: [resize] }).jobs.has('resize')).toBe(true)
  const here = defineJob({ type: 'resize', thread: new URL(`${import.meta.url}?width=1`) })
  expect(createRuntime({ jobs: [here] }).state).toBe('idle')
})
