/** What cannot be durable, and what a job does not take, is refused with an error that says what to do. */
import { createRuntime, defineJob, type JobchartError } from 'jobchart'
import {
  assign,
  createMachine,
  enqueueActions,
  fromPromise,
  raise,
  setup,
  spawnChild,
  type AnyStateMachine,
} from 'xstate'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

const idle = setup({}).createMachine({ id: 'idle', on: { STAY: {} } })

const jobOf = (machine: AnyStateMachine) => defineJob({ type: 'refused', machine, retry: { maxAttempts: 2 } })

/** A context that needs an input, so that it is first seen when the job runs. */
const fromInput =
  (context: object) =>
  ({ input = context }: { readonly input?: unknown }) =>
    input as object

const notDurable = (hint: string) => ({ code: 'NOT_DURABLE', hint: expect.stringContaining(hint) as string })

/** The record of a job of this machine when it has ended. */
async function ended(machine: AnyStateMachine) {
  const at = world()
  const job = jobOf(machine)
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined)
  await at.clock.advance('1m')
  return handle.record()
}

test.each<[what: string, machine: () => AnyStateMachine, hint: string]>([
  ['an inline machine', () => createMachine({ invoke: { src: idle } }), 'setup({ actors'],
  ['a child without an id', () => setup({ actors: { idle } }).createMachine({ entry: spawnChild('idle') }), 'id'],
])('%s is refused when the job is defined', (_, machine, hint) => {
  expect(() => jobOf(machine())).toThrow(expect.objectContaining(notDurable(hint)) as Error)
})

test.each<[what: string, machine: () => AnyStateMachine, message: string]>([
  [
    'an inline action in enqueueActions',
    () => createMachine({ entry: enqueueActions(({ enqueue }) => enqueue(() => {})) }),
    'inline action',
  ],
  [
    'an inline spawn',
    () => createMachine({ context: {}, entry: assign(({ spawn }) => ({ ref: spawn(fromPromise(async () => 1)) })) }),
    'inline logic',
  ],
  [
    'a child without an id in enqueueActions',
    () =>
      setup({ actors: { idle } }).createMachine({
        entry: enqueueActions(({ enqueue }) => enqueue.spawnChild('idle')),
      }),
    'without an id',
  ],
  ['a Date', () => createMachine({ context: fromInput({ at: new Date(0) }) }), 'context.at'],
  ['a Map', () => createMachine({ context: fromInput({ of: { map: new Map() } }) }), 'context.of.map'],
  ['a BigInt', () => createMachine({ context: fromInput({ big: 1n }) }), 'context.big'],
  ['a function', () => createMachine({ context: fromInput({ act: () => {} }) }), 'context.act'],
])('%s makes the job dead at once', async (_, machine, message) => {
  const { state, error, attempt } = await ended(machine())
  expect({ state, attempt }).toEqual({ state: 'dead', attempt: 1 })
  expect(error).toMatchObject({ code: 'NOT_DURABLE', message: expect.stringContaining(message) as string })
})

const asking = (note: (output: { at: unknown; n: number }) => void) =>
  setup({
    actions: { note: ({ event }) => note((event as unknown as { output: { at: unknown; n: number } }).output) },
    actors: { now: fromPromise(async () => ({ at: new Date(0), n: 1 })) },
  }).createMachine({
    initial: 'asking',
    states: { asking: { invoke: { src: 'now', onDone: { target: 'end', actions: 'note' } } }, end: { type: 'final' } },
  })

test('an action that reads a Date of its event makes the job dead, with the path', async () => {
  const { state, error } = await ended(asking(({ at }) => at))
  expect(state).toBe('dead')
  expect(error).toMatchObject({
    code: 'NOT_DURABLE',
    message: expect.stringMatching(/note reads event\.output\.at, which is the Date 1970/) as string,
  })
})

test('what is no JSON and what nobody uses is no harm: in an event, or as the end of a promise', async () => {
  const seen: number[] = []
  expect((await ended(asking(({ n }) => seen.push(n)))).state).toBe('done')
  expect(seen).toEqual([1])
  const work = fromPromise(async () => ({ set: new Set([1]), list: [undefined, NaN], pattern: /x/ }))
  const root = setup({ types: { context: {} as { size: number } }, actors: { work } }).createMachine({
    context: { size: 0 },
    invoke: {
      src: 'work',
      onDone: { actions: assign({ size: ({ event }) => event.output.set.size }), target: '.off' },
    },
    initial: 'on',
    states: { on: {}, off: { after: { 1_000: 'end' } }, end: { type: 'final' } },
    output: ({ context }) => context.size,
  })
  expect(await ended(root)).toMatchObject({ state: 'done', output: 1 })
})

test.each([
  [new Set(), 'kept.deep[0]'],
  [/x/, 'kept.deep[0]'],
  [NaN, 'kept.deep[0]'],
  [undefined, 'kept.deep[0]'],
])('%s in the context makes the job dead, with the path', async (value, path) => {
  const machine = setup({
    types: { context: {} as { kept: unknown } },
    actors: { work: fromPromise(async () => ({ deep: [value] })) },
  }).createMachine({
    context: { kept: null },
    initial: 'on',
    states: { on: { invoke: { src: 'work', onDone: { actions: assign({ kept: ({ event }) => event.output }) } } } },
  })
  const { state, error } = await ended(machine)
  expect(state).toBe('dead')
  expect(error?.message).toContain(path)
})

