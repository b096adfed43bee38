/** Whoever throws harms only itself: subscribers, loggers, middleware, selection. The work goes on. */
import { createRuntime, defineJob, type Logger } from 'jobchart'
import { VirtualClock } from 'jobchart/testing'
import { map } from 'rxjs'
import { expect, test } from 'vitest'
import { stopInTime, world } from '../../support/leaks.ts'

const fail = (): never => {
  throw new Error('harm')
}
const job = defineJob<number, number>({
  type: 'job',
  run: async (n, { checkin, log }) => {
    checkin(n)
    log('line')
    return n
  },
})

test('subscribers that throw are logged, and the others hear everything', async () => {
  const { clock, runtime, expectLogged } = world()
  const worker = await runtime({ jobs: [job] })
  let heard = 0
  worker.events$.subscribe(fail)
  worker.events$.subscribe({ next: fail, complete: fail })
  worker.events$.pipe(map(() => 1)).subscribe(fail)
  worker.events$.subscribe(() => heard++)
  const handle = await worker.enqueue(job, 1)
  handle.state$.subscribe(fail)
  handle.events$.subscribe(fail)
  worker.pressure$.subscribe(fail)
  worker.transitions$().subscribe(fail)
  worker.state$.subscribe(fail)
  await clock.advance('1s')
  expect(await handle.result()).toBe(1)
  expect(heard).toBe(5)
  expect(new Set(expectLogged('error'))).toEqual(new Set(['a subscriber threw']))
  await worker.stop()
  expect(new Set(expectLogged('error'))).toEqual(new Set(['a subscriber threw']))
})

test('an operator that throws ends its own stream with the error, which is logged if nobody listens for it', async () => {
  const { clock, runtime, expectLogged } = world()
  const worker = await runtime({ jobs: [job] })
  const errors: unknown[] = []
  worker.events$.pipe(map(fail)).subscribe({ error: (error: Error) => errors.push(error.message) })
  worker.events$.pipe(map(fail)).subscribe(() => {})
  expect(await worker.run(job, 1)).toBe(1)
  await clock.settle()
  expect(errors).toEqual(['harm'])
  expect(expectLogged('error')).toEqual(['a stream failed, and its subscriber handles no errors'])
})

test('a subscriber that unsubscribes itself or others while it is told harms nobody', async () => {
  const { clock, runtime } = world()
  const worker = await runtime({ jobs: [job] })
  const heard = { self: 0, other: 0, last: 0 }
  const self = worker.events$.subscribe(() => {
    heard.self++
    self.unsubscribe()
    other.unsubscribe()
  })
  const other = worker.events$.subscribe(() => heard.other++)
  worker.events$.subscribe(() => heard.last++)
  await worker.run(job, 1)
  await clock.settle()
  expect(heard).toMatchObject({ self: 1, last: 5 })
})

test('a logger that throws changes nothing, even where there is much to say', async () => {
  const clock = new VirtualClock()
  const logger: Logger = { debug: fail, info: fail, warn: fail, error: fail }
  const stuck = defineJob<number, void>({
    type: 'stuck',
    attemptTimeout: 1,
    retry: { maxAttempts: 1 },
    run: () => new Promise(() => {}),
  })
  const runtime = createRuntime({ jobs: [job, stuck], clock, logger })
  await runtime.start()
  runtime.events$.subscribe(fail)
  await runtime.enqueue(stuck, 1)
  const handle = await runtime.enqueue(job, 2)
  await clock.advance('1m')
  expect(await handle.result()).toBe(2)
  expect(await runtime.counts()).toMatchObject({ done: 1, dead: 1 })
  await stopInTime(runtime, clock)
  expect(clock.pending).toBe(0)
})

test('a selection function that throws is logged, and the pick goes by weights', async () => {
  const { clock, runtime, expectLogged } = world()
  const worker = await runtime({ jobs: [job], selection: fail })
  const handle = await worker.enqueue(job, 1)
  await clock.settle()
  expect(await handle.result()).toBe(1)
  expect(new Set(expectLogged('error'))).toEqual(new Set([expect.stringContaining('selection function threw')]))
})

test('a job whose handler throws at once harms none that was picked with it', async () => {
  const { clock, runtime } = world()
  const mixed = defineJob<number, number>({
    type: 'mixed',
    retry: { maxAttempts: 1 },
    run: (n) => {
      if (n % 2 === 1) fail()
      return n
    },
  })
  const worker = await runtime({ jobs: [mixed], concurrency: 20 })
  await worker.enqueueMany(
    mixed,
    Array.from({ length: 20 }, (_, n) => n),
  )
  await clock.settle()
  expect(await worker.counts()).toMatchObject({ done: 10, dead: 10 })
})

test('a concurrencyKey that throws for one input harms no other call of the turn', async () => {
  const { runtime } = world()
  const keyed = defineJob<string | null, string>({
    type: 'keyed',
    concurrencyKey: (name) => (name as string).trim(),
    run: async () => 'ran',
  })
  const worker = await runtime({ jobs: [keyed] })
  const results = await Promise.allSettled([worker.run(keyed, 'a'), worker.run(keyed, null), worker.run(keyed, 'b')])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})
