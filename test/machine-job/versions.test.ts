/**
 * Jobs outlive deployments: they stay with the version they began with, are brought to a new one, or wait for who knows
 * theirs.
 */
import { defineJob, durable, type JobDefinition, type Migrate } from 'jobchart'
import {
  assign,
  createMachine,
  fromPromise,
  raise,
  sendParent,
  sendTo,
  setup,
  spawnChild,
  type AnyStateMachine,
} from 'xstate'
import { expect, test } from 'vitest'
import { world, type World } from '../support/leaks.ts'

const first = createMachine({
  id: 'order',
  context: { first: true },
  initial: 'waiting',
  states: { waiting: { on: { GO: 'end' } }, end: { type: 'final' } },
  output: 'first',
})

/** `waiting` is called `pending` here. */
const second = createMachine({
  id: 'order',
  context: { first: false },
  initial: 'pending',
  states: { pending: { on: { GO: 'end' }, after: { 10_000: 'end' } }, end: { type: 'final' } },
  output: 'second',
})

const versionOf = (machine: AnyStateMachine, version: string, migrate?: Migrate) =>
  defineJob({ type: 'order', machine, version, ...(migrate && { migrate }) })

/** A job that waits in the version it was begun with; its runtime is gone. */
async function begun(at: World, job: JobDefinition) {
  const runtime = await at.runtime({ jobs: [job] })
  const { id } = await runtime.enqueue(job, undefined)
  await at.clock.settle()
  await runtime.stop()
  return id
}

test('two versions live side by side: a job stays with the one it began with, new ones take the last', async () => {
  const at = world()
  const old = versionOf(first, '1')
  const id = await begun(at, old)
  const current = versionOf(second, '2')
  const runtime = await at.runtime({ jobs: [old, current] })
  const handle = await runtime.job(id)
  expect((await handle?.snapshot())?.value).toBe('waiting')
  const fresh = await runtime.enqueue(current, undefined)
  await at.clock.settle()
  expect((await fresh.snapshot()).value).toBe('pending')
  for (const each of [handle, fresh]) await each?.send({ type: 'GO' } as never)
  expect([await handle?.result(), await fresh.result()]).toEqual(['first', 'second'])
})

test('a snapshot of another version is migrated', async () => {
  const at = world()
  const id = await begun(at, versionOf(first, '1'))
  const seen: unknown[] = []
  const job = versionOf(second, '2', (snapshot, from) => {
    seen.push(from)
    return { ...(snapshot as object), value: 'pending' }
  })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.job(id)
  expect((await handle?.snapshot())?.value).toBe('pending')
  await handle?.send({ type: 'GO' } as never)
  expect(await handle?.result()).toBe('second')
  expect(seen[0]).toMatchObject({ id: 'order', version: '1' })
})

/** Counts its reminders, and stays where it is. */
const reminding = (state: string) =>
  setup({ types: { context: {} as { reminded: number } } }).createMachine({
    id: 'order',
    context: { reminded: 0 },
    initial: state,
    states: {
      [state]: {
        on: { GO: 'end' },
        after: { 3_600_000: { actions: assign({ reminded: ({ context }) => context.reminded + 1 }) } },
      },
      end: { type: 'final' },
    },
    output: ({ context }) => context.reminded,
  })

test.each([
  ['is not set again', true, 1],
  ['is set anew if migrate leaves it out', false, 2],
])('a delay that has passed in a state of another name %s', async (_, isKept, reminded) => {
  const at = world()
  const old = versionOf(reminding('review'), '1')
  const before = await at.runtime({ jobs: [old] })
  const { id } = await before.enqueue(old, undefined)
  await at.clock.advance('2h')
  await before.stop()
  const job = versionOf(reminding('approval'), '2', (snapshot, _from, { timers }) => {
    expect(timers).toMatchObject([{ state: 'order.review', delay: '3600000', at: 0, passed: true }])
    return {
      snapshot: { ...(snapshot as object), value: 'approval' },
      timers: isKept ? timers.map((timer) => ({ ...timer, state: 'order.approval' })) : [],
    }
  })
  const runtime = await at.runtime({ jobs: [job] })
  await at.clock.advance('2h')
  const handle = await runtime.job(id)
  await handle?.send({ type: 'GO' } as never)
  expect(await handle?.result()).toBe(reminded)
})

