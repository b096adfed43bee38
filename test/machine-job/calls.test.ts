/**
 * What is asked of a machine job from outside: where it stands and stood, what it takes, what it is told, and forks.
 */
import { createClient, defineJob, fromJob, type Client, type JobDefinition } from 'jobchart'
import { sqliteStore } from 'jobchart/sqlite'
import { assign, fromPromise, setup } from 'xstate'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { world } from '../support/leaks.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

type Event = { type: 'ADD'; n: number } | { type: 'NEXT' } | { type: 'END' }

const list = setup({
  types: { context: {} as { ns: number[] }, events: {} as Event },
  actors: { work: fromPromise(async () => {}) },
  guards: { any: ({ context }) => context.ns.length > 0 },
}).createMachine({
  id: 'list',
  context: { ns: [] },
  initial: 'open',
  on: { ADD: { actions: assign({ ns: ({ context, event }) => [...context.ns, event.n] }) } },
  states: {
    open: {
      initial: 'first',
      on: { END: { guard: 'any', target: 'end' } },
      states: { first: { on: { NEXT: 'second' } }, second: { tags: ['late'], after: { 60_000: 'third' } }, third: {} },
    },
    end: { type: 'final' },
  },
  output: ({ context }) => context.ns,
})

const job = defineJob({ type: 'list', machine: list })

async function begin() {
  const at = world()
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job)
  await at.clock.settle()
  return { ...at, at, runtime, handle }
}

test('a job says what it takes, messages that are on their way included', async () => {
  const at = world()
  const runtime = at.idle({ jobs: [job] })
  const handle = await runtime.enqueue(job)
  expect(await handle.can({ type: 'END' })).toBe(false)
  expect((await handle.snapshot()).value).toEqual({ open: 'first' })
  await handle.send({ type: 'ADD', n: 1 })
  expect(await handle.can({ type: 'END' })).toBe(true)
  // It has not been read.
  expect((await handle.snapshot()).context).toEqual({ ns: [] })
  await handle.send({ type: 'END' })
  expect(await handle.can({ type: 'ADD', n: 2 })).toBe(false)
  await runtime.start()
  expect(await handle.result()).toEqual([1])
})