test('a chart that runs in circles fails its attempts, and nobody who asks about it hangs', async () => {
  const circle = createMachine({ initial: 'a', states: { a: { always: 'b' }, b: { always: 'a' } } })
  const at = world()
  const job = jobOf(circle)
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined, { delay: '1s' })
  await expect(handle.can({ type: 'GO' })).rejects.toThrow('Infinite loop')
  await expect(handle.send({ type: 'GO' })).rejects.toThrow('Infinite loop')
  await at.clock.advance('1m')
  const { state, error, attempt } = await handle.record()
  expect({ state, attempt }).toEqual({ state: 'dead', attempt: 2 })
  expect(error?.message).toContain('Infinite loop')
})

test('events that are not taken are refused with the reason', async () => {
  const at = world()
  const lamp = setup({ types: { events: {} as { type: 'ON' } | { type: 'OFF' } | { type: 'END' } } }).createMachine({
    initial: 'off',
    states: { off: { on: { ON: 'on' } }, on: { on: { OFF: 'off', END: 'end' } }, end: { type: 'final' } },
  })
  const job = defineJob({ type: 'lamp', machine: lamp })
  const plain = defineJob({ type: 'plain', run: () => new Promise<never>(() => {}) })
  const runtime = await at.runtime({ jobs: [job, plain] })
  const handle = await runtime.enqueue(job)
  await at.clock.settle()
  const refused = (code: string, message: string) => ({ code, message: expect.stringContaining(message) as string })
  await expect(handle.send({ type: 'OFF' })).rejects.toMatchObject(refused('NOT_ACCEPTED', 'does not accept OFF'))
  const forged = { type: 'xstate.done.actor.0' } as never
  await expect(handle.send(forged)).rejects.toMatchObject(refused('NOT_ACCEPTED', 'internal event of XState'))
  expect(await handle.can(forged)).toBe(false)
  await expect(handle.send({} as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await expect(handle.send({ type: 'ON', at: new Date(0) } as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await handle.send({ type: 'ON' })
  await handle.send({ type: 'END' })
  await handle.result()
  await expect(handle.send({ type: 'ON' })).rejects.toMatchObject(refused('NOT_ACCEPTED', 'is done'))
  expect(await handle.can({ type: 'ON' })).toBe(false)
  await expect(runtime.send('nobody', { type: 'ON' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  const other = await runtime.enqueue(plain)
  for (const call of [() => other.send({ type: 'ON' }), () => other.snapshot(), () => other.checkpoints()]) {
    await expect(call()).rejects.toMatchObject(refused('NOT_ACCEPTED', 'has no machine'))
  }
  const alive = await runtime.enqueue(job)
  await at.clock.settle()
  const stranger = at.idle({ jobs: [plain] })
  await expect(stranger.send(alive.id, { type: 'ON' })).rejects.toMatchObject({ code: 'UNKNOWN_TYPE' })
  await other.cancel({ grace: 0 })
  at.expectLogged('warn')
})

/** Counts what it is sent. */
const counter = setup({ types: { context: {} as { n: number } } }).createMachine({
  context: { n: 0 },
  on: { ADD: { actions: assign({ n: ({ context }) => context.n + 1 }) } },
  initial: 'on',
  states: { on: { on: { END: 'end' } }, end: { type: 'final' } },
  output: ({ context }) => context.n,
})

test('a full inbox refuses more, until the machine reads', async () => {
  const at = world()
  const job = defineJob({ type: 'counter', machine: counter })
  const runtime = at.idle({ jobs: [job] })
  const handle = await runtime.enqueue(job)
  const sent = await Promise.allSettled(Array.from({ length: 1_001 }, () => handle.send({ type: 'ADD' })))
  const failed = sent.flatMap((each) => (each.status === 'rejected' ? [each.reason as JobchartError] : []))
  const { inbox } = await handle.record()
  expect({ kept: inbox.length, refused: failed.length }).toEqual({ kept: 1_000, refused: 1 })
  for (const { code } of failed) expect(code).toBe('CAPACITY')
  await runtime.start()
  await at.clock.settle()
  await handle.send({ type: 'END' })
  expect(await handle.result()).toBe(inbox.length)
})

test('a machine that runs in the process of its sender has its turns to read', async () => {
  const job = defineJob({ type: 'counter', machine: counter })
  const runtime = createRuntime({ jobs: [job] })
  await runtime.start()
  const handle = await runtime.enqueue(job)
  await handle.waitFor('on')
  for (let i = 0; i < 1_200; i++) await handle.send({ type: 'ADD' }, { accept: 'always' })
  await handle.send({ type: 'END' })
  expect(await handle.result()).toBe(1_200)
  await runtime.stop()
})

test('events raised for ever are found out as well', async () => {
  const { state, error } = await ended(
    createMachine({ entry: raise({ type: 'AGAIN' }), on: { AGAIN: { actions: raise({ type: 'AGAIN' }) } } }),
  )
  expect(state).toBe('dead')
  expect(error?.message).toContain('Infinite loop')
})
