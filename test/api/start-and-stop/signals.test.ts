/** Signals: which are accepted, what the first and the next do, and that nothing listens any more after the stop. */
import { defineJob } from 'jobchart'
import { afterEach, expect, test, vi } from 'vitest'
import { world } from '../../support/leaks.ts'

// SIGUSR2 has no meaning for the runner of the tests.
const signal = 'SIGUSR2'
const listeners = (): number => process.listenerCount(signal)
const send = (): boolean => process.emit(signal, signal)

afterEach(() => {
  vi.restoreAllMocks()
  expect(listeners()).toBe(0)
})

function setUp() {
  const made = world()
  const work = defineJob<{ ms: number; deaf?: boolean }, void>({
    type: 'work',
    run: ({ ms, deaf }, ctx) => made.clock.sleep(ms, deaf ? undefined : ctx.signal),
  })
  return { ...made, work }
}

test('the first signal stops, and the listeners are gone when it has stopped', async () => {
  const { clock, runtime, work } = setUp()
  const worker = await runtime({ jobs: [work] })
  worker.stopOn([signal, 'SIGTERM'], { mode: 'finish' })
  const job = await worker.enqueue(work, { ms: 1_000 })
  await clock.settle()
  send()
  expect(worker.state).toBe('stopping')
  await clock.advance('2s')
  expect([worker.state, await job.result()]).toEqual(['stopped', undefined])
  expect([listeners(), process.listenerCount('SIGTERM')]).toEqual([0, 0])
})

test('one signal may be given by its name', async () => {
  const { clock, runtime, work } = setUp()
  const worker = await runtime({ jobs: [work] })
  worker.stopOn(signal)
  send()
  await clock.settle()
  expect(worker.state).toBe('stopped')
})

test('the listeners are gone after stop(), too, and none are added after it', async () => {
  const { runtime, work } = setUp()
  const worker = await runtime({ jobs: [work] })
  worker.stopOn([signal, signal])
  expect(listeners()).toBe(1)
  await worker.stop()
  expect(listeners()).toBe(0)
  worker.stopOn([signal])
  expect(listeners()).toBe(0)
})

test('a signal within 300 ms of the first is its echo; the next one aborts', async () => {
  const { clock, runtime, work } = setUp()
  const worker = await runtime({ jobs: [work] })
  worker.stopOn([signal])
  const job = await worker.enqueue(work, { ms: 60_000 })
  await clock.settle()
  send()
  await clock.advance(299)
  send()
  await clock.advance('1s')
  expect([worker.state, (await job.record()).state]).toEqual(['stopping', 'running'])
  send()
  await clock.advance('1s')
  expect([worker.state, (await worker.store.get([job.id]))[0]?.state]).toEqual(['stopped', 'queued'])
})

test('a stuck handler is ended by the signal itself', async () => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  const { clock, runtime, work } = setUp()
  const worker = await runtime({ jobs: [work] })
  worker.stopOn([signal], { mode: 'abort', grace: '1s', timeout: '2s' })
  await worker.enqueue(work, { ms: 10_000, deaf: true })
  await clock.settle()
  send()
  await clock.advance('5s')
  expect(kill.mock.calls).toEqual([[process.pid, signal]])
  // The handler comes to its end before the test does.
  await clock.advance('10s')
})

const bad: Record<string, [signals: unknown, options: unknown, message: string]> = {
  'a name that is none': [['SIGFOO'], {}, 'expected names of signals, such as \'SIGTERM\', got "SIGFOO"'],
  'a name in small messages': ['sigterm', {}, 'got "sigterm"'],
  'no signal': [[], {}, 'expected a list of signals, got an array'],
  'a number': [15, {}, 'expected a list of signals, got 15'],
  'what no process can handle': [
    ['SIGTERM', 'SIGKILL'],
    {},
    'expected signals that a process can handle, got "SIGKILL"',
  ],
  'options that stop refuses': [
    [signal],
    { mode: 'now' },
    "mode: expected 'drain' or 'finish' or 'abort', got \"now\"",
  ],
}
test.each(Object.entries(bad))('stopOn refuses %s at once', (_name, [signals, options, message]) => {
  const { idle, work } = setUp()
  const worker = idle({ jobs: [work] })
  expect(() => worker.stopOn(signals as never, options as never)).toThrow(
    expect.objectContaining({
      code: 'INVALID_OPTION',
      message: expect.stringContaining(message),
      hint: expect.any(String),
    }),
  )
  expect(process.listenerCount('SIGTERM')).toBe(0)
})
