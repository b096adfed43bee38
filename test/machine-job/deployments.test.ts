/** What is sent to a machine by a process that does not know it, and what is in its way in the inbox. */
import { createClient, defineJob, type JobDefinition } from 'jobchart'
import { assign, createMachine, fromCallback, fromPromise, setup } from 'xstate'
import { expect, test } from 'vitest'
import { world, type World } from '../support/leaks.ts'

const orderMachine = (state: string) =>
  createMachine({
    id: 'order',
    initial: state,
    states: { [state]: { on: { PAID: 'paid' } }, paid: { type: 'final' } },
  })
const order = defineJob({ type: 'order', machine: orderMachine('open') })

/** A client without these jobs on the store of a world. */
const webOf = (at: World, jobs: readonly JobDefinition[] = []) =>
  createClient({ jobs, store: at.store, clock: at.clock, logger: at.logger })

test.each([[[]], [[defineJob({ type: 'order', machine: orderMachine('new'), version: '2' })]]])(
  'an event for a machine that the process does not know, or not in this version, is kept if it is sent anyway',
  async (jobs) => {
    const at = world()
    const runtime = await at.runtime({ jobs: [order] })
    const { id } = await runtime.enqueue(order, undefined)
    await at.clock.settle()
    const web = webOf(at, jobs)
    await expect(web.send(id, { type: 'PAID' })).rejects.toThrow()
    await web.send(id, { type: 'PAID' }, { accept: 'always', key: 'e1' })
    await web.send(id, { type: 'PAID' }, { accept: 'always', key: 'e1' })
    await at.clock.settle()
    expect((await (await runtime.job(id))?.record())?.state).toBe('done')
    await web.close()
  },
)

test('an event that is kept for a job that has not begun is read when it has', async () => {
  const at = world()
  const idle = at.idle({ jobs: [order] })
  const { id } = await idle.enqueue(order, undefined)
  const web = webOf(at)
  await web.send(id, { type: 'PAID' }, { accept: 'always' })
  await idle.start()
  await at.clock.settle()
  expect((await (await idle.job(id))?.record())?.state).toBe('done')
  await web.close()
})

test('an event that is sent anyway is judged when it is read: what is not taken then is dropped with a warning', async () => {
  const at = world()
  const runtime = await at.runtime({ jobs: [order] })
  const job = await runtime.enqueue(order, undefined)
  await at.clock.settle()
  await job.send({ type: 'REFUND' } as never, { accept: 'always' })
  await at.clock.settle()
  expect((await job.snapshot()).value).toBe('open')
  expect(at.expectLogged('warn').join()).toContain('no longer handles it')
  await job.send({ type: 'PAID' } as never)
  await job.result()
})

test('events that wait for a job are read before the end of work that begins again and ends at once', async () => {
  const at = world()
  let isQuick = false
  const machine = setup({
    types: { context: {} as { heard: number[] }, events: {} as { type: 'NUM'; n: number } },
    actors: { work: fromPromise(() => (isQuick ? Promise.resolve() : new Promise<void>(() => {}))) },
  }).createMachine({
    context: { heard: [] },
    initial: 'works',
    on: { NUM: { actions: assign({ heard: ({ context, event }) => [...context.heard, event.n] }) } },
    states: { works: { invoke: { src: 'work', onDone: 'end' } }, end: { type: 'final' } },
    output: ({ context }) => context.heard,
  })
  const job = defineJob({ type: 'hears', machine })
  const before = await at.runtime({ jobs: [job] })
  const { id } = await before.enqueue(job, undefined)
  await at.clock.settle()
  await before.stop({ mode: 'abort', grace: 0 })
  isQuick = true
  const runtime = at.idle({ jobs: [job] })
  for (const n of [1, 2, 3]) await runtime.send(id, { type: 'NUM', n })
  await runtime.start()
  await at.clock.settle()
  expect(await (await runtime.job(id))?.result()).toEqual([1, 2, 3])
})

/** Its callback sends an event as soon as it begins, from its second begin on. */
function sendsAtOnce() {
  let begins = 0
  const machine = setup({
    types: {
      context: {} as { heard: string[] },
      events: {} as { type: 'NUM' } | { type: 'LEAVE' } | { type: 'READY' },
    },
    actors: {
      work: fromCallback(({ sendBack }) => {
        if (++begins > 1) sendBack({ type: 'READY' })
      }),
    },
    actions: { hear: assign({ heard: ({ context, event }) => [...context.heard, event.type] }) },
  }).createMachine({
    context: { heard: [] },
    initial: 'works',
    on: { NUM: { actions: 'hear' } },
    states: {
      works: {
        invoke: { src: 'work' },
        on: { LEAVE: 'left', READY: { target: 'end', actions: 'hear' } },
        after: { 3_600_000: { actions: assign({ heard: ({ context }) => [...context.heard, 'timer'] }) } },
      },
      left: { entry: 'hear', on: { READY: { actions: 'hear' } }, after: { 1_000: 'end' } },
      end: { type: 'final' },
    },
    output: ({ context }) => context.heard,
  })
  return defineJob({ type: 'hears', machine })
}

