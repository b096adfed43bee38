/** An SDK that throws harms no job: enqueues, attempts, steps, checkpoints and batches go on as without it. */
import { expect, test } from 'vitest'
import { setup } from 'xstate'
import { createRuntime, defineJob, durable, fromJob, memoryStore, snooze, type Telemetry } from '../../src/index.ts'
import { otel, type OtelOptions } from '../../src/otel/index.ts'

const broken = (): never => {
  throw new Error('the SDK is broken')
}

/** Has every method, and each throws. */
const throwing = (own: object = {}): never =>
  new Proxy(own, { get: (target, name) => Reflect.get(target, name) ?? broken }) as never

const spanContext = () => ({
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  traceFlags: 1,
})

const tracing = (startSpan: () => unknown): OtelOptions =>
  ({ tracerProvider: { getTracer: () => ({ startSpan, startActiveSpan: broken }) } }) as never

const inert = { emit: () => {}, inject: () => {}, extract: (context: unknown) => context, fields: () => [] }

const sdks: Record<string, () => OtelOptions> = {
  'that starts no span': () => tracing(broken),
  'that gives no span': () => tracing(() => undefined),
  'whose spans throw': () => tracing(() => throwing({ spanContext, isRecording: () => true })),
  'whose spans throw at all': () => tracing(() => throwing()),
  'without a meter': () => ({ meterProvider: { getMeter: broken } }),
  'without instruments': () => ({ meterProvider: { getMeter: () => throwing() } }),
  'whose instruments throw': () => ({
    meterProvider: { getMeter: () => new Proxy({}, { get: () => () => throwing() }) as never },
  }),
  'whose propagator throws': () => ({
    ...tracingWell,
    propagator: { ...inert, inject: broken, extract: broken } as never,
  }),
  'whose propagator writes what no store keeps': () => ({
    ...tracingWell,
    propagator: { ...inert, inject: (_: unknown, into: Record<string, unknown>) => (into['a'] = '\ud800') } as never,
  }),
  'whose propagator writes what is no text': () => ({
    ...tracingWell,
    propagator: { ...inert, inject: (_: unknown, into: Record<string, unknown>) => (into['a'] = 7) } as never,
  }),
  'whose logger throws': () => ({ ...tracingWell, logger: { emit: broken } }),
}

const tracingWell = tracing(() => throwing({ spanContext, isRecording: () => false }))

const leaf = defineJob<{ i: number }, number>({
  type: 'leaf',
  run: async ({ i }, ctx) => {
    ctx.log('a line')
    if (i === 2 && ctx.job.history.every(({ event }) => event !== 'SNOOZE')) throw snooze(0)
    if (i === 3) throw new Error('a failure of the job')
    return ctx.step('a step', async () => i)
  },
})
const together = defineJob<number, number>({
  type: 'together',
  batch: { size: 2, run: async (items) => items.map(({ input }) => input) },
})
const machine = setup({
  actors: { leaf: fromJob(leaf), work: durable<number, undefined>(({ step }) => step('inner', () => 7)) },
}).createMachine({
  initial: 'working',
  states: {
    working: { invoke: { src: 'work', onDone: 'waiting' } },
    waiting: { invoke: { src: 'leaf', input: { i: 1 }, onDone: 'ended' } },
    ended: { type: 'final' },
  },
})
const chart = defineJob({ type: 'chart', machine })

async function withTelemetry(telemetry: Telemetry) {
  const warnings: string[] = []
  const errors: string[] = []
  await using runtime = createRuntime({
    jobs: [leaf, together, chart],
    store: memoryStore(),
    telemetry,
    logger: { warn: (message) => warnings.push(message), error: (message) => errors.push(message) },
  })
  await runtime.start()
  const jobs = [
    ...(await runtime.enqueueMany(leaf, [{ i: 1 }, { i: 2 }])),
    ...(await Promise.all([runtime.enqueue(together, 8), runtime.enqueue(together, 9)])),
  ]
  expect(await Promise.all(jobs.map((job) => job.result()))).toEqual([1, 2, 8, 9])
  await runtime.run(chart)
  const failing = await runtime.enqueue(leaf, { i: 3 }, { maxAttempts: 1 })
  await expect(failing.result()).rejects.toMatchObject({ code: 'DEAD', cause: { message: 'a failure of the job' } })
  for (const { id } of jobs) expect((await (await runtime.job(id))?.record())?.attempt).toBe(1)
  expect(await runtime.stop()).toMatchObject({ completed: true })
  expect(errors).toEqual([])
  return warnings
}

for (const [sdk, options] of Object.entries(sdks)) {
  test(`an SDK ${sdk} harms no job, and is warned of`, async () => {
    const warnings = await withTelemetry(otel({ steps: true, ...options() }))
    expect(new Set(warnings)).toEqual(new Set(['the telemetry threw; jobs go on without it']))
    expect(warnings.length).toBeLessThan(12)
  })
}

test('a telemetry that does not call what it is given to call, or calls it twice, changes no job', async () => {
  const work = (call: () => unknown): never => {
    call()
    call()
    return undefined as never
  }
  const attempt = { context: undefined, within: work, part: () => undefined as never, log: () => {}, end: () => {} }
  const telemetry: Telemetry = {
    observe: () => () => {},
    send: () => null,
    claimed: () => {},
    attempt: () => attempt,
    batch: (_type, _attempts, call) => work(call),
  }
  expect(await withTelemetry(telemetry)).toEqual([])
})
