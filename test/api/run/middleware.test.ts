import { defineJob, fatal, snooze, type Middleware } from 'jobchart'
import { NEVER, of } from 'rxjs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { world } from '../../support/leaks.ts'

/** Notes when it is entered and left. */
const noting =
  (name: string, log: string[]): Middleware =>
  async (_context, next) => {
    log.push(`${name} in`)
    try {
      return await next()
    } finally {
      log.push(`${name} out`)
    }
  }

test('middleware runs outside-in, the first outermost, around every handler', async () => {
  const { runtime } = world()
  const log: string[] = []
  const job = defineJob<number, number>({ type: 'job', run: async (n) => (log.push('handler'), n) })
  const worker = await runtime({ jobs: [job], middleware: [noting('a', log), noting('b', log), noting('c', log)] })
  expect(await worker.run(job, 4)).toBe(4)
  expect(log).toEqual(['a in', 'b in', 'c in', 'handler', 'c out', 'b out', 'a out'])
})

test('what middleware puts on values is there for those within, fresh for each attempt', async () => {
  const { clock, runtime } = world()
  const seen: unknown[] = []
  const job = defineJob<undefined, string>({
    type: 'job',
    retry: { backoff: () => '1s' },
    run: async (_input, { values, attempt }) => {
      const { name } = values.tenant
      values.tenant = { name: 'spoiled' }
      if (attempt === 1) throw new Error('again')
      return name
    },
  })
  const worker = await runtime({
    jobs: [job],
    middleware: [
      (context, next) => {
        seen.push({ ...context.values })
        context.values.tenant = { name: `tenant of ${context.type} ${context.attempt}` }
        return next()
      },
    ],
  })
  const handle = await worker.enqueue(job)
  await clock.advance('1s')
  expect(await handle.result()).toBe('tenant of job 2')
  expect(seen).toEqual([{}, {}])
})

test('middleware may change the output, or answer without the handler', async () => {
  const { runtime } = world()
  let runs = 0
  const job = defineJob<number, number>({ type: 'job', run: async (n) => (runs++, n) })
  const worker = await runtime({
    jobs: [job],
    middleware: [async ({ job: { input } }, next) => (input === 0 ? -1 : Number(await next()) * 10)],
  })
  expect(await worker.run(job, 3)).toBe(30)
  expect(await worker.run(job, 0)).toBe(-1)
  expect(runs).toBe(1)
})

test('middleware that throws fails the attempt, before or after the handler, and its intents count', async () => {
  const { clock, runtime } = world()
  const job = defineJob<string, string>({ type: 'job', retry: { backoff: () => '1h' }, run: async (what) => what })
  const throwing: Middleware = async ({ job: { input, attempt } }, next) => {
    if (input === 'before') throw new Error('before')
    if (input === 'fatal') throw fatal(new Error('for good'))
    if (input === 'snooze' && attempt === 1 && clock.now() < Date.UTC(2026, 0, 1, 0, 1)) throw snooze('2m')
    const output = await next()
    if (input === 'after') throw new Error('after')
    return output
  }
  const worker = await runtime({ jobs: [job], middleware: [throwing] })
  const handles = await worker.enqueueMany(job, ['before', 'after', 'fatal', 'snooze', 'fine'])
  await clock.advance('1m')
  const records = await Promise.all(handles.map((handle) => handle.record()))
  expect(records.map(({ state, attempt, error }) => [state, attempt, error?.message])).toEqual([
    ['retrying', 1, 'before'],
    ['retrying', 1, 'after'],
    ['dead', 1, 'for good'],
    ['scheduled', 0, undefined],
    ['done', 1, undefined],
  ])
})

test('middleware may mend what the handler threw', async () => {
  const { runtime } = world()
  const job = defineJob<undefined, string>({ type: 'job', run: () => Promise.reject(new Error('broken')) })
  const mend: Middleware = (_context, next) => next().catch((error: Error) => `mended: ${error.message}`)
  expect(await (await runtime({ jobs: [job], middleware: [mend] })).run(job)).toBe('mended: broken')
})

test('middleware that returns nothing keeps the output, whether it awaits next() or not', async () => {
  const { runtime } = world()
  const job = defineJob<number, number>({ type: 'job', run: async (n) => n })
  const awaiting: Middleware = async (_context, next) => {
    await next()
  }
  const forgetful: Middleware = (_context, next) => void next()
  const worker = await runtime({ jobs: [job], middleware: [awaiting, forgetful, awaiting] })
  expect(await worker.run(job, 4)).toBe(4)
})

test('an error that middleware does not wait for fails the attempt; one that it catches does not', async () => {
  const { clock, runtime } = world()
  const job = defineJob<string, void>({
    type: 'job',
    retry: { maxAttempts: 1 },
    run: async () => {
      await clock.sleep(10)
      throw new Error('broken')
    },
  })
  const middleware: Middleware = async ({ job: { input } }, next) => {
    if (input === 'forgotten') void next()
    if (input === 'caught') await next().catch(() => {})
  }
  const worker = await runtime({ jobs: [job], middleware: [middleware] })
  const handles = await worker.enqueueMany(job, ['forgotten', 'caught'])
  await clock.advance(10)
  const records = await Promise.all(handles.map((handle) => handle.record()))
  expect(records.map(({ state, error }) => [state, error?.message])).toEqual([
    ['dead', 'broken'],
    ['done', undefined],
  ])
})

