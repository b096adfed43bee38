/**
 * Jobs in event streams: what a source emits is enqueued or run, in order, within bounds, and nothing is lost in
 * silence.
 */
import { createRuntime, defineJob, enqueueTo, fatal, runJob, type JobHandle } from 'jobchart'
import { concat, from, lastValueFrom, NEVER, of, Subject, throwError, toArray, type Observable } from 'rxjs'
import { expect, expectTypeOf, test } from 'vitest'
import { world } from '../../support/leaks.ts'

const job = defineJob<number, number>({ type: 'job', run: async (n) => n * 10 })

/** What a stream has emitted so far, and how it ended. */
function watch<T>(stream: Observable<T>) {
  const values: T[] = []
  const seen = { values, end: null as unknown, leave: (): void => {} }
  const subscription = stream.subscribe({
    next: (value) => values.push(value),
    error: (error: { code?: string; message: string }) => (seen.end = error.code ?? error.message),
    complete: () => (seen.end = 'complete'),
  })
  seen.leave = () => subscription.unsubscribe()
  return seen
}

const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

test('enqueueTo stores a job for each value and emits the handles in order', async () => {
  const { clock, idle } = world()
  const runtime = idle({ jobs: [job] })
  const seen = watch(from(range(250)).pipe(enqueueTo(runtime, job)))
  await clock.settle()
  expect(seen.end).toBe('complete')
  const records = await Promise.all(seen.values.map((handle) => handle.record()))
  expect(records.map(({ input }) => input)).toEqual(range(250))
})

test('without room the enqueues wait, no more than concurrency at once, and the source is told', async () => {
  const { clock, idle } = world()
  const runtime = idle({ jobs: [job], capacity: 2 })
  const source = new Subject<number>()
  const pressure: boolean[] = []
  const seen = watch(
    source.pipe(enqueueTo(runtime, job, { concurrency: 3, onPressure: (isFull) => pressure.push(isFull) })),
  )
  for (const n of range(8)) source.next(n)
  source.complete()
  await clock.settle()
  expect([seen.values.length, seen.end, pressure]).toEqual([2, null, [true]])
  await runtime.cancel({ state: 'queued' })
  await clock.advance('1s')
  expect(seen.values.length).toBe(4)
  await runtime.start()
  await clock.advance('5s')
  expect([seen.values.length, seen.end, pressure]).toEqual([8, 'complete', [true, false]])
})

test('a source that overfills the buffer ends the stream, after what was taken has been stored', async () => {
  const { clock, idle } = world()
  const runtime = idle({ jobs: [job] })
  const seen = watch(from(range(1_000)).pipe(enqueueTo(runtime, job, { concurrency: 2, buffer: 3 })))
  await clock.settle()
  expect([seen.values.length, seen.end]).toEqual([5, 'SLOW_READER'])
  expect((await runtime.counts()).queued).toBe(5)
})

test('an error of the source is passed on after the handles of what came before it', async () => {
  const { clock, idle } = world()
  const runtime = idle({ jobs: [job] })
  const source = concat(
    of(1, 2),
    throwError(() => new Error('the broker is gone')),
  )
  const seen = watch(source.pipe(enqueueTo(runtime, job)))
  await clock.settle()
  expect([seen.values.length, seen.end]).toEqual([2, 'the broker is gone'])
})

test('map makes jobs of messages, and each is acknowledged once its job is stored', async () => {
  const { clock, idle } = world()
  const runtime = idle({ jobs: [job] })
  const acknowledged: unknown[] = []
  const messages = from([1, 2, 2, 3]).pipe(
    enqueueTo(runtime, job, {
      map: (n: number) => ({ input: n, options: { id: `message ${n}`, tags: ['stream'] } }),
      acknowledge: async (n, handle) => acknowledged.push([n, (await handle.record()).tags]),
    }),
  )
  const seen = watch(messages)
  await clock.settle()
  expect(seen.values.map(({ id, deduplicated }) => [id, deduplicated])).toEqual([
    ['message 1', false],
    ['message 2', false],
    ['message 2', true],
    ['message 3', false],
  ])
  expect(acknowledged).toEqual([1, 2, 2, 3].map((n) => [n, ['stream']]))
})

