import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { filter, firstValueFrom } from 'rxjs'
import { afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { setup } from 'xstate'
import { createRuntime, defineJob, durable, fatal, fromJob, memoryStore, schedule, snooze } from '../../src/index.ts'
import type { JobDefinition, RuntimeOptions } from '../../src/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { otel, type OtelOptions } from '../../src/otel/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { spansIn } from './spans-in.ts'

const exporter = new InMemorySpanExporter()
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
const propagator = new W3CTraceContextPropagator()
const quiet = { logger: {} }

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  return () => context.disable()
})

beforeEach(() => exporter.reset())
afterEach(() => propagation.disable())

const telemetry = (options: OtelOptions = {}) => otel({ tracerProvider, propagator, ...options })

async function withRuntime(
  options: Omit<RuntimeOptions, 'telemetry'>,
  use: (runtime: ReturnType<typeof createRuntime>) => Promise<unknown>,
  traced: OtelOptions = {},
) {
  await using runtime = createRuntime({ ...quiet, store: memoryStore(), telemetry: telemetry(traced), ...options })
  await runtime.start()
  await use(runtime)
  await runtime.stop()
  return spansIn(exporter)
}

const noop = defineJob<{ i: number }, number>({ type: 'noop', run: ({ i }) => i })

test('an enqueue is a span of a producer, and its attempt one of a consumer in a trace of its own, linked to it', async () => {
  const spans = await withRuntime({ jobs: [noop] }, (runtime) => runtime.run(noop, { i: 1 }, { id: 'a' }))
  const [send, process] = [spans.one('send noop'), spans.one('process noop')]
  expect(send.kind).toBe(SpanKind.PRODUCER)
  expect(send.attributes).toEqual({
    'messaging.system': 'jobchart',
    'messaging.destination.name': 'noop',
    'messaging.operation.name': 'send',
    'messaging.operation.type': 'send',
    'messaging.message.id': 'a',
    'jobchart.enqueue.from': 'call',
    'jobchart.enqueue.inserted': 1,
    'jobchart.enqueue.found': 0,
  })
  expect(process.kind).toBe(SpanKind.CONSUMER)
  expect(process.attributes).toEqual({
    'messaging.system': 'jobchart',
    'messaging.destination.name': 'noop',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.message.id': 'a',
    'jobchart.attempt': 1,
    'jobchart.generation': 1,
    'jobchart.outcome': 'done',
  })
  expect(process.parentSpanContext).toBeUndefined()
  expect(process.spanContext().traceId).not.toBe(send.spanContext().traceId)
  expect(process.links.map((link) => link.context.spanId)).toEqual([send.spanContext().spanId])
})

test('the span of an enqueue belongs to the span that is active at the call', async () => {
  const tracer = tracerProvider.getTracer('app')
  const spans = await withRuntime({ jobs: [noop] }, async (runtime) => {
    await tracer.startActiveSpan('request', async (request) => {
      await runtime.enqueue(noop, { i: 1 })
      request.end()
    })
    await runtime.drain()
  })
  expect(spans.parentOf(spans.one('send noop'))).toBe(spans.one('request'))
})

test("with parent: 'first' the first attempt belongs to the trace of the enqueue, and later ones are linked", async () => {
  const flaky = defineJob({
    type: 'flaky',
    retry: { maxAttempts: 2, backoff: () => 0 },
    run: (_, { attempt }) => {
      if (attempt === 1) throw new TypeError('not yet')
    },
  })
  const work = (runtime: ReturnType<typeof createRuntime>) => runtime.run(flaky)
  const spans = await withRuntime({ jobs: [flaky] }, work, { parent: 'first' })
  const [first, second] = spans.all('process flaky')
  const send = spans.one('send flaky')
  expect(spans.parentOf(first)).toBe(send)
  expect(first?.links).toEqual([])
  expect(first?.attributes).toMatchObject({ 'jobchart.outcome': 'retrying', 'error.type': 'TypeError' })
  expect(first?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'not yet' })
  expect(first?.events.map(({ name }) => name)).toEqual(['exception'])
  expect(second?.parentSpanContext).toBeUndefined()
  expect(second?.links.map((link) => link.context.spanId)).toEqual([send.spanContext().spanId])
  expect(second?.attributes).toMatchObject({ 'jobchart.outcome': 'done', 'jobchart.attempt': 2 })
})

test('of several jobs each has a create span, and its attempt is linked to it', async () => {
  const spans = await withRuntime({ jobs: [noop] }, async (runtime) => {
    await runtime.enqueueMany(noop, [{ i: 1 }, { i: 2 }])
    await runtime.drain()
  })
  const send = spans.one('send noop')
  expect(send.kind).toBe(SpanKind.CLIENT)
  expect(send.attributes['messaging.batch.message_count']).toBe(2)
  const created = spans.all('create noop')
  expect(created.map((span) => spans.parentOf(span))).toEqual([send, send])
  const linked = spans.all('process noop').map(({ links }) => links[0]?.context.spanId)
  expect(new Set(linked)).toEqual(new Set(created.map((span) => span.spanContext().spanId)))
})