test('where it stands and stood is kept, with what led there', async () => {
  const { at, handle } = await begin()
  await handle.send({ type: 'ADD', n: 1 })
  await at.clock.settle()
  await handle.send({ type: 'NEXT' })
  await at.clock.settle()
  const kept = await handle.checkpoints()
  expect(kept.map(({ number, note }) => [number, note])).toEqual([
    [1, expect.stringContaining('open.first')],
    [2, 'ADD → open.first'],
    [3, 'NEXT → open.second'],
  ])
  const view = await handle.snapshotAt(kept[1]?.seq ?? 0)
  expect(view).toMatchObject({ value: { open: 'first' }, context: { ns: [1] }, tags: [], status: 'active' })
  expect(view.matches('open.first')).toBe(true)
  expect(view.can({ type: 'NEXT' })).toBe(true)
  expect((await handle.snapshot()).tags).toEqual(['late'])
  await expect(handle.snapshotAt(0)).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('a fork goes on from where another job stood, with its timers', async () => {
  const { at, handle } = await begin()
  await handle.send({ type: 'ADD', n: 1 })
  await at.clock.settle()
  const [, second] = await handle.checkpoints()
  await handle.send({ type: 'NEXT' })
  await at.clock.settle()
  const fork = await handle.fork((await handle.checkpoints())[2]?.seq ?? 0)
  const early = await handle.fork(second?.seq ?? 0)
  await at.clock.advance('61s')
  expect((await fork.snapshot()).value).toEqual({ open: 'third' })
  expect((await handle.snapshot()).value).toEqual({ open: 'third' })
  expect((await early.snapshot()).value).toEqual({ open: 'first' })
  await early.send({ type: 'ADD', n: 7 })
  for (const each of [handle, fork, early]) await each.send({ type: 'END' })
  expect([await handle.result(), await fork.result(), await early.result()]).toEqual([[1], [1], [1, 7]])
})

test('a fork of a job that rests is found by its state and tags, and makes good when it is cancelled', async () => {
  const at = world()
  const resting = defineJob({
    type: 'resting',
    machine: setup({ types: { events: {} as { type: 'job.cancel'; reason: string | null } } }).createMachine({
      initial: 'booked',
      states: {
        booked: { tags: 'person', on: { 'job.cancel': 'releasing' } },
        releasing: { after: { '1m': 'released' } },
        released: { type: 'final' },
      },
    }),
  })
  const runtime = await at.runtime({ jobs: [resting] })
  const handle = await runtime.enqueue(resting)
  await at.clock.settle()
  const fork = await handle.fork((await handle.checkpoints()).at(-1)?.seq ?? 0)
  await at.clock.settle()
  const ids = async (filter: Parameters<typeof runtime.list>[0]) => (await runtime.list(filter)).map(({ id }) => id)
  expect(await ids({ machineState: 'booked' })).toContain(fork.id)
  expect(await ids({ machineTag: 'person' })).toContain(fork.id)
  expect((await fork.checkpoints()).map(({ number, note }) => [number, note])).toEqual([
    [1, 'fork'],
    [2, 'forked'],
  ])
  await fork.cancel()
  await at.clock.settle()
  expect((await fork.snapshot()).value).toBe('releasing')
  await at.clock.advance('1m')
  expect(await fork.record()).toMatchObject({ state: 'cancelled', machineStates: ['released'] })
})

test('a fork has jobs of its own', async () => {
  const at = world()
  const inner = defineJob({ type: 'inner', run: async () => at.clock.sleep('10s') })
  const machine = setup({ actors: { inner: fromJob(inner) } }).createMachine({
    initial: 'waiting',
    states: { waiting: { invoke: { src: 'inner', input: undefined, onDone: 'end' } }, end: { type: 'final' } },
  })
  const outer: JobDefinition = defineJob({ type: 'outer', machine }) as JobDefinition
  const runtime = await at.runtime({ jobs: [outer, inner] })
  const handle = await runtime.enqueue(outer, undefined)
  await at.clock.advance('1s')
  const fork = await handle.fork((await handle.checkpoints()).at(-1)?.seq ?? 0)
  await at.clock.advance('1s')
  const children = await runtime.list({ type: 'inner' })
  expect(new Set(children.map(({ parent }) => parent?.id))).toEqual(new Set([handle.id, fork.id]))
  await handle.cancel()
  await at.clock.advance('20s')
  expect((await handle.record()).state).toBe('cancelled')
  expect((await fork.record()).state).toBe('done')
})

test('a state, a tag or a condition is waited for', async () => {
  const { at, runtime, handle } = await begin()
  const tag = handle.waitFor('late')
  const state = handle.waitFor('open.third', { timeout: '2m' })
  const condition = handle.waitFor(({ context }) => (context as { ns: number[] }).ns.length === 2)
  await handle.send({ type: 'ADD', n: 1 })
  await handle.send({ type: 'ADD', n: 2 })
  expect((await condition).context).toEqual({ ns: [1, 2] })
  await handle.send({ type: 'NEXT' })
  expect((await tag).value).toEqual({ open: 'second' })
  const late = handle.waitFor('open.third', { timeout: '10s' }).catch((error: unknown) => error)
  const stop = new AbortController()
  const given = handle.waitFor('open.third', { signal: stop.signal }).catch((error: unknown) => error)
  stop.abort('enough')
  expect(await given).toMatchObject({ code: 'ABORTED' })
  await at.clock.advance('61s')
  expect(await late).toMatchObject({ code: 'TIMEOUT' })
  expect((await state).value).toEqual({ open: 'third' })
  await expect(
    handle.waitFor(() => {
      throw new Error('mine')
    }),
  ).rejects.toThrow('mine')
  const elsewhere = handle.waitFor(() => false).catch((error: unknown) => error)
  await handle.send({ type: 'END' })
  expect(await elsewhere).toMatchObject({ code: 'NOT_ACCEPTED' })
  const other = await runtime.enqueue(job)
  await at.clock.settle()
  const cancelled = other.waitFor(() => false).catch((error: unknown) => error)
  await other.cancel()
  expect(await cancelled).toMatchObject({ code: 'CANCELLED' })
  const last = await runtime.enqueue(job)
  const stopped = last.waitFor(() => false).catch((error: unknown) => error)
  await runtime.stop()
  expect(await stopped).toMatchObject({ code: 'STOPPED' })
})

test('an event sent twice under one key is taken once, also when it would not be taken again', async () => {
  const { at, runtime, handle } = await begin()
  await handle.send({ type: 'NEXT' }, { key: 'next' })
  await at.clock.settle()
  await handle.send({ type: 'NEXT' }, { key: 'next' })
  await Promise.all([1, 2, 3].map(() => runtime.send(handle.id, { type: 'ADD', n: 1 } as Event, { key: 'one' })))
  await handle.send({ type: 'END' })
  expect(await handle.result()).toEqual([1])
})

test('the first call of a client may send an event with a key', async () => {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const client = (): Client => {
    const made = createClient({ store: sqliteStore({ path: `${folder.path}/jobs.db` }), jobs: [job] })
    onTestFinished(() => made.close())
    return made
  }
  const { id } = await client().enqueue(job)
  await client().send(id, { type: 'NEXT' }, { key: 'next' })
  expect((await (await client().job(id))?.record())?.inbox.length).toBe(1)
})

test('a running machine reads what it is sent', async () => {
  const at = world()
  const machine = setup({
    types: { context: {} as { ns: number[] }, events: {} as Event },
    actors: { work: fromPromise(({ signal }) => at.clock.sleep('1h', signal)) },
  }).createMachine({
    context: { ns: [] },
    invoke: { src: 'work' },
    on: { ADD: { actions: assign({ ns: ({ context, event }) => [...context.ns, event.n] }) }, END: '.end' },
    initial: 'on',
    states: { on: {}, end: { type: 'final' } },
    output: ({ context }) => context.ns,
  })
  const running = defineJob({ type: 'running', machine })
  const runtime = await at.runtime({ jobs: [running] })
  const handle = await runtime.enqueue(running)
  await at.clock.settle()
  const ns = Array.from({ length: 300 }, (_, n) => n)
  await Promise.all(ns.map((n) => handle.send({ type: 'ADD', n })))
  expect((await handle.record()).state).toBe('running')
  await handle.send({ type: 'END' })
  expect(await handle.result()).toEqual(ns)
})

test('hundreds of events come in their order, however they are sent', async () => {
  const { handle } = await begin()
  const ns = Array.from({ length: 400 }, (_, n) => n)
  await Promise.all(ns.map((n) => handle.send({ type: 'ADD', n })))
  await handle.send({ type: 'END' })
  expect(await handle.result()).toEqual(ns)
})

test('a definition beside the id types the calls, and must be that of the job', async () => {
  const at = world()
  const other = defineJob({ type: 'other', run: () => {} })
  const runtime = at.idle({ jobs: [job, other] })
  const { id } = await runtime.enqueue(job)
  const handle = await runtime.job(job, id)
  await runtime.send(job, id, { type: 'ADD', n: 1 })
  expect(await handle?.can({ type: 'END' })).toBe(true)
  expect(await runtime.job(job, 'nobody')).toBeNull()
  const wrong = { code: 'INVALID_OPTION', message: expect.stringContaining('of type list') }
  await expect(runtime.job(other, id)).rejects.toMatchObject(wrong)
  await expect(runtime.send(other, id, { type: 'END' })).rejects.toMatchObject(wrong)
})

test('an event that does not match its schema is refused, and nothing of it is kept', async () => {
  const at = world()
  const positive = z.object({ n: z.number().positive() })
  const checked = defineJob({ type: 'list', machine: list, events: { ADD: positive } })
  const runtime = at.idle({ jobs: [checked] })
  const handle = await runtime.enqueue(checked)
  const refused = { code: 'INVALID_INPUT', message: expect.stringMatching(/event ADD of job list: n: /) }
  await expect(handle.send({ type: 'ADD', n: -1 })).rejects.toMatchObject(refused)
  await expect(handle.send({ type: 'ADD', n: -1 }, { accept: 'always' })).rejects.toMatchObject(refused)
  await handle.send({ type: 'ADD', n: 1 })
  // It has no schema.
  await handle.send({ type: 'NEXT' })
  expect((await handle.record()).inbox.map(({ message }) => message)).toEqual([
    { kind: 'event', event: { type: 'ADD', n: 1 }, judgedBy: expect.stringContaining('list') },
    { kind: 'event', event: { type: 'NEXT' }, judgedBy: expect.stringContaining('list') },
  ])
  for (const events of [{ ADD: {} }, 7]) {
    expect(() => defineJob({ type: 'list', machine: list, events: events as never })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION' }),
    )
  }
  expect(() => defineJob({ type: 'plain', run: () => {}, events: {} } as never)).toThrow(/no events without a machine/)
})