test.each(['map', 'acknowledge', 'enqueue'])(
  'an error of one value (%s) is logged, and the others go on',
  async (from_) => {
    const { clock, idle, expectLogged } = world()
    const runtime = idle({ jobs: [job] })
    const fail = (place: string, n: number): void => {
      if (n === 2 && place === from_) throw new Error('not this one')
    }
    const map = (n: number) => {
      fail('map', n)
      return { input: n, options: n === 2 && from_ === 'enqueue' ? { id: '' } : {} }
    }
    const streamed = (onError?: 'throw' | ((error: unknown, n: number) => void)) =>
      watch(
        from([1, 2, 3]).pipe(
          enqueueTo(runtime, job, { map, acknowledge: (n) => fail('acknowledge', n), ...(onError && { onError }) }),
        ),
      )
    const logging = streamed()
    await clock.settle()
    expect([logging.values.length, logging.end]).toEqual([2, 'complete'])
    expect(expectLogged('error')).toEqual(['the job of a value of a stream failed'])
    const told: number[] = []
    const telling = streamed((_error, n) => told.push(n))
    const throwing = streamed('throw')
    const both = streamed(() => {
      throw new Error('the function threw')
    })
    await clock.settle()
    expect([telling.values.length, telling.end, told]).toEqual([2, 'complete', [2]])
    expect(throwing.end).toBe(from_ === 'enqueue' ? 'INVALID_OPTION' : 'not this one')
    expect(both.end).toBe('the function threw')
  },
)

test('unsubscribing gives up what waits for room; what is stored stays', async () => {
  const { clock, idle } = world()
  const runtime = idle({ jobs: [job], capacity: 2 })
  const acknowledged: number[] = []
  const source = concat(from([1, 2, 3, 4]), NEVER)
  const seen = watch(source.pipe(enqueueTo(runtime, job, { acknowledge: (n) => acknowledged.push(n) })))
  await clock.settle()
  seen.leave()
  await runtime.start()
  await clock.advance('5s')
  expect(await runtime.counts()).toMatchObject({ done: 2, queued: 0 })
  expect([seen.values.length, acknowledged]).toEqual([2, [1, 2]])
})

test('a runtime that has stopped ends the stream, whatever onError says', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [job] })
  const source = new Subject<number>()
  const seen = watch(source.pipe(enqueueTo(worker, job, { onError: () => {} })))
  source.next(1)
  await clock.settle()
  await worker.stop()
  source.next(2)
  await clock.settle()
  expect([seen.values.length, seen.end]).toEqual([1, 'STOPPED'])
})

/** Takes as many seconds as its input says. */
const timed = (clock: ReturnType<typeof world>['clock'], running: Set<number> = new Set()) =>
  defineJob<number, number>({
    type: 'timed',
    retry: { maxAttempts: 1 },
    run: (seconds, { signal }) =>
      new Promise((resolve, reject) => {
        running.add(seconds)
        const end = (done: () => void) => () => {
          running.delete(seconds)
          timer.cancel()
          done()
        }
        const timer = clock.timer(
          end(() => resolve(seconds)),
          seconds * 1_000,
          { keepAlive: true },
        )
        signal.addEventListener(
          'abort',
          end(() => reject(signal.reason)),
        )
      }),
  })

test('runJob emits the outputs as they come, or in the order of the inputs, with no more jobs under way than allowed', async () => {
  const { clock, runtime } = world()
  const running = new Set<number>()
  const sleep = timed(clock, running)
  const worker = await runtime({ jobs: [sleep] })
  const seen = watch(from([3, 1, 2, 4]).pipe(runJob(worker, sleep, { concurrency: 3 })))
  await clock.settle()
  expect([...running]).toEqual([3, 1, 2])
  await clock.advance('10s')
  expect([seen.values, seen.end]).toEqual([[1, 2, 3, 4], 'complete'])
  const ordered = watch(from([3, 1, 2, 4]).pipe(runJob(worker, sleep, { concurrency: 3, ordered: true })))
  await clock.advance('2500ms')
  // The two that have ended wait to be emitted, and are counted until then.
  expect([ordered.values, [...running]]).toEqual([[], [3]])
  await clock.advance('10s')
  expect([ordered.values, ordered.end]).toEqual([[3, 1, 2, 4], 'complete'])
})

