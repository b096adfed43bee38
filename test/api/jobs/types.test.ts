/** What the types promise: nothing here needs an annotation, and what would fail at run time does not compile. */
import {
  type BatchItem,
  type Client,
  createRuntime,
  defineJob,
  duration,
  type EnqueueOptions,
  fatal,
  type JobEvent,
  type JobHandle,
  type JobRecord,
  type JobState,
  type Json,
  type Middleware,
  type QueueHandle,
  type RunContext,
  type Runtime,
  schedule,
  type ScheduleDefinition,
  snooze,
  thread,
  type ThreadHandler,
  typed,
} from 'jobchart'
import { of } from 'rxjs'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'

declare module 'jobchart' {
  interface ContextValues {
    tenant: { readonly name: string }
  }
}

const runtime = createRuntime({ jobs: [] })

test('input and output are inferred from the schema and the handler', () => {
  const mail = defineJob({
    type: 'mail',
    input: z.object({
      to: z.string(),
      at: z.string().transform((text) => new Date(text)),
      copies: z.number().default(1),
    }),
    concurrencyKey: (input) => {
      expectTypeOf(input).toEqualTypeOf<{ to: string; at: string; copies?: number | undefined }>()
      return input.to
    },
    retry: { retryIf: (error) => (expectTypeOf(error).toBeUnknown(), true) },
    run: async (input, context) => {
      expectTypeOf(input).toEqualTypeOf<{ to: string; at: Date; copies: number }>()
      expectTypeOf(context).toEqualTypeOf<RunContext>()
      return { id: 7 }
    },
  })
  const enqueue = () => runtime.enqueue(mail, { to: 'ada', at: 'noon' })
  expectTypeOf(enqueue).returns.resolves.toEqualTypeOf<JobHandle<{ id: number }>>()
  expectTypeOf(() => runtime.tryEnqueue(mail, { to: 'ada', at: 'noon' })).returns.resolves.toEqualTypeOf<JobHandle<{
    id: number
  }> | null>()
  expectTypeOf(() => runtime.enqueueMany(mail, [])).returns.resolves.toEqualTypeOf<JobHandle<{ id: number }>[]>()
  expectTypeOf(() => runtime.run(mail, { to: 'ada', at: 'noon' })).returns.resolves.toEqualTypeOf<{ id: number }>()
  expectTypeOf<JobHandle<{ id: number }>['result']>().returns.resolves.toEqualTypeOf<{ id: number }>()
  // @ts-expect-error -- an input that the schema does not take
  void (() => runtime.enqueue(mail, { to: 1, at: 'noon' }))
  // @ts-expect-error -- nor none at all
  void (() => runtime.enqueue(mail))
  // @ts-expect-error -- nor one that its transform gives
  void (() => runtime.enqueue(mail, { to: 'ada', at: new Date(0) }))
})

test('typed() gives the input a type, and the output is still that of the handler', () => {
  const mail = defineJob({
    type: 'mail',
    input: typed<{ to: string }>(),
    concurrencyKey: (input) => input.to,
    run: async (input) => {
      expectTypeOf(input).toEqualTypeOf<{ to: string }>()
      return { id: 7 }
    },
  })
  expectTypeOf(() => runtime.run(mail, { to: 'ada' })).returns.resolves.toEqualTypeOf<{ id: number }>()
  // @ts-expect-error -- another input
  void (() => runtime.enqueue(mail, { to: 1 }))
})

test('text of the environment is no duration, and duration() makes one of it', () => {
  const text = process.env['LEASE']
  // @ts-expect-error -- it may be any text, or none
  void (() => createRuntime({ jobs: [], lease: text }))
  void (() => createRuntime({ jobs: [], lease: duration(text, 'LEASE') ?? '30s' }))
  expectTypeOf(duration('30s')).toBeNumber()
  expectTypeOf(() => duration(text)).returns.toEqualTypeOf<number | undefined>()
})

test('input and output of a job in a thread are inferred from the module of its handler', () => {
  type Module = { default: ThreadHandler<{ path: string }, { bytes: number }> }
  const url = new URL('file:///resize.js')
  const resize = defineJob({ type: 'resize', thread: thread<Module>(url, { memoryMb: 64 }), keepDead: 0 })
  expectTypeOf(() => runtime.run(resize, { path: '' })).returns.resolves.toEqualTypeOf<{ bytes: number }>()
  // @ts-expect-error -- an input that the handler does not take
  void (() => runtime.enqueue(resize, { file: '' }))
  const given = defineJob<{ path: string }, number>({ type: 'given', thread: url })
  expectTypeOf(() => runtime.run(given, { path: '' })).returns.resolves.toEqualTypeOf<number>()
  const limited = defineJob<{ path: string }, number>({ type: 'limited', thread: thread(url, { memoryMb: 64 }) })
  expectTypeOf(() => runtime.run(limited, { path: '' })).returns.resolves.toEqualTypeOf<number>()
  const parsed = defineJob({
    type: 'parsed',
    input: z.object({ path: z.string().transform((text) => ({ text })) }),
    thread: thread<{ default: ThreadHandler<{ path: { text: string } }, Promise<null>> }>(url),
  })
  expectTypeOf(() => runtime.run(parsed, { path: '' })).returns.resolves.toEqualTypeOf<null>()
  // @ts-expect-error -- what the schema makes is not what the handler takes
  void (() => defineJob({ type: 'other', input: z.object({ path: z.number() }), thread: thread<Module>(url) }))
  // @ts-expect-error -- one of them does the work
  void (() => defineJob({ type: 'both', thread: url, run: async () => null }))
})