test('a snooze, a cancel and a release are no errors; a fatal error is', async () => {
  let snoozed = false
  const lazy = defineJob({
    type: 'lazy',
    run: () => {
      if (snoozed) return
      snoozed = true
      throw snooze(0)
    },
  })
  const bad = defineJob({
    type: 'bad',
    run: () => {
      throw fatal(Object.assign(new Error('no'), { code: 'E_NO' }))
    },
  })
  const begun = Promise.withResolvers<void>()
  const long = defineJob({
    type: 'long',
    run: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error))
        begun.resolve()
      }),
  })
  const spans = await withRuntime({ jobs: [lazy, bad, long] }, async (runtime) => {
    await runtime.run(lazy)
    await runtime.run(bad).catch(() => {})
    const job = await runtime.enqueue(long)
    await begun.promise
    await job.cancel()
    await job.result().catch(() => {})
  })
  const cancelled = spans.one('process long')
  expect([cancelled.attributes['jobchart.outcome'], cancelled.status.code]).toEqual(['cancelled', SpanStatusCode.UNSET])
  const [first] = spans.all('process lazy')
  expect(first?.attributes['jobchart.outcome']).toBe('snoozed')
  expect(first?.status.code).toBe(SpanStatusCode.UNSET)
  expect(spans.one('process bad').attributes).toMatchObject({ 'jobchart.outcome': 'dead', 'error.type': 'E_NO' })
})