test('a job that dies is logged or ends the stream; then the others under way are cancelled', async () => {
  const { clock, runtime, expectLogged } = world()
  const odd = defineJob<number, number>({
    type: 'odd',
    run: async (n) => {
      if (n % 2 === 0) throw fatal(new Error('even'))
      return n
    },
  })
  const sleep = timed(clock)
  const worker = await runtime({ jobs: [odd, sleep] })
  const seen = watch(from([1, 2, 3]).pipe(runJob(worker, odd)))
  await clock.settle()
  expect([seen.values, seen.end, expectLogged('error')]).toEqual([
    [1, 3],
    'complete',
    ['the job of a value of a stream failed'],
  ])
  const source = new Subject<number>()
  const failing = watch(source.pipe(runJob(worker, sleep, { onError: 'throw' })))
  for (const seconds of [60, 61]) source.next(seconds)
  await clock.settle()
  const [first] = await worker.list({ type: 'timed' })
  await worker.cancel(first?.id ?? '')
  await clock.settle()
  expect(failing.end).toBe('CANCELLED')
  const jobs = await worker.list({ type: 'timed' })
  expect(jobs.map(({ state, cancelReason }) => [state, cancelReason])).toEqual([
    ['cancelled', null],
    ['cancelled', 'unsubscribed'],
  ])
})

test('unsubscribing from runJob cancels its jobs under way, but none that was there before', async () => {
  const { clock, runtime } = world()
  const sleep = timed(clock)
  const worker = await runtime({ jobs: [sleep], concurrency: 1, capacity: 2 })
  const own = await worker.enqueue(sleep, 60, { id: '60' })
  await clock.settle()
  const map = (seconds: number) => ({ input: seconds, options: { id: String(seconds) } })
  const seen = watch(from([60, 61, 62, 63, 64]).pipe(runJob(worker, sleep, { map })))
  await clock.settle()
  seen.leave()
  await clock.settle()
  expect((await own.record()).state).toBe('running')
  const jobs = await worker.list({})
  expect(jobs.map(({ id, state }) => [id, state])).toEqual([
    ['60', 'running'],
    ['61', 'cancelled'],
    ['62', 'cancelled'],
  ])
})

test('options that make no sense are refused where the operator is made', () => {
  const runtime = createRuntime({ jobs: [job] })
  for (const options of [{ concurrency: 0 }, { buffer: -1 }, { onError: 'ignore' }, { map: 1 }, { orderd: true }]) {
    expect(() => runJob(runtime, job, options as object)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  }
  expect(() => enqueueTo(runtime, job, { acknowledge: 1 } as object)).toThrow('acknowledge: expected a function')
  expect(() => enqueueTo(undefined as never, job)).toThrow('runtime: expected a runtime or a client')
})

test('values, handles and outputs are typed from the definition', () => {
  const runtime = createRuntime({ jobs: [job] })
  expectTypeOf(() => lastValueFrom(of(1).pipe(enqueueTo(runtime, job), toArray()))).returns.resolves.toEqualTypeOf<
    JobHandle<number>[]
  >()
  expectTypeOf(() =>
    of('1').pipe(runJob(runtime, job, { map: (text) => ({ input: Number(text) }) })),
  ).returns.toEqualTypeOf<Observable<number>>()
  // @ts-expect-error -- a value that is no input
  void (() => of('text').pipe(enqueueTo(runtime, job)))
  // @ts-expect-error -- map gives no input
  void (() => of('text').pipe(runJob(runtime, job, { map: (text: string) => ({ input: text }) })))
})