test('a batch handler gets typed items; errors among its results are no outputs', () => {
  const index = defineJob({
    type: 'index',
    input: z.object({ text: z.string().transform((text) => text.length) }),
    batch: {
      size: 10,
      wait: '50ms',
      run: async (items, { signal }) => {
        expectTypeOf(items).toEqualTypeOf<readonly BatchItem<{ text: number }>[]>()
        expectTypeOf<(typeof items)[number]['ctx']>().toEqualTypeOf<RunContext>()
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
        return items.map(
          ({ input }, i) => [{ id: input.text }, new Error('no'), fatal('no'), snooze('1s')][i % 4] ?? { id: 0 },
        )
      },
    },
  })
  expectTypeOf(() => runtime.run(index, { text: '' })).returns.resolves.toEqualTypeOf<{ id: number }>()
  const given = defineJob<string, number>({
    type: 'given',
    batch: { size: 2, run: (items) => Promise.all(items.map(async ({ input }) => input.length)) },
  })
  expectTypeOf(() => runtime.run(given, '')).returns.resolves.toEqualTypeOf<number>()
  const silent = defineJob<string, void>({ type: 'silent', batch: { size: 2, run: async () => {} } })
  expectTypeOf(() => runtime.run(silent, '')).returns.resolves.toEqualTypeOf<void>()
  // @ts-expect-error -- an output of another type
  void (() => defineJob<string, number>({ type: 'wrong', batch: { size: 2, run: async () => ['text'] } }))
  // @ts-expect-error -- one of them does the work
  void (() => defineJob({ type: 'both', run: async () => 1, batch: { size: 2, run: async () => [1] } }))
})

test('without a schema both are given, and an output may be inferred from nothing', () => {
  const add = defineJob<{ a: number; b: number }, number>({ type: 'add', run: async ({ a, b }) => a + b })
  expectTypeOf(() => runtime.run(add, { a: 1, b: 2 })).returns.resolves.toEqualTypeOf<number>()
  // @ts-expect-error -- an input of another shape
  void (() => runtime.run(add, { a: 1 }))
  // @ts-expect-error -- an output of another type
  defineJob<{ a: number }, number>({ type: 'bad', run: async () => 'text' })
})

test('a job without input is enqueued without one', () => {
  const sweep = defineJob({ type: 'sweep', run: async () => 3 })
  void (() => runtime.enqueue(sweep))
  void (() => runtime.enqueue(sweep, undefined, { delay: '1m' }))
  const optional = defineJob<{ n: number } | undefined, void>({ type: 'optional', run: async () => {} })
  void (() => [runtime.enqueue(optional), runtime.enqueue(optional, { n: 1 })])
})

test('the last value of an Observable is the output', () => {
  const count = defineJob({ type: 'count', input: z.number(), run: (to) => of(1, 2, to) })
  expectTypeOf(() => runtime.run(count, 3)).returns.resolves.toEqualTypeOf<number>()
})

test('a handler need not be async', () => {
  const plain = defineJob({ type: 'plain', input: z.string(), run: (text) => text.length })
  expectTypeOf(() => runtime.run(plain, 'x')).returns.resolves.toEqualTypeOf<number>()
})

test('ctx is typed, and the values of middleware are what the application declares', () => {
  const middleware: Middleware = (context, next) => {
    context.values.tenant = { name: 'acme' }
    expectTypeOf(next).returns.resolves.toBeUnknown()
    return next()
  }
  createRuntime({ jobs: [], middleware: [middleware, async (_context, next) => next()] })
  defineJob({
    type: 'job',
    run: async (_input, { values, signal, attempt, deadline, job, step, enqueue }) => {
      expectTypeOf(values.tenant).toEqualTypeOf<{ readonly name: string }>()
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
      expectTypeOf(attempt).toBeNumber()
      expectTypeOf(deadline).toEqualTypeOf<number | null>()
      expectTypeOf(job).toEqualTypeOf<JobRecord>()
      expectTypeOf(await step('count', () => 3)).toBeNumber()
      expectTypeOf(await step('wait', async () => ({ a: 'x' }))).toEqualTypeOf<{ a: string }>()
      const child = defineJob<string, boolean>({ type: 'child', run: async () => true })
      expectTypeOf(await enqueue(child, 'x')).toEqualTypeOf<JobHandle<boolean>>()
      // @ts-expect-error -- an input of another type
      await enqueue(child, 1)
      // @ts-expect-error -- a value that nobody declared
      void values.user
    },
  })
})

