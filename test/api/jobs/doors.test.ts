/**
 * Whatever is passed to a public function, it is accepted or refused with a JobchartError that has a hint: no raw
 * TypeError, no hang. Each parameter and each option of each function gets every value of a list that a caller without
 * types may pass.
 */
import {
  constant,
  createClient,
  createRuntime,
  defineJob,
  exponential,
  fatal,
  JobchartError,
  linear,
  memoryStore,
  snooze,
  type ClosableClient,
  type JobHandle,
  type Runtime,
} from 'jobchart'
import { createDashboard, type ListenOptions } from 'jobchart/dashboard'
import { sqliteStore } from 'jobchart/sqlite'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { describe } from '../../../src/core/errors.ts'
import { world } from '../../support/leaks.ts'

const values: readonly unknown[] = [
  undefined,
  null,
  true,
  0,
  -1,
  1.5,
  Number.NaN,
  Infinity,
  '',
  'text',
  5n,
  Symbol('s'),
  [],
  [null],
  ['text'],
  {},
  Object.create(null),
  () => {},
  new Date(Number.NaN),
  new Map(),
  new Proxy({}, { get: () => undefined }),
]

const job = defineJob<number, number>({ type: 'job', run: async (n) => n })
const run = async (): Promise<void> => {}
/** The same function, for callers without types. */
const untyped = (call: unknown) => call as (...args: unknown[]) => unknown

/** A function, the arguments that it accepts, and the options of its last argument. */
interface Door {
  readonly call: (...args: unknown[]) => unknown
  readonly args: readonly unknown[]
  readonly options?: readonly string[]
}

/** The arguments with one of them, or one option of the last one, replaced by each value. */
function* attempts({ args, options = [] }: Door): Generator<{ readonly what: string; readonly args: unknown[] }> {
  for (const value of values) {
    for (let i = 0; i < args.length; i++) {
      const changed = args.with(i, value)
      yield { what: `argument ${i + 1} = ${describe(value)}`, args: changed }
    }
    for (const option of options) {
      const last = { ...(args.at(-1) as object), [option]: value }
      yield { what: `${option} = ${describe(value)}`, args: args.with(args.length - 1, last) }
    }
  }
}

/** Does its hint say something that its message does not? */
function isHelpful({ message, hint = '' }: JobchartError): boolean {
  const expected = /expected (.+), got /.exec(message)?.[1]
  return hint !== '' && !message.includes(hint) && (expected === undefined || !hint.includes(expected))
}

async function expectRefusalOrAnswer(door: Door): Promise<void> {
  const wrong: string[] = []
  for (const { what, args } of attempts(door)) {
    try {
      await door.call(...args)
    } catch (error) {
      if (!(error instanceof JobchartError)) wrong.push(`${what}: ${String(error)}`)
      else if (!isHelpful(error)) wrong.push(`${what}: "${error.message}", hint: "${error.hint}"`)
    }
  }
  expect(wrong).toEqual([])
}

const definitionOptions = [
  ...[
    'type',
    'input',
    'run',
    'machine',
    'version',
    'migrate',
    'weight',
    'retry',
    'attemptTimeout',
    'timeout',
    'unique',
  ],
  ...['concurrency', 'concurrencyKey', 'perKey', 'rateLimit'],
]
const clientOptions = ['jobs', 'store', 'capacity', 'logger', 'clock', 'random']
const runtimeOptions = [
  ...clientOptions,
  ...['concurrency', 'selection', 'middleware', 'lease', 'name', 'grace', 'retention'],
]

const makers: Record<string, Door> = {
  defineJob: { call: untyped(defineJob), args: [{ type: 'a', run }], options: definitionOptions },
  'defineJob with a schema': { call: untyped(defineJob), args: [{ type: 'a', run, input: z.number() }] },
  'retry of defineJob': {
    call: (retry) => untyped(defineJob)({ type: 'a', run, retry }),
    args: [{}],
    options: ['maxAttempts', 'backoff', 'retryIf'],
  },
  'rateLimit of defineJob': {
    call: (rateLimit) => untyped(defineJob)({ type: 'a', run, rateLimit }),
    args: [{ limit: 1, per: '1s' }],
    options: ['limit', 'per'],
  },
  createRuntime: { call: untyped(createRuntime), args: [{ jobs: [job] }], options: runtimeOptions },
  createClient: { call: untyped(createClient), args: [{ jobs: [job] }], options: clientOptions },
  'logger of createRuntime': {
    call: (logger) => untyped(createRuntime)({ jobs: [job], logger }),
    args: [{}],
    options: ['debug', 'info', 'warn', 'error'],
  },
  'selection of createRuntime': {
    call: (selection) => untyped(createRuntime)({ jobs: [job], selection }),
    args: [{ strategy: 'strict' }],
    options: ['strategy', 'ageing'],
  },
  'retention of createRuntime': {
    call: (retention) => untyped(createRuntime)({ jobs: [job], retention }),
    args: [{}],
    options: ['done', 'dead', 'cancelled'],
  },
  'retention.done of createRuntime': {
    call: (done) => untyped(createRuntime)({ jobs: [job], retention: { done } }),
    args: [{}],
    options: ['age', 'count'],
  },
  memoryStore: { call: untyped(memoryStore), args: [{}], options: ['clock', 'transitionsMax'] },
  sqliteStore: {
    call: untyped(sqliteStore),
    args: [{ path: '/nowhere/jobs.db' }],
    options: ['path', 'durability', 'transitionsMax', 'thread', 'onStatement'],
  },
  constant: { call: untyped(constant), args: ['1s'] },
  linear: { call: untyped(linear), args: [{}], options: ['base', 'max', 'jitter'] },
  exponential: { call: untyped(exponential), args: [{}], options: ['base', 'max', 'jitter'] },
  snooze: { call: untyped(snooze), args: ['1s'] },
  fatal: { call: untyped(fatal), args: [new Error('x')] },
}