/** Three timers of an hour: of its child, for its child, and of a promise that waits for its next attempt. */
function withChild(id: string) {
  const child = setup({}).createMachine({
    entry: raise({ type: 'RAISED' }, { delay: 3_600_000 }),
    on: { RAISED: { actions: sendParent({ type: 'HEARD', what: 'raised' }) } },
  })
  const pings = setup({}).createMachine({
    on: { PING: { actions: sendParent({ type: 'HEARD', what: 'sent' }) } },
  })
  let attempts = 0
  const work = durable(async () => Promise.reject(new Error(`attempt ${++attempts}`)), {
    retry: { maxAttempts: 2, backoff: () => 3_600_000 },
  })
  return setup({
    types: { context: {} as { heard: string[] }, events: {} as { type: 'HEARD'; what: string } | { type: 'GO' } },
    actors: { child, pings, work },
    actions: { hear: assign({ heard: ({ context }, what: string) => [...context.heard, what] }) },
  }).createMachine({
    id: 'order',
    context: { heard: [] },
    invoke: [
      { id: `${id}-raises`, src: 'child' },
      { id: `${id}-pings`, src: 'pings' },
      { id: `${id}-work`, src: 'work', onError: { actions: { type: 'hear', params: 'failed' } } },
    ],
    entry: sendTo(`${id}-pings`, { type: 'PING' }, { delay: 3_600_000 }),
    on: { HEARD: { actions: { type: 'hear', params: ({ event }) => event.what } }, GO: '.end' },
    initial: 'open',
    states: { open: {}, end: { type: 'final' } },
    output: ({ context }) => context.heard.toSorted(),
  })
}

const renamedChildren = (snapshot: unknown): object => {
  const { children, ...rest } = snapshot as { readonly children: object }
  return {
    ...rest,
    children: Object.fromEntries(Object.entries(children).map(([id, child]) => [id.replace('kid', 'heir'), child])),
  }
}

test('the timers of actors that migrate renames go along if it moves them', async () => {
  const at = world()
  const id = await begun(at, versionOf(withChild('kid'), '1'))
  const to = (address: string): string => address.replace('kid', 'heir')
  const job = versionOf(withChild('heir'), '2', (snapshot, _, { timers }) => ({
    snapshot: renamedChildren(snapshot),
    timers: timers.map((timer) => ({ ...timer, machine: to(timer.machine), target: to(timer.target) })),
  }))
  const runtime = await at.runtime({ jobs: [job] })
  await at.clock.advance('2h')
  const handle = await runtime.job(id)
  await handle?.send({ type: 'GO' } as never)
  expect(await handle?.result()).toEqual(['failed', 'raised', 'sent'])
})

test.each<[what: string, migrate: Migrate, reason: string]>([
  [
    'are left where they were',
    renamedChildren,
    'the delayed event RAISED needs the actor kid-raises/1, which is gone; the delayed event PING needs the actor kid-pings/1, which is gone; ',
  ],
  [
    'are moved to one that is not there',
    (snapshot, _, { timers }) => ({
      snapshot: renamedChildren(snapshot),
      timers: timers.map((timer) => ({ ...timer, machine: 'heir-raises', target: 'heir-raises/1' })),
    }),
    'the delayed event RAISED needs the actor heir-raises, which is gone',
  ],
])('the job waits if timers of actors that migrate renames %s', async (_, migrate, reason) => {
  const at = world()
  const id = await begun(at, versionOf(withChild('kid'), '1'))
  const runtime = await at.runtime({ jobs: [versionOf(withChild('heir'), '2', migrate)] })
  await at.clock.settle()
  expect((await (await runtime.job(id))?.record())?.unsupported?.reason).toContain(reason)
  at.expectLogged('error')
})

test('a job of an unknown version waits, with messages and without, for a process that knows it', async () => {
  const at = world()
  const old = versionOf(first, '1')
  const id = await begun(at, old)
  const stranger = await at.runtime({ jobs: [versionOf(second, '2')] })
  const handle = await stranger.job(id)
  await expect(handle?.send({ type: 'GO' } as never)).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  const knows = at.idle({ jobs: [old] })
  await knows.send(id, { type: 'GO' })
  await at.clock.advance('95s')
  const { state, attempt, unsupported } = (await handle?.record()) ?? {}
  expect({ state, attempt }).toEqual({ state: 'scheduled', attempt: 0 })
  expect(unsupported).toMatchObject({ version: '1', tries: 13 })
  expect(unsupported?.reason).toContain('version 1 of machine order; this process knows version 2')
  at.expectLogged('error')
  await stranger.stop()
  await knows.start()
  await at.clock.settle()
  expect(await (await knows.job(id))?.result()).toBe('first')
})

test('without messages it is put off with the reason, whatever it waited for', async () => {
  const at = world()
  const waits = (after: string) =>
    createMachine({
      id: 'order',
      initial: after,
      states: { [after]: { after: { 5_000: 'end' } }, end: { type: 'final' } },
    })
  const old = versionOf(waits('a'), '1')
  const id = await begun(at, old)
  const stranger = await at.runtime({ jobs: [versionOf(waits('b'), '2')] })
  await at.clock.advance('40s')
  const { state, history } = (await (await stranger.job(id))?.record()) ?? {}
  expect(state).toBe('scheduled')
  expect(history?.at(-1)?.reason).toContain('version 1')
  at.expectLogged('error')
  await stranger.stop()
  const knows = await at.runtime({ jobs: [old] })
  await at.clock.settle()
  expect((await (await knows.job(id))?.record())?.state).toBe('done')
})