test.each<[what: string, events: readonly ('NUM' | 'LEAVE')[], heard: readonly string[]]>([
  ['without events', [], ['timer', 'READY']],
  ['in their order', ['NUM', 'NUM'], ['timer', 'NUM', 'NUM', 'READY']],
  ['and it is not heard if they stop it', ['LEAVE'], ['timer', 'LEAVE']],
])(
  'events and timers that wait come before what a callback sends when it begins again, %s',
  async (_, events, heard) => {
    const at = world()
    const job = sendsAtOnce()
    const before = await at.runtime({ jobs: [job] })
    const { id } = await before.enqueue(job, undefined)
    await at.clock.settle()
    await before.stop({ mode: 'abort', grace: 0 })
    const runtime = at.idle({ jobs: [job] })
    await at.clock.advance('2h')
    for (const type of events) await runtime.send(id, { type })
    await runtime.start()
    await at.clock.advance('2s')
    expect(await (await runtime.job(id))?.result()).toEqual(heard)
  },
)

test('a machine that stops itself is dead: it would be woken for ever by the next event', async () => {
  const at = world()
  const machine = setup({ actions: { stop: ({ self }) => self.stop() } }).createMachine({
    id: 'tired',
    on: { STOP: { actions: 'stop' } },
  })
  const job = defineJob({ type: 'tired', machine, retry: { maxAttempts: 3 } })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined)
  await at.clock.settle()
  await handle.send({ type: 'STOP' })
  await at.clock.settle()
  const { state, error, attempt } = await handle.record()
  expect({ state, message: error?.message, attempt }).toEqual({
    state: 'dead',
    message: 'machine tired was stopped by self.stop(), and has no result',
    attempt: 1,
  })
})

test('what no machine will ever read is refused even then', async () => {
  const at = world()
  const plain = defineJob({ type: 'plain', run: () => 1 })
  const idle = at.idle({ jobs: [order, plain] })
  const other = await idle.enqueue(plain, undefined)
  const job = await idle.enqueue(order, undefined)
  const always = { accept: 'always' } as const
  await expect(idle.send('nobody', { type: 'X' }, always)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(other.send({ type: 'X' } as never, always)).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
  await expect(job.send({ type: 'xstate.done' } as never, always)).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
  await expect(job.send({ type: 'X' } as never, { accept: 'never' as never })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
  })
  for (let i = 0; i < 1_000; i++) await job.send({ type: 'X' } as never, always)
  await expect(job.send({ type: 'X' } as never, always)).rejects.toMatchObject({ code: 'CAPACITY' })
  await job.cancel()
  await expect(job.send({ type: 'X' } as never, always)).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
  await other.cancel()
})

test('an event that comes after the one that ends the machine is dropped with a warning', async () => {
  const at = world()
  const idle = at.idle({ jobs: [order] })
  const job = await idle.enqueue(order, undefined)
  await job.send({ type: 'PAID' }, { accept: 'always' })
  await job.send({ type: 'REFUND' } as never, { accept: 'always' })
  await idle.start()
  await at.clock.settle()
  expect((await job.record()).state).toBe('done')
  expect(at.expectLogged('warn').join()).toContain('an event was dropped: the machine has ended')
})

const poisonous = setup({
  types: { context: {} as { added: number[] }, events: {} as { type: 'ADD'; n: number } },
}).createMachine({
  id: 'sum',
  context: { added: [] },
  initial: 'open',
  states: {
    open: {
      on: {
        ADD: {
          actions: assign({
            added: ({ context, event }) => {
              if (event.n < 0) throw new RangeError(`${event.n} is below zero`)
              return [...context.added, event.n]
            },
          }),
        },
      },
    },
  },
})

test('a message that the machine fails at is told, with how to go on, and can be dropped by a retry', async () => {
  const at = world()
  const job = defineJob({ type: 'sum', machine: poisonous, retry: { maxAttempts: 2, backoff: () => 0 } })
  const runtime = at.idle({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined)
  for (const n of [1, -1, 2]) await handle.send({ type: 'ADD', n }, { accept: 'always' })
  await runtime.start()
  await at.clock.advance('1s')
  const dead = await handle.result().catch((error: unknown) => error)
  expect(dead).toMatchObject({ code: 'DEAD', hint: expect.stringContaining('dropInbox: 1') as string })
  const { logs, inbox } = await handle.record()
  expect(logs.at(-2)?.message).toContain('ADD')
  expect(logs.at(-2)?.message).toContain('message 2')
  expect(logs.at(-1)?.message).toBe('2 events stay in the inbox of the dead job, and a retry delivers them: ADD, ADD')
  // What came before it was read and kept by the second attempt.
  expect(inbox.map(({ number }) => number)).toEqual([2, 3])
  await runtime.retry(handle.id)
  await at.clock.advance('1s')
  expect((await handle.record()).state).toBe('dead')
  await runtime.retry(handle.id, { dropInbox: 1 })
  await at.clock.advance('1s')
  expect((await handle.snapshot()).context).toEqual({ added: [1, 2] })
  await handle.cancel()
})

test.each([[{ dropInbox: -1 }], [{ dropInbox: 1.5 }], [{ dropInbox: 1, from: 'start' as const }]])(
  'retry(%j) is refused',
  async (options) => {
    const at = world()
    const runtime = at.idle({ jobs: [order] })
    await expect(runtime.retry('x', options)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  },
)