test('durations and options that make no sense do not compile', () => {
  expectTypeOf<{ delay: '5m' }>().toExtend<EnqueueOptions>()
  expectTypeOf<{ delay: 5 }>().toExtend<EnqueueOptions>()
  expectTypeOf<{ delay: '5 minutes' }>().not.toExtend<EnqueueOptions>()
  expectTypeOf<{ delay: Date }>().not.toExtend<EnqueueOptions>()
  // @ts-expect-error -- a typing error
  void (() => createRuntime({ jobs: [], concurency: 3 }))
  // @ts-expect-error -- a typing error
  void (() => defineJob({ type: 'a', run: async () => {}, maxAttempts: 3 }))
})

test('the input of a schedule is that of its job, or a function that makes it', () => {
  const mail = defineJob<{ to: string }>({ type: 'mail', run: async () => {} })
  const ping = defineJob<void, number>({ type: 'ping', run: async () => 1 })
  // Never called: only its types are looked at.
  const calls = async () => {
    await runtime.schedule('a', '@daily', mail, { to: 'x' }, { overlap: 'skip' })
    await runtime.schedule('b', '@daily', mail, ({ at, name }) => ({ to: name + at.toISOString() }))
    const handle = await runtime.schedule('c', { every: '90s' }, ping)
    expectTypeOf(await handle.trigger()).toEqualTypeOf<JobHandle<number>>()
    // @ts-expect-error an input of another type
    await runtime.schedule('d', '@daily', mail, { from: 'x' })
    // @ts-expect-error a function that makes another input
    await runtime.schedule('e', '@daily', mail, () => ({ from: 'x' }))
    // @ts-expect-error no input
    await runtime.schedule('f', '@daily', mail)
    // @ts-expect-error an overlap that does not exist
    await runtime.schedule('g', '@daily', ping, undefined, { overlap: 'never' })
    return schedule('h', '@daily', mail, { to: 'x' })
  }
  expectTypeOf(calls).returns.resolves.toEqualTypeOf<ScheduleDefinition>()
})

test('a stand-in with the public members of a client, runtime or queue handle has its type', () => {
  // A class with private members would accept its own instances alone.
  type Members<T> = { [Name in keyof T]: T[Name] }
  expectTypeOf<Members<Client>>().toExtend<Client>()
  expectTypeOf<Members<Runtime>>().toExtend<Runtime>()
  expectTypeOf<Members<QueueHandle>>().toExtend<QueueHandle>()
})

test('an output or check-in that is not JSON does not compile', () => {
  const made = { at: new Date(0), name: 'x' }
  // @ts-expect-error -- a Date
  void (() => defineJob({ type: 'date', run: async () => made }))
  // @ts-expect-error -- a Map within a list
  void (() => defineJob({ type: 'map', input: z.string(), run: () => [{ seen: new Map<string, number>() }] }))
  // @ts-expect-error -- a function
  void (() => defineJob<string, { call(): void }>({ type: 'function', run: () => ({ call() {} }) }))
  interface Report {
    readonly lines: readonly string[]
    readonly note?: string
    readonly inner: Report | null
  }
  defineJob<string, Report>({ type: 'report', run: async (line) => ({ lines: [line], inner: null }) })
  defineJob({
    type: 'check-ins',
    run: (_input, { checkin }) => {
      const report: Report = { lines: [], inner: null }
      const given: unknown = report
      void [checkin(report), checkin(given), checkin(0.5)]
      // @ts-expect-error -- a Date
      checkin(made)
    },
  })
})

test('an event tells by its name what it carries', () => {
  const seen = (event: JobEvent) => {
    if (event.event === 'CHECKIN') expectTypeOf(event.value).toEqualTypeOf<Json>()
    if (event.event === 'LOG') expectTypeOf(event.value.message).toBeString()
    if (event.event === 'ENQUEUE') expectTypeOf(event.from).toBeNull()
    else expectTypeOf(event.from).toEqualTypeOf<JobState>()
    if (event.event === 'FAIL') expectTypeOf(event.error?.message).toEqualTypeOf<string | undefined>()
  }
  expectTypeOf(seen).parameter(0).toEqualTypeOf<JobEvent>()
})