test('the span of an attempt that a transaction of its handler has ended', async () => {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const database = new DatabaseSync(join(folder.path, 'jobs.db'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  onTestFinished(() => database.close())
  const print = defineJob({
    type: 'print',
    run: (_, ctx) => {
      database.exec('BEGIN IMMEDIATE')
      ctx.within(database).complete({ printed: true })
      database.exec('COMMIT')
    },
  })
  const spans = await withRuntime({ jobs: [print], store: sqliteStore({ database }) }, (runtime) => runtime.run(print))
  expect(spans.one('process print').attributes['jobchart.outcome']).toBe('done')
})

test('a refused enqueue ends its span with the error', async () => {
  const other = defineJob({ type: 'other', run: () => {} })
  const spans = await withRuntime({ jobs: [noop] }, (runtime) => runtime.enqueue(other).catch(() => {}))
  expect(spans.one('send other').attributes['error.type']).toBe('UNKNOWN_TYPE')
})

test('what a handler does belongs to its attempt: its own spans, its jobs, and its steps if asked for', async () => {
  const child = defineJob({ type: 'child', run: () => {} })
  const tracer = tracerProvider.getTracer('app')
  const parent = defineJob({
    type: 'parent',
    run: async (_, { enqueue, step, log }) => {
      await step('charge', async () => tracer.startActiveSpan('http', async (span) => span.end()))
      log('charged', { pounds: 3, to: { name: 'Ann' } })
      await enqueue(child)
    },
  })
  const spans = await withRuntime(
    { jobs: [parent, child] },
    async (runtime) => {
      await runtime.enqueue(parent)
      await runtime.drain()
    },
    { steps: true },
  )
  const process = spans.one('process parent')
  const step = spans.one('step parent')
  expect(step.attributes).toEqual({ 'messaging.destination.name': 'parent', 'jobchart.step': 'charge' })
  expect(spans.parentOf(step)).toBe(process)
  expect(spans.parentOf(spans.one('http'))).toBe(step)
  expect(spans.parentOf(spans.one('send child'))).toBe(process)
  expect(spans.one('send child').attributes['jobchart.enqueue.from']).toBe('job')
  expect(spans.linkOf(spans.one('process child'))).toBe(spans.one('send child'))
  expect(process.events.map(({ name, attributes }) => [name, attributes])).toEqual([
    ['charged', { pounds: 3, to: '{"name":"Ann"}' }],
  ])
})

test('a machine: attempts, checkpoints, attempts of its durable promises and their steps, and child jobs', async () => {
  const parked = Promise.withResolvers<void>()
  const mail = defineJob<{ to: string }, void>({ type: 'mail', run: () => parked.promise })
  const charge = durable(async ({ step }) => {
    await step('hold', () => 1)
    return 2
  })
  const machine = setup({ actors: { charge, mail: fromJob(mail) } }).createMachine({
    id: 'order',
    initial: 'charging',
    states: {
      charging: { invoke: { id: 'charge', src: 'charge', onDone: 'mailing' } },
      mailing: { invoke: { src: 'mail', input: { to: 'a' }, onDone: 'end' } },
      end: { type: 'final' },
    },
  })
  const order = defineJob({ type: 'order', machine })
  const spans = await withRuntime(
    { jobs: [order, mail] as JobDefinition[] },
    async (runtime) => {
      const job = await runtime.enqueue(order)
      await firstValueFrom(job.state$.pipe(filter((state) => state === 'waiting')))
      parked.resolve()
      await job.result()
    },
    { steps: true },
  )
  const [first, second] = spans.all('process order')
  expect(first?.attributes['jobchart.outcome']).toBe('parked')
  expect(second?.attributes['jobchart.outcome']).toBe('done')
  expect(spans.all('checkpoint order').map((span) => spans.parentOf(span))).toContain(first)
  expect(spans.parentOf(spans.one('actor order'))).toBe(first)
  expect(spans.one('actor order').attributes['jobchart.actor']).toBe('charge')
  expect(spans.parentOf(spans.one('step order'))).toBe(spans.one('actor order'))
  expect(spans.parentOf(spans.one('send mail'))).toBe(first)
  expect(spans.linkOf(spans.one('process mail'))).toBe(spans.one('send mail'))
})

test('the hook of a dead job is linked to the enqueue of that job', async () => {
  const doomed = defineJob({
    type: 'doomed',
    retry: { maxAttempts: 1 },
    run: () => {
      throw new Error('no')
    },
    onDead: () => {},
  })
  const spans = await withRuntime({ jobs: [doomed] }, async (runtime) => {
    await runtime.enqueue(doomed)
    await runtime.drain()
  })
  expect(spans.linkOf(spans.one('process doomed:dead'))).toBe(spans.one('send doomed'))
})

test('a tick of a schedule is an enqueue', async () => {
  const spans = await withRuntime(
    { jobs: [noop], schedules: [schedule('hourly', '@hourly', noop, { i: 1 })] },
    async (runtime) => {
      const job = await (await runtime.getSchedule('hourly'))?.trigger()
      await job?.result()
    },
  )
  expect(spans.one('send noop').attributes['jobchart.enqueue.from']).toBe('schedule')
  expect(spans.linkOf(spans.one('process noop'))).toBe(spans.one('send noop'))
})

test('the handler of a batch runs in a span that is linked to its attempts', async () => {
  const tracer = tracerProvider.getTracer('app')
  const many = defineJob<{ i: number }, number>({
    type: 'many',
    batch: {
      size: 2,
      wait: '1s',
      run: (items) => {
        tracer.startSpan('inside').end()
        return items.map(({ input }) => input.i)
      },
    },
  })
  const spans = await withRuntime({ jobs: [many] }, async (runtime) => {
    await runtime.enqueueMany(many, [{ i: 1 }, { i: 2 }])
    await runtime.drain()
  })
  const batch = spans.one('process many batch')
  const attempts = spans.all('process many').map((span) => span.spanContext().spanId)
  expect(batch.links.map((link) => link.context.spanId).toSorted()).toEqual(attempts.toSorted())
  expect(spans.parentOf(spans.one('inside'))).toBe(batch)
})

test('ctx.trace is what a handler passes on; without telemetry there is none', async () => {
  const seen: unknown[] = []
  const tell = defineJob({ type: 'tell', run: (_, { trace: carried }) => void seen.push(carried) })
  const spans = await withRuntime({ jobs: [tell] }, (runtime) => runtime.run(tell))
  const { traceId, spanId } = spans.one('process tell').spanContext()
  expect(seen).toEqual([{ traceparent: `00-${traceId}-${spanId}-01` }])
  await using plain = createRuntime({ ...quiet, jobs: [tell] })
  await plain.start()
  await plain.run(tell)
  expect(seen[1]).toBeNull()
})

test('the global API is used without options, and a job carries nothing if no propagator is registered', async () => {
  await using runtime = createRuntime({ ...quiet, jobs: [noop], telemetry: otel() })
  await runtime.start()
  trace.setGlobalTracerProvider(tracerProvider)
  await runtime.run(noop, { i: 1 })
  propagation.setGlobalPropagator(propagator)
  await runtime.run(noop, { i: 2 })
  await runtime.stop()
  trace.disable()
  const [first, second] = spansIn(exporter).all('process noop')
  expect(first?.links).toEqual([])
  expect(second?.links).toHaveLength(1)
})

test('options are checked', () => {
  expect(() => otel({ parent: 'all' as never })).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  expect(() => createRuntime({ jobs: [noop], telemetry: {} as never })).toThrow(/telemetry/)
})

test('lines of the log of a job are records also where neither spans nor metrics are made', async () => {
  const lines: unknown[] = []
  const logs = defineJob<null, void>({ type: 'logs', run: (_, { log }) => log('a line') })
  const telemetry = otel({ logger: { emit: ({ body }) => lines.push(body) } })
  await using runtime = createRuntime({ ...quiet, jobs: [logs], store: memoryStore(), telemetry })
  await runtime.start()
  await runtime.run(logs, null)
  expect(lines).toEqual(['a line'])
})