test('what a handler throws after its middleware has answered is logged, and changes nothing', async () => {
  const { clock, expectLogged, runtime } = world()
  const job = defineJob<undefined, string>({
    type: 'job',
    run: async () => {
      await clock.sleep(10)
      throw new Error('too late')
    },
  })
  const hasty: Middleware = (_context, next) => {
    void next()
    return 'answered'
  }
  const handle = await (await runtime({ jobs: [job], middleware: [hasty] })).enqueue(job)
  await clock.advance(10)
  expect(await handle.record()).toMatchObject({ state: 'done', output: 'answered' })
  expect(expectLogged('warn')).toEqual(['a handler failed after a middleware had ended its attempt'])
})

test('middleware that neither calls next nor returns a value fails the attempt, and says so', async () => {
  const { clock, runtime } = world()
  let runs = 0
  const job = defineJob<undefined, void>({ type: 'job', retry: { maxAttempts: 1 }, run: async () => void runs++ })
  const idle: Middleware = async () => {}
  const worker = await runtime({ jobs: [job], middleware: [(_context, next) => next(), idle] })
  const handle = await worker.enqueue(job, undefined, { id: 'a' })
  await clock.settle()
  expect(await handle.record()).toMatchObject({
    state: 'dead',
    error: {
      code: 'INVALID_MIDDLEWARE',
      message:
        'middleware 2 (idle) of job a (job) neither called next() nor returned a value, so the handler did not run',
    },
  })
  expect(runs).toBe(0)
})

test('middleware may answer null without the handler', async () => {
  const { runtime } = world()
  const job = defineJob<undefined, number | null>({ type: 'job', run: async () => 1 })
  expect(await (await runtime({ jobs: [job], middleware: [() => null] })).run(job)).toBe(null)
})

const callsTwice: Record<string, Middleware> = {
  awaits: async (_context, next) => {
    await next()
    return next()
  },
  forgets: async (_context, next) => {
    void next()
    void next()
  },
  'returns a value': async (_context, next) => {
    await next()
    await next().catch(() => {})
    return 1
  },
}
test.each(Object.entries(callsTwice))('next called twice (%s) fails the attempt', async (_name, twice) => {
  const { clock, runtime } = world()
  let runs = 0
  const job = defineJob<undefined, void>({ type: 'job', retry: { maxAttempts: 1 }, run: async () => void runs++ })
  const handle = await (await runtime({ jobs: [job], middleware: [twice] })).enqueue(job, undefined, { id: 'a' })
  await clock.settle()
  expect(await handle.record()).toMatchObject({
    state: 'dead',
    error: { code: 'INVALID_MIDDLEWARE', message: expect.stringContaining('job a (job) called next() more than once') },
  })
  expect(runs).toBe(1)
})

test('middleware need not be async', async () => {
  const { clock, runtime } = world()
  const job = defineJob<number, number>({ type: 'job', retry: { maxAttempts: 1 }, run: (n) => n })
  const throwing: Middleware = ({ job: { input } }, next) => {
    if (input === 2) throw new Error('at once')
    return next()
  }
  const worker = await runtime({ jobs: [job], middleware: [(_context, next) => next(), throwing] })
  const [fine, failed] = await worker.enqueueMany(job, [1, 2])
  await clock.settle()
  expect(await fine?.result()).toBe(1)
  expect(await failed?.record()).toMatchObject({ state: 'dead', error: { message: 'at once' } })
})

test('middleware sees the signal, and its end runs when the run is cancelled', async () => {
  const { clock, runtime } = world()
  const log: string[] = []
  const job = defineJob<undefined, void>({ type: 'job', run: (_input, { signal }) => clock.sleep('1h', signal) })
  const worker = await runtime({
    jobs: [job],
    middleware: [
      noting('outer', log),
      ({ signal }, next) => {
        signal.addEventListener('abort', () => log.push((signal.reason as { code: string }).code))
        return next()
      },
    ],
  })
  const handle = await worker.enqueue(job)
  await clock.settle()
  await handle.cancel()
  await clock.settle()
  expect(log).toEqual(['outer in', 'CANCELLED', 'outer out'])
})

test('middleware gets the last value of an Observable, and its end runs when that is cancelled', async () => {
  const { clock, runtime } = world()
  const log: string[] = []
  const outputs: unknown[] = []
  const done = defineJob<undefined, number>({ type: 'done', run: () => of(1, 2, 3) })
  const never = defineJob<undefined, void>({ type: 'never', run: () => NEVER })
  const worker = await runtime({
    jobs: [done, never],
    middleware: [noting('outer', log), async (_context, next) => outputs.push(await next()) && outputs.at(-1)],
  })
  expect(await worker.run(done)).toBe(3)
  const handle = await worker.enqueue(never)
  await clock.advance(1)
  await handle.cancel()
  await clock.settle()
  expect([outputs, log]).toEqual([[3], ['outer in', 'outer out', 'outer in', 'outer out']])
  expect((await handle.record()).state).toBe('cancelled')
})

test('the input is validated before any middleware runs', async () => {
  const { clock, store, runtime } = world()
  const log: string[] = []
  const strict = defineJob({ type: 'job', input: z.number(), run: async () => {} })
  const loose = defineJob<unknown, void>({ type: 'job', run: async () => {} })
  const first = await runtime({ jobs: [loose], concurrency: 0 })
  const { id } = await first.enqueue(loose, 'text')
  await runtime({ jobs: [strict], middleware: [noting('a', log)] })
  await clock.settle()
  expect([(await store.get([id]))[0]?.state, log]).toEqual(['dead', []])
})