test.each(Object.entries(makers))('%s accepts or refuses whatever it is given', async (_name, door) => {
  await expectRefusalOrAnswer(door)
})

/** What a caller is likely to write instead, and what he is told. */
const mistakes: Record<string, [call: () => unknown, message: string, hint: string]> = {
  'createRuntime()': [
    () => untyped(createRuntime)(),
    'options of createRuntime: expected an object, got undefined',
    'createRuntime({ jobs: [sendEmail] })',
  ],
  'createClient()': [
    () => untyped(createClient)(),
    'options of createClient: expected an object, got undefined',
    'createClient({ jobs: [sendEmail] })',
  ],
  'createRuntime([job])': [
    () => untyped(createRuntime)([job]),
    'options of createRuntime: expected an object, got an array',
    'createRuntime({ jobs: [sendEmail] })',
  ],
  'createRuntime({})': [
    () => untyped(createRuntime)({}),
    'jobs: expected a list of job definitions, got undefined',
    'defineJob',
  ],
  'options instead of a definition': [
    () => untyped(createRuntime)({ jobs: [job, { type: 'b', run }] }),
    'jobs[1]: expected a job definition made by defineJob, got an object',
    'the result of defineJob({ type, run })',
  ],
  'two definitions of a type': [
    () => createRuntime({ jobs: [job, defineJob({ type: 'job', run })] }),
    'type of jobs[1]: expected a type that no earlier definition has, got "job"',
    'its own type',
  ],
  'a store that was not made': [
    () => untyped(createClient)({ jobs: [job], store: memoryStore }),
    'store: expected a store, got a function memoryStore',
    'memoryStore()',
  ],
  'half a store': [
    () => untyped(createClient)({ jobs: [job], store: { ...memoryStore(), watch: undefined } }),
    'store: expected a store (without watch), got an object',
    'memoryStore()',
  ],
  'a path alone': [
    () => untyped(sqliteStore)('jobs.db'),
    'expected an object, got "jobs.db"',
    "sqliteStore({ path: 'jobs.db' })",
  ],
  'a middleware alone': [
    () => untyped(createRuntime)({ jobs: [job], middleware: run }),
    'middleware: expected a list of functions, got a function run',
    '',
  ],
}
test.each(Object.entries(mistakes))('%s is refused, and says what to do instead', (_name, [call, message, hint]) => {
  expect(call).toThrow(
    expect.objectContaining({
      code: 'INVALID_OPTION',
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
    }),
  )
})

