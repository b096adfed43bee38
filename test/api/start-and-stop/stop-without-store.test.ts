/** A stop while the store is away: it ends in time, lets go of everything, and hangs nobody. */
import { createRuntime, defineJob, memoryStore, type JobchartError, type Store } from 'jobchart'
import { faultyStore, VirtualClock } from 'jobchart/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createMachine } from 'xstate'

const logger = { warn() {}, error() {} }
const job = defineJob<string, string>({ type: 'job', run: async (name) => name })
const never = <T>(): Promise<T> => new Promise(() => {})

function setUp(change: (store: Store) => Partial<Store> = () => ({})) {
  const clock = new VirtualClock()
  const inner = memoryStore({ clock })
  let closed = 0
  const counting: Store = { ...inner, close: async () => void closed++ }
  const faulty = faultyStore(counting, { seed: 1, clock, faults: {} })
  const store: Store = { ...faulty, ...change(faulty) }
  const runtime = createRuntime({ jobs: [job], store, clock, logger, concurrency: 1 })
  const stop = async (timeout: string): Promise<number> => {
    const askedAt = clock.monotonic()
    let tookMs = Infinity
    void runtime.stop({ timeout: timeout as '1s' }).then(() => (tookMs = clock.monotonic() - askedAt))
    await clock.advance('1m')
    return tookMs
  }
  return { clock, inner, faulty, runtime, stop, closed: () => closed }
}

const code = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'fine',
    (error: JobchartError) => error.code,
  )

test('a store that refuses the goodbye is let go of all the same', async () => {
  const { clock, faulty, runtime, stop, closed } = setUp()
  await runtime.start()
  const handle = await runtime.enqueue(job, 'x', { delay: '1h' })
  const result = code(handle.result())
  let ended = false
  runtime.events$.subscribe({ complete: () => (ended = true) })
  faulty.disturb({ worker: { before: 1 }, counts: { before: 1 }, get: { before: 1 } })
  expect(await stop('5s')).toBe(0)
  expect([await result, ended, runtime.state]).toEqual(['STOPPED', true, 'stopped'])
  expect([clock.pending, closed()]).toEqual([0, 1])
})

test('a store that does not answer at all is waited for a second, once', async () => {
  const silent = { worker: false }
  const { clock, runtime, stop } = setUp((store) => ({
    worker: (id, info) => (silent.worker ? never() : store.worker(id, info)),
    counts: () => never(),
    get: () => never(),
    close: () => never(),
  }))
  await runtime.start()
  const result = code((await runtime.enqueue(job, 'x', { delay: '1h' })).result())
  silent.worker = true
  expect(await stop('5s')).toBe(750)
  expect([await result, runtime.state, clock.pending]).toEqual(['STOPPED', 'stopped', 0])
})

test('a stop that waits for an enqueue under way ends with it, also if it fails', async () => {
  for (const fault of [{ late: 1, lateBy: '2s' }, { before: 1 }] as const) {
    const { clock, faulty, runtime, stop } = setUp()
    await runtime.start()
    faulty.disturb({ insert: fault })
    const askedAt = clock.monotonic()
    let tookMs = 0
    const enqueued = code(runtime.enqueue(job, 'x')).finally(() => (tookMs = clock.monotonic() - askedAt))
    await clock.settle()
    expect(await stop('30s')).toBe(tookMs)
    expect(tookMs).toBeGreaterThan(0)
    expect(await enqueued).toBe('late' in fault ? 'fine' : 'STORE_UNAVAILABLE')
  }
})

test('a start under way is given up, and its store is closed when it has opened', async () => {
  const { clock, faulty, runtime, stop, closed, inner } = setUp()
  faulty.disturb({ open: { late: 1, lateBy: '10s' } })
  const started = code(runtime.start())
  await clock.settle()
  expect(await stop('5s')).toBeLessThanOrEqual(2_000)
  expect([await started, runtime.state, clock.pending]).toEqual(['STOPPED', 'stopped', 0])
  expect(await inner.workers()).toEqual([])
  expect(closed()).toBeGreaterThan(0)
})

test('a pause that waits for a claim comes back when the runtime has stopped', async () => {
  const { runtime, clock, stop } = setUp(() => ({ claim: () => never() }))
  await runtime.start()
  await clock.settle()
  const paused = code(runtime.pause())
  expect(await stop('5s')).toBeLessThanOrEqual(7_000)
  expect(await paused).toBe('fine')
  expect(clock.pending).toBe(0)
})

test('a store that is back after the stop changes nothing any more', async () => {
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  const { clock, faulty, runtime, stop } = setUp()
  await runtime.start()
  // The next heartbeat fails, and is late with it.
  faulty.disturb({ extend: { before: 1 } })
  await clock.advance('20s')
  expect(runtime.storeError).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  faulty.disturb({ extend: { late: 1, lateBy: '8s' } })
  await clock.advance('2s')
  await stop('1s')
  await clock.advance('1m')
  // XState warns of events that come after the end.
  expect([runtime.state, warned.mock.calls]).toEqual(['stopped', []])
})

test('a handler whose step cannot be kept is told, not left waiting', async () => {
  const { clock, faulty } = setUp()
  const codes: unknown[] = []
  const stepping = defineJob({
    type: 'stepping',
    run: async (_input: undefined, { step }) => {
      codes.push(await code(step('first', () => 1)))
    },
  })
  const runtime = createRuntime({ jobs: [stepping], store: faulty, clock, logger })
  await runtime.start()
  faulty.disturb({ extend: { before: 1 } })
  await runtime.enqueue(stepping)
  // The next try is seconds away.
  await clock.advance('4s')
  const stopped = runtime.stop({ timeout: 1 })
  await clock.advance('1m')
  expect(await stopped).toMatchObject({ completed: false })
  expect([codes, clock.pending]).toEqual([['STORE_UNAVAILABLE'], 0])
})

test('reads of the store that the stop cuts off are no trouble', async () => {
  const { faulty, clock } = setUp()
  const cutOff: ((error: Error) => void)[] = []
  const cut = <T>(): Promise<T> => new Promise((_, reject) => cutOff.push(reject))
  const store: Store = { ...faulty, workers: cut, schedules: { ...faulty.schedules, due: cut } }
  const warn = vi.fn()
  const machine = defineJob({ type: 'machine', machine: createMachine({}) })
  const runtime = createRuntime({ jobs: [machine], store, clock, logger: { ...logger, warn } })
  await runtime.start()
  await clock.settle()
  expect(cutOff.length).toBeGreaterThanOrEqual(2)
  await runtime.stop()
  for (const reject of cutOff) reject(new Error('Connection terminated'))
  await clock.settle()
  expect(warn.mock.calls).toEqual([])
})

test('a pause of a queue through a runtime that stopped while its claim was not answered is refused, and does not hang', async () => {
  const { runtime, clock, inner, stop } = setUp(() => ({ claim: () => never() }))
  await runtime.start()
  await clock.settle()
  await stop('5s')
  await expect(runtime.queue('job').pause()).rejects.toMatchObject({ code: 'STOPPED' })
  expect((await inner.queue('job')).paused).toBe(false)
})
