import { defineJob, type JobEvent } from 'jobchart'
import { concat, EMPTY, NEVER, Observable, of, throwError } from 'rxjs'
import { expect, test } from 'vitest'
import { world } from '../../support/leaks.ts'

/** Emits 1, 2, … once a second and completes after `count`; `torn` is told of each teardown. */
function ticks({ clock }: ReturnType<typeof world>, count: number, torn: string[] = []): Observable<number> {
  return new Observable<number>((subscriber) => {
    let n = 0
    const tick = (): void => {
      subscriber.next(++n)
      if (n === count) subscriber.complete()
      else timer = clock.timer(tick, 1_000, { keepAlive: true })
    }
    let timer = clock.timer(tick, 1_000, { keepAlive: true })
    return () => {
      timer.cancel()
      torn.push(`after ${n}`)
    }
  })
}

test('each value is a check-in, and completion ends the job with the last one', async () => {
  const made = world()
  const job = defineJob<number, number>({ type: 'job', run: (count) => ticks(made, count) })
  const worker = await made.runtime({ jobs: [job] })
  const values: unknown[] = []
  worker.events$.subscribe(({ event, value }: JobEvent) => event === 'CHECKIN' && values.push(value))
  const handle = await worker.enqueue(job, 3)
  await made.clock.advance('2s')
  expect(await handle.record()).toMatchObject({ state: 'running', checkin: { value: 2 } })
  await made.clock.advance('2s')
  expect(await handle.result()).toBe(3)
  expect(values).toEqual([1, 2, 3])
  expect((await handle.record()).checkin?.value).toBe(3)
})

test('an Observable may be given at once, by a promise, or from within middleware', async () => {
  const { runtime } = world()
  const now = defineJob<undefined, string>({ type: 'now', run: () => of('a', 'b') })
  const later = defineJob<undefined, string>({ type: 'later', run: async () => of('a', 'c') as unknown as string })
  const worker = await runtime({ jobs: [now, later] })
  expect([await worker.run(now), await worker.run(later)]).toEqual(['b', 'c'])
  const wrapped = await runtime({ jobs: [now, later], middleware: [(_context, next) => next()] })
  await worker.pause()
  expect([await wrapped.run(now), await wrapped.run(later)]).toEqual(['b', 'c'])
})

test('one that completes without a value ends the job with undefined', async () => {
  const { runtime } = world()
  const job = defineJob<undefined, void>({ type: 'job', run: () => EMPTY })
  expect(await (await runtime({ jobs: [job] })).run(job)).toBe(undefined)
})

test('an error fails the attempt, what came before it is a check-in all the same', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, number>({
    type: 'job',
    retry: { maxAttempts: 2, backoff: () => '1s' },
    run: () =>
      concat(
        of(1, 2),
        throwError(() => new Error('broken')),
      ),
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.settle()
  expect(await handle.record()).toMatchObject({
    state: 'retrying',
    attempt: 1,
    error: { message: 'broken' },
    checkin: { value: 2 },
  })
  await clock.advance('1s')
  expect(await handle.record()).toMatchObject({ state: 'dead', attempt: 2 })
})

test('cancel, timeout and stop unsubscribe, and the run is over at once', async () => {
  const made = world()
  const torn: string[] = []
  const job = defineJob<number, number>({
    type: 'job',
    attemptTimeout: '10s',
    retry: { maxAttempts: 1 },
    run: () => ticks(made, 1e9, torn),
  })
  const worker = await made.runtime({ jobs: [job], concurrency: 3 })
  const [cancelled, timedOut] = await worker.enqueueMany(job, [1, 2])
  await made.clock.advance(3_500)
  await cancelled?.cancel({ grace: '1h' })
  await made.clock.settle()
  expect((await cancelled?.record())?.state).toBe('cancelled')
  expect(torn).toEqual(['after 3'])
  await made.clock.advance(5_000)
  const stopped = await worker.enqueue(job, 3)
  await made.clock.advance(5_000)
  expect(await timedOut?.record()).toMatchObject({ state: 'dead', error: { code: 'TIMEOUT' } })
  await worker.stop({ mode: 'abort', grace: '1h' })
  const [record] = await made.store.get([stopped.id])
  expect(record).toMatchObject({ state: 'queued', attempt: 0 })
  expect(torn).toEqual(['after 3', 'after 9', 'after 5'])
})

test('a value that is not JSON fails the attempt and unsubscribes, also when it comes at once', async () => {
  const { clock, runtime } = world()
  let torn = 0
  const forEver = new Observable<never>(() => () => void torn++)
  const job = defineJob<undefined, unknown>({
    type: 'job',
    retry: { maxAttempts: 1 },
    run: () => concat(of(1n), forEver),
  })
  const handle = await (await runtime({ jobs: [job] })).enqueue(job)
  await clock.settle()
  expect(await handle.record()).toMatchObject({ state: 'dead', error: { code: 'INVALID_OUTPUT' } })
  expect(torn).toBe(1)
})

test('one that is cancelled while it is subscribed to is unsubscribed from', async () => {
  const { clock, runtime } = world()
  let torn = 0
  const forEver = new Observable<never>(() => () => void torn++)
  const job = defineJob<undefined, unknown>({ type: 'job', run: () => concat(of(1), forEver) })
  const worker = await runtime({ jobs: [job] })
  worker.events$.subscribe(({ event }) => {
    if (event === 'CHECKIN') void worker.stop({ mode: 'abort' })
  })
  await worker.enqueue(job)
  await clock.advance('1m')
  expect([torn, worker.state]).toEqual([1, 'stopped'])
})

test('a teardown that throws harms only itself', async () => {
  const { clock, runtime, expectLogged } = world()
  const broken = new Observable<never>(() => () => {
    throw new Error('cannot close the file')
  })
  const job = defineJob<string, unknown>({ type: 'job', run: (what) => (what === 'broken' ? broken : NEVER) })
  const worker = await runtime({ jobs: [job] })
  const handles = await worker.enqueueMany(job, ['broken', 'fine', 'fine'])
  await clock.settle()
  await worker.cancel({ type: 'job' })
  await clock.settle()
  const states = await Promise.all(handles.map(async (handle) => (await handle.record()).state))
  expect(states).toEqual(['cancelled', 'cancelled', 'cancelled'])
  expect(expectLogged('error')).toEqual([expect.stringContaining('unsubscribed')])
})

test('the end of a run whose Observable had ended is its own again', async () => {
  const { clock, runtime } = world()
  const job = defineJob<undefined, number>({ type: 'job', run: () => of(1) })
  const tidied: string[] = []
  const worker = await runtime({
    jobs: [job],
    middleware: [
      async ({ signal }, next) => {
        const output = await next()
        await clock.sleep('1s', signal).catch(() => clock.sleep('1s'))
        tidied.push('tidied up')
        return output
      },
    ],
  })
  const handle = await worker.enqueue(job)
  await clock.settle()
  await handle.cancel({ grace: '1m' })
  await clock.settle()
  // It is given its grace, as any handler is.
  expect((await handle.record()).state).toBe('cancelling')
  await clock.advance('2s')
  expect([(await handle.record()).state, tidied]).toEqual(['cancelled', ['tidied up']])
})
