/** Events that come before their state: kept until a state takes them; and events that are dropped: the job says so. */
import { createClient, defineJob, type JobHandle } from 'jobchart'
import { assign, fromPromise, setup } from 'xstate'
import { describe, expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

type Event =
  { type: 'NEXT' } | { type: 'PAID'; n: number } | { type: 'SHIPPED'; n: number } | { type: 'END' } | { type: 'NOBODY' }

/** Takes NEXT, then PAID, then SHIPPED, each in a state of its own, and writes down what it got. */
const chart = setup({
  types: { context: {} as { got: string[] }, events: {} as Event },
  actions: { note: assign({ got: ({ context, event }) => [...context.got, JSON.stringify(event)] }) },
}).createMachine({
  id: 'order',
  context: { got: [] },
  initial: 'open',
  states: {
    open: { on: { NEXT: 'unpaid' }, after: { '3d': 'unpaid' } },
    unpaid: { on: { PAID: { target: 'packed', actions: 'note' } } },
    packed: { on: { SHIPPED: { actions: 'note' }, END: 'end' } },
    end: { type: 'final' },
  },
  output: ({ context }) => context.got.length,
})

const order = defineJob({ type: 'order', machine: chart })

type Order = JobHandle<unknown, { event: Event; value: unknown; context: { got: string[] }; tag: string }>

async function begin(job = order) {
  const at = world()
  const runtime = await at.runtime({ jobs: [job] })
  const handle = (await runtime.enqueue(job)) as unknown as Order
  await at.clock.settle()
  return { at, runtime, handle }
}

const got = async (handle: Order): Promise<string[]> => {
  const { context } = await handle.snapshot()
  return context.got.map((text) => {
    const { type, n } = JSON.parse(text) as { type: string; n: number }
    return `${type} ${n}`
  })
}

const lastLog = async (handle: Order): Promise<string> => (await handle.record()).logs.at(-1)?.message ?? ''

const claims = async (handle: Order): Promise<number> =>
  (await handle.record()).history.filter(({ event }) => event === 'CLAIM').length

test('an event that comes too early waits in the inbox, takes no slot, and is taken by the state that takes it', async () => {
  const { at, runtime, handle } = await begin()
  await handle.send({ type: 'PAID', n: 1 }, { accept: 'later', key: 'paid' })
  await at.clock.advance('1h')
  const record = await handle.record()
  expect(record).toMatchObject({ state: 'waiting', machineStates: ['open'], deferred: [1] })
  expect(record.inbox).toMatchObject([{ number: 1, message: { event: { type: 'PAID', n: 1 }, key: 'paid' } }])
  expect(await claims(handle)).toBe(2)
  expect((await runtime.workers())[0]?.running).toEqual([])
  // A redelivery is the same event.
  await handle.send({ type: 'PAID', n: 1 }, { accept: 'later', key: 'paid' })
  expect((await handle.record()).lastMessageNumber).toBe(1)
  await at.clock.advance('1d')
  expect(await claims(handle)).toBe(2)
  await handle.send({ type: 'NEXT' })
  await at.clock.settle()
  expect([await got(handle), (await handle.record()).deferred]).toEqual([['PAID 1'], []])
  expect((await handle.record()).logs).toEqual([])
})

test('deferred events are tried in the order of their arrival after each step, before messages that came later', async () => {
  const { at, handle } = await begin()
  for (const n of [1, 2]) await handle.send({ type: 'SHIPPED', n }, { accept: 'later' })
  await handle.send({ type: 'PAID', n: 3 }, { accept: 'later' })
  await at.clock.settle()
  expect((await handle.record()).deferred).toEqual([1, 2, 3])
  await Promise.all([handle.send({ type: 'NEXT' }), handle.send({ type: 'SHIPPED', n: 4 }, { accept: 'later' })])
  await at.clock.settle()
  expect(await got(handle)).toEqual(['PAID 3', 'SHIPPED 1', 'SHIPPED 2', 'SHIPPED 4'])
})

test('a timer leads to the state that takes it, also when nobody ran meanwhile', async () => {
  const { at, runtime, handle } = await begin()
  await handle.send({ type: 'PAID', n: 1 }, { accept: 'later' })
  await at.clock.settle()
  const stopping = runtime.stop()
  await at.clock.advance('5d')
  await stopping
  await at.runtime({ jobs: [order] })
  await at.clock.advance('1s')
  const client = createClient({ store: at.store, jobs: [order], clock: at.clock })
  expect((await client.job(order, handle.id)) !== null).toBe(true)
  expect(await got((await client.job(order, handle.id)) as unknown as Order)).toEqual(['PAID 1'])
  await client.close()
})

test('what a job takes next is foreseen with the events that wait', async () => {
  const { at, handle } = await begin()
  await handle.send({ type: 'PAID', n: 1 }, { accept: 'later' })
  await at.clock.settle()
  expect(await handle.can({ type: 'SHIPPED', n: 2 })).toBe(false)
  const [, can] = await Promise.all([handle.send({ type: 'NEXT' }), handle.can({ type: 'END' })])
  expect(can).toBe(false)
  expect(await handle.can({ type: 'END' })).toBe(true)
  await handle.send({ type: 'SHIPPED', n: 2 })
  await at.clock.settle()
  expect(await got(handle)).toEqual(['PAID 1', 'SHIPPED 2'])
})

describe('dropped', () => {
  test('an event that no state takes in time is dropped with a line, and may be sent again under its key', async () => {
    const { at, handle } = await begin()
    await handle.send({ type: 'PAID', n: 1 }, { accept: 'later', keep: '2h', key: 'paid' })
    await handle.send({ type: 'SHIPPED', n: 1 }, { accept: 'later' })
    await at.clock.advance('1h')
    expect((await handle.record()).deferred).toEqual([1, 2])
    await at.clock.advance('61m')
    expect((await handle.record()).deferred).toEqual([2])
    expect(await lastLog(handle)).toBe('an event was dropped: no state took it in the time that it was kept: PAID')
    expect(at.expectLogged('warn').length).toBe(1)
    await handle.send({ type: 'PAID', n: 2 }, { accept: 'later', key: 'paid' })
    await handle.send({ type: 'NEXT' })
    await at.clock.settle()
    expect(await got(handle)).toEqual(['PAID 2', 'SHIPPED 1'])
  })

  test('without a time of its own an event is kept seven days', async () => {
    const { at, handle } = await begin(
      defineJob({ type: 'order', machine: setup({}).createMachine({ initial: 'on', states: { on: {} } }) }) as never,
    )
    await handle.send({ type: 'NOBODY' }, { accept: 'later' })
    await at.clock.advance('167h')
    expect((await handle.record()).deferred).toEqual([1])
    await at.clock.advance('2h')
    expect((await handle.record()).inbox).toEqual([])
    expect(at.expectLogged('warn').length).toBe(1)
  })

  test('an event sent always, one state too early, leaves a line, and its redelivery works', async () => {
    const { at, handle } = await begin()
    await handle.send({ type: 'PAID', n: 1 }, { accept: 'always', key: 'paid' })
    await at.clock.settle()
    expect(await lastLog(handle)).toMatch(/an event was dropped: .* does not take it: PAID/)
    expect(at.expectLogged('warn').length).toBe(1)
    await handle.send({ type: 'NEXT' })
    await handle.send({ type: 'PAID', n: 2 }, { accept: 'always', key: 'paid' })
    await at.clock.settle()
    expect(await got(handle)).toEqual(['PAID 2'])
  })

  test('the end of the machine drops what waits, with a line', async () => {
    const { at, handle } = await begin()
    await handle.send({ type: 'NOBODY' }, { accept: 'later' })
    for (const event of [{ type: 'NEXT' }, { type: 'PAID', n: 1 }, { type: 'END' }] as const) await handle.send(event)
    await handle.result()
    expect(await lastLog(handle)).toBe('an event was dropped: the machine has ended: NOBODY')
    expect((await handle.record()).inbox).toEqual([])
    expect(at.expectLogged('warn').length).toBe(1)
  })

  test('a deferred event that makes the machine fail is named, and a retry drops it by its number', async () => {
    const poisonous = setup({
      types: { context: {} as { n: number }, events: {} as Event },
      actions: {
        add: assign({
          n: ({ context, event }) => {
            if (!('n' in event) || event.n < 0) throw new Error('poison')
            return context.n + event.n
          },
        }),
      },
    }).createMachine({
      context: { n: 0 },
      initial: 'open',
      states: { open: { on: { NEXT: 'unpaid' } }, unpaid: { on: { PAID: { actions: 'add' } } } },
    })
    const job = defineJob({ type: 'order', machine: poisonous, retry: { maxAttempts: 1 } })
    const { at, runtime, handle } = await begin(job as never)
    for (const n of [1, -1, 4]) await handle.send({ type: 'PAID', n }, { accept: 'later' })
    await at.clock.settle()
    await handle.send({ type: 'NEXT' })
    await at.clock.settle()
    const record = await handle.record()
    expect(record.state).toBe('dead')
    expect(record.logs.map(({ message }) => message)).toContainEqual(expect.stringContaining('{ dropInbox: [2] }'))
    expect(record.deferred).toEqual([1, 2, 3])
    await runtime.retry(handle.id, { dropInbox: [2] })
    await at.clock.settle()
    expect((await handle.snapshot()).context).toEqual({ n: 5 })
  })
})

test('parallel states: an event is taken as soon as one of them takes it, after an actor has ended, too', async () => {
  const at = world()
  const machine = setup({
    types: { context: {} as { got: string[] }, events: {} as Event },
    actors: { load: fromPromise(({ signal }) => at.clock.sleep('10s', signal)) },
    actions: { note: assign({ got: ({ context, event }) => [...context.got, JSON.stringify(event)] }) },
  }).createMachine({
    context: { got: [] },
    type: 'parallel',
    states: {
      a: { initial: 'on', states: { on: { on: { PAID: { actions: 'note' } } } } },
      b: {
        initial: 'loading',
        states: {
          loading: { invoke: { src: 'load', onDone: 'ready' } },
          ready: { on: { SHIPPED: { actions: 'note' } } },
        },
      },
    },
  })
  const job = defineJob({ type: 'parallel', machine })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = (await runtime.enqueue(job)) as unknown as Order
  await at.clock.advance('1s')
  await handle.send({ type: 'SHIPPED', n: 1 }, { accept: 'later' })
  await handle.send({ type: 'PAID', n: 2 }, { accept: 'later' })
  await at.clock.advance('1s')
  expect((await handle.record()).inbox.map(({ number }) => number)).toEqual([1])
  await at.clock.advance('10s')
  expect(await got(handle)).toEqual(['PAID 2', 'SHIPPED 1'])
})

test('a fork takes none of the events that wait', async () => {
  const { at, handle } = await begin()
  await handle.send({ type: 'PAID', n: 1 }, { accept: 'later' })
  await at.clock.settle()
  const fork = (await handle.fork((await handle.checkpoints()).at(-1)?.seq ?? 0)) as unknown as Order
  await at.clock.settle()
  await fork.send({ type: 'NEXT' })
  await at.clock.settle()
  expect([(await fork.snapshot()).value, (await fork.record()).inbox]).toEqual(['unpaid', []])
})

describe('a deployment', () => {
  const versionOf = (extra: boolean, version = '1') =>
    defineJob({
      type: 'order',
      version,
      machine: setup({ types: { events: {} as Event } }).createMachine({
        id: 'order',
        initial: 'open',
        states: { open: { on: { NEXT: 'end', ...(extra && { NOBODY: 'end' }) } }, end: { type: 'final' } },
      }),
    })
  const [older, newer] = [versionOf(false), versionOf(true)]

  async function deploying() {
    const at = world()
    const worker = await at.runtime({ jobs: [older] })
    const { id } = await worker.enqueue(older)
    await at.clock.settle()
    const web = at.idle({ jobs: [newer] })
    const record = async () => (await worker.store.get([id]))[0]
    const stop = async () => {
      const stopped = worker.stop()
      await at.clock.advance('1s')
      await stopped
    }
    return { at, worker, web, id, record, stop }
  }

  test('an event that no live worker knows is refused, with the reason', async () => {
    const { web, id, record } = await deploying()
    expect(await web.send(id, { type: 'NOBODY' }).catch((error: unknown) => error)).toMatchObject({
      code: 'NOT_ACCEPTED',
      message: expect.stringContaining('no worker knows this event yet'),
      hint: expect.stringContaining("accept: 'later'"),
    })
    expect((await record())?.inbox).toEqual([])
    // What both know is accepted.
    await web.send(id, { type: 'NEXT' })
  })

  test('an event that was accepted is kept by an older worker for a newer one, which looks for it', async () => {
    const { at, web, id, record, stop } = await deploying()
    await web.store.open({ clock: at.clock })
    await stop()
    await web.send(id, { type: 'NOBODY' })
    const old = await at.runtime({ jobs: [older] })
    await at.clock.advance('10s')
    expect(await record()).toMatchObject({ state: 'waiting', deferred: [1], logs: [] })
    await at.runtime({ jobs: [newer] })
    await old.pause()
    await at.clock.advance('2m')
    expect((await record())?.state).toBe('done')
    await web.store.close()
  })

  test('a version that the sender lists judges, and the refusal names the one that knows the event', async () => {
    const { at, id, record } = await deploying()
    const web = at.idle({ jobs: [older, versionOf(true, '2')] })
    expect(await web.send(id, { type: 'NOBODY' }).catch((error: unknown) => error)).toMatchObject({
      code: 'NOT_ACCEPTED',
      hint: expect.stringContaining('The job is at version 1 of its machine; version 2 knows NOBODY.'),
    })
    expect((await record())?.inbox).toEqual([])
  })
})

test('bad options are refused at the door', async () => {
  const { handle } = await begin()
  for (const options of [
    { keep: '1h' },
    { accept: 'always', keep: '1h' },
    { accept: 'later', keep: 0 },
    { accept: 'later', keep: 'long' },
    { accept: 'sometimes' },
  ]) {
    await expect(handle.send({ type: 'NEXT' }, options as never)).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  }
  for (const dropInbox of [[0], ['1'], -1, Array.from({ length: 1_001 }, (_, i) => i + 1)]) {
    await expect(handle.retry({ dropInbox: dropInbox as never })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  }
})