const work = fromPromise(() => new Promise<never>(() => {}))
const states = (waiting: object, more: object = {}) =>
  setup({ actors: { work, renamed: work } }).createMachine({
    id: 'order',
    initial: 'waiting',
    states: { waiting: { on: { GO: 'end' }, ...waiting }, end: { type: 'final' }, ...more },
  })

const parentOf = (kid: AnyStateMachine): AnyStateMachine =>
  setup({ actors: { kid, work } }).createMachine({ id: 'parent', invoke: [{ src: 'work' }, { src: 'kid' }] })

test.each<[what: string, from: AnyStateMachine, to: AnyStateMachine, message: string]>([
  [
    'a state that is gone',
    states({}),
    createMachine({ id: 'order', initial: 'a', states: { a: {} } }),
    'state order.waiting is gone',
  ],
  ['a state that was split', states({}), states({ initial: 'a', states: { a: {} } }), 'has child states now'],
  [
    'an actor that is gone',
    states({ invoke: { id: 'kid', src: 'work' } }),
    setup({ actors: { other: work } }).createMachine({
      id: 'order',
      initial: 'waiting',
      states: { waiting: { invoke: { id: 'kid', src: 'other' } } },
    }),
    'there is no actor logic work any more',
  ],
  [
    'an actor that no state invokes any more',
    states({ invoke: { src: 'work' } }),
    states({}),
    'no active state invokes the actor 0.order.waiting any more',
  ],
  [
    'an actor that another state invokes now',
    states({ invoke: { src: 'work' } }),
    states({}, { other: { id: 'order.waiting.other', invoke: { src: 'work' } } }),
    'no active state invokes the actor 0.order.waiting any more',
  ],
  ['an actor that is new', states({}), states({ invoke: { id: 'kid', src: 'work' } }), 'kid'],
  [
    'a timer that nobody waits for',
    states({ after: { 60_000: 'end' } }),
    states({}),
    'the timer after 60000 of order.waiting',
  ],
  [
    'a region that is new',
    createMachine({ id: 'order', type: 'parallel', states: { a: {} } }),
    createMachine({ id: 'order', type: 'parallel', states: { a: {}, b: {} } }),
    'region order.b is new',
  ],
  [
    'an actor that a child machine does not invoke any more',
    parentOf(states({ invoke: { src: 'work' } })),
    parentOf(states({})),
    '1.parent/: no active state invokes the actor 0.order.waiting any more',
  ],
])('%s is found out, and the job waits', async (_, from, to, message) => {
  const at = world()
  const old = versionOf(from, '1')
  const before = await at.runtime({ jobs: [old] })
  const { id } = await before.enqueue(old, undefined)
  await at.clock.settle()
  await before.stop({ mode: 'abort', grace: 0 })
  const runtime = await at.runtime({ jobs: [versionOf(to, '1')] })
  await runtime.store.send([{ id, message: { kind: 'event', event: { type: 'ANY' } }, key: 'k', expect: null }])
  await at.clock.settle()
  const handle = await runtime.job(id)
  const { state, unsupported } = (await handle?.record()) ?? {}
  expect(state).toBe('scheduled')
  expect(unsupported?.reason).toContain(message)
  at.expectLogged('error')
  at.expectLogged('warn')
})

test('actors that were spawned, and invoked ones with an id of their own, go on in a chart that does not invoke them', async () => {
  const at = world()
  const old = versionOf(
    states({ entry: spawnChild('work', { id: '0.item' }), invoke: { id: 'kid', src: 'work' } }),
    '1',
  )
  const before = await at.runtime({ jobs: [old] })
  const { id } = await before.enqueue(old, undefined)
  await at.clock.settle()
  await before.stop({ mode: 'abort', grace: 0 })
  const runtime = await at.runtime({ jobs: [versionOf(states({}), '1')] })
  const handle = await runtime.job(id)
  await handle?.send({ type: 'GO' } as never)
  await handle?.result()
  at.expectLogged('warn')
})

test('what has changed and still fits goes on as the same version', async () => {
  const at = world()
  const id = await begun(at, versionOf(states({}), '1'))
  const runtime = await at.runtime({ jobs: [versionOf(states({ tags: ['new'] }, { other: {} }), '1')] })
  const handle = await runtime.job(id)
  expect((await handle?.snapshot())?.hasTag('new')).toBe(true)
  await handle?.send({ type: 'GO' } as never)
  await handle?.result()
})