type Made = { readonly runtime: Runtime; readonly handle: JobHandle<number> }
const enqueueOptions = ['id', 'delay', 'runAt', 'priority', 'unique', 'tags', 'signal', 'timeout']
const calls: Record<string, (made: Made) => Door> = {
  enqueue: ({ runtime }) => ({
    call: untyped(runtime.enqueue.bind(runtime)),
    args: [job, 1, {}],
    options: enqueueOptions,
  }),
  tryEnqueue: ({ runtime }) => ({
    call: untyped(runtime.tryEnqueue.bind(runtime)),
    args: [job, 1, {}],
    options: enqueueOptions,
  }),
  enqueueMany: ({ runtime }) => ({
    call: untyped(runtime.enqueueMany.bind(runtime)),
    args: [job, [1], {}],
    options: enqueueOptions,
  }),
  run: ({ runtime }) => ({ call: untyped(runtime.run.bind(runtime)), args: [job, 1, {}] }),
  'start of a bulk operation': ({ runtime }) => ({
    call: (request) => untyped(runtime.bulk.start.bind(runtime.bulk))(request, { detach: true }),
    args: [{ kind: 'discard', filter: { type: 'no such type' } }],
    options: ['kind', 'filter', 'expected'],
  }),
  'listen of a dashboard': ({ runtime }) => ({
    call: async (options) => {
      const { close } = await createDashboard({ runtime }).listen(options as ListenOptions)
      await close()
    },
    args: [{}],
    options: ['port', 'host'],
  }),
  list: ({ runtime }) => ({
    call: untyped(runtime.list.bind(runtime)),
    args: [{}],
    options: ['type', 'state', 'tag', 'key', 'concurrencyKey', 'after', 'limit'],
  }),
  queue: ({ runtime }) => ({ call: untyped(runtime.queue.bind(runtime)), args: ['job'] }),
  'cancel with': ({ runtime }) => ({
    call: (options) => untyped(runtime.cancel.bind(runtime))('no such job', options),
    args: [{}],
    options: ['reason', 'grace', 'priority'],
  }),
  'retry with': ({ runtime }) => ({
    call: (options) => untyped(runtime.retry.bind(runtime))('no such job', options),
    args: [{}],
    options: ['from'],
  }),
  'cancel by filter': ({ runtime }) => ({
    call: (filter) => Array.isArray(filter) || untyped(runtime.cancel.bind(runtime))(filter),
    args: [{ type: 'no such type' }],
    options: ['type', 'state', 'tag', 'key', 'concurrencyKey'],
  }),
  transitions$: ({ runtime }) => ({
    call: untyped(runtime.transitions$.bind(runtime)),
    args: [{}],
    options: ['from'],
  }),
  'iterate of a stream': ({ runtime }) => ({
    call: (options) => untyped(runtime.events$.iterate.bind(runtime.events$))(options),
    args: [{}],
    options: ['signal', 'buffer', 'overflow'],
  }),
  drain: ({ runtime }) => ({
    call: untyped(runtime.drain.bind(runtime)),
    args: [{}],
    options: ['timeout', 'signal'],
  }),
  concurrency: ({ runtime }) => ({ call: (slots) => void (runtime.concurrency = slots as number), args: [1] }),
  'result of a handle': ({ handle }) => ({
    call: untyped(handle.result.bind(handle)),
    args: [{}],
    options: ['timeout', 'signal'],
  }),
  'waitFor of a handle': ({ handle }) => ({
    call: untyped(handle.waitFor.bind(handle)),
    args: ['state', {}],
    options: ['timeout', 'signal'],
  }),
  'cancel of a handle': ({ handle }) => ({
    call: untyped(handle.cancel.bind(handle)),
    args: [{}],
    options: ['reason', 'grace', 'priority'],
  }),
  'retry of a handle': ({ handle }) => ({ call: untyped(handle.retry.bind(handle)), args: [{}], options: ['from'] }),
  'send of a handle': ({ handle }) => ({
    call: untyped(handle.send.bind(handle)),
    args: [{ type: 'GO' }, {}],
    options: ['key'],
  }),
  'can of a handle': ({ handle }) => ({ call: untyped(handle.can.bind(handle)), args: [{ type: 'GO' }] }),
  'snapshotAt of a handle': ({ handle }) => ({ call: untyped(handle.snapshotAt.bind(handle)), args: [1] }),
  'fork of a handle': ({ handle }) => ({ call: untyped(handle.fork.bind(handle)), args: [1, {}] }),
}

test.each(Object.entries(calls))('%s accepts or refuses whatever it is given', async (_name, doorOf) => {
  const { runtime } = world()
  const worker = await runtime({ jobs: [job] })
  const handle = await worker.enqueue(job, 1)
  await handle.result()
  await expectRefusalOrAnswer(doorOf({ runtime: worker, handle }))
})

test('stop and stopOn accept or refuse whatever they are given', async () => {
  const { idle } = world()
  const stop: Door = {
    call: (options) => untyped((given: never) => idle({ jobs: [job] }).stop(given))(options),
    args: [{}],
    options: ['mode', 'timeout', 'grace'],
  }
  await expectRefusalOrAnswer(stop)
  const stopOn: Door = {
    call: (...args) => {
      const runtime = idle({ jobs: [job] })
      const off = untyped(runtime.stopOn.bind(runtime))(...args) as () => void
      off()
    },
    args: [['SIGUSR2'], {}],
    options: ['mode', 'timeout', 'grace'],
  }
  await expectRefusalOrAnswer(stopOn)
})

test('a client accepts or refuses whatever it is given', async () => {
  const { clock, store } = world()
  const client: ClosableClient = createClient({ jobs: [job], store, clock })
  await expectRefusalOrAnswer({
    call: untyped(client.enqueue.bind(client)),
    args: [job, 1, {}],
    options: enqueueOptions,
  })
  await client.close()
})
