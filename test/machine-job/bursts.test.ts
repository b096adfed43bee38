/** Many messages or timers at once: more than one checkpoint can hold the effects of. */
import { constant, defineJob } from 'jobchart'
import { assign, enqueueActions, setup } from 'xstate'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

type Event = { type: 'COUNT' | 'LATER'; data?: unknown } | { type: 'WAIT'; times: number } | { type: 'END' }

/** A machine that counts in a context of this length, with an action for each event. */
function counting(chars: number) {
  const did: number[] = []
  const machine = setup({
    types: { context: {} as { n: number; text: string }, events: {} as Event },
    actions: {
      add: assign({ n: ({ context }) => context.n + 1 }),
      note: ({ context }) => void did.push(context.n),
      wait: enqueueActions(({ enqueue, event }) => {
        const times = event.type === 'WAIT' ? event.times : 0
        for (let i = 1; i <= times; i++) enqueue.raise({ type: 'COUNT' }, { delay: i })
      }),
    },
  }).createMachine({
    context: { n: 0, text: 'x'.repeat(chars) },
    on: { COUNT: { actions: ['add', 'note'] }, WAIT: { actions: 'wait' }, END: '.end' },
    initial: 'early',
    states: {
      early: { after: { '1h': 'late' } },
      late: { on: { LATER: { actions: ['add', 'note'] } } },
      end: { type: 'final' },
    },
    output: ({ context }) => context.n,
  })
  return { did, job: defineJob({ type: 'counting', machine, retry: { maxAttempts: 1 } }) }
}

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1)

test('messages whose effects are more than a checkpoint holds are read in several', async () => {
  const at = world()
  const { did, job } = counting(100_000)
  const runtime = at.idle({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined)
  for (let i = 0; i < 200; i++) await handle.send({ type: 'COUNT' }, { accept: 'always' })
  await handle.send({ type: 'END' }, { accept: 'always' })
  await runtime.start()
  await at.clock.settle()
  expect(await handle.record()).toMatchObject({ state: 'done', output: 200 })
  expect(did).toEqual(upTo(200))
  // As few checkpoints as 1 MiB each allows, not one for each message.
  expect((await handle.checkpoints()).at(-1)?.number).toBeLessThan(100)
})

test('large events, too', async () => {
  const at = world()
  const { did, job } = counting(1)
  const runtime = at.idle({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined)
  const data = 'x'.repeat(1_000_000)
  for (let i = 0; i < 20; i++) await handle.send({ type: 'COUNT', data }, { accept: 'always' })
  await runtime.start()
  await at.clock.settle()
  expect(await handle.record()).toMatchObject({ state: 'waiting', error: null, inbox: [] })
  expect(did).toEqual(upTo(20))
})

test('timers that are due after a long absence fire in several checkpoints, before messages that came later', async () => {
  const at = world()
  const { did, job } = counting(100_000)
  const first = await at.runtime({ jobs: [job] })
  const handle = await first.enqueue(job, undefined)
  await handle.send({ type: 'WAIT', times: 200 })
  await first.stop()
  await at.clock.advance('1m')
  const second = at.idle({ jobs: [job] })
  await second.send(handle.id, { type: 'END' }, { accept: 'always' })
  await second.start()
  await at.clock.settle()
  expect(await (await second.job(handle.id))?.record()).toMatchObject({ state: 'done', output: 200 })
  expect(did).toEqual(upTo(200))
})

test('deferred events that a state takes together are taken in several checkpoints', async () => {
  const at = world()
  const { did, job } = counting(100_000)
  const runtime = await at.runtime({ jobs: [job], lease: '1d' })
  const handle = await runtime.enqueue(job, undefined)
  for (let i = 0; i < 200; i++) await handle.send({ type: 'LATER' }, { accept: 'later' })
  await at.clock.advance('2h')
  expect(await handle.record()).toMatchObject({ state: 'waiting', machineStates: ['late'], error: null, inbox: [] })
  expect(did).toEqual(upTo(200))
})

test('an event of a hundred levels, which is accepted, has its place in the outbox', async () => {
  const at = world()
  const { did, job } = counting(1)
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined)
  let data: unknown = 'deep'
  for (let level = 1; level < 100; level++) data = { data }
  await handle.send({ type: 'COUNT', data })
  await at.clock.settle()
  expect(await handle.record()).toMatchObject({ state: 'waiting', error: null, inbox: [] })
  expect(did).toEqual([1])
})

test('after a failed attempt a message is still read before a timer that was due after it', async () => {
  const at = world()
  let failures = 1
  const machine = setup({
    types: { context: {} as { got: string[] }, events: {} as { type: 'A' } | { type: 'B' } },
    actions: {
      keep: assign({
        got: ({ context, event }) => {
          if (failures-- > 0) throw new Error('not yet')
          return [...context.got, event.type]
        },
      }),
    },
  }).createMachine({
    id: 'order',
    context: { got: [] },
    initial: 'on',
    states: {
      on: {
        on: { A: { actions: 'keep' }, B: { actions: 'keep' } },
        after: { '1m': { target: 'end', actions: 'keep' } },
      },
      end: { type: 'final' },
    },
    output: ({ context }) => context.got,
  })
  const job = defineJob({ type: 'order', machine, retry: { maxAttempts: 2, backoff: constant('1s') } })
  const first = await at.runtime({ jobs: [job] })
  const handle = await first.enqueue(job, undefined)
  await at.clock.settle()
  await first.stop()
  const second = at.idle({ jobs: [job] })
  await at.clock.advance('10s')
  for (const type of ['A', 'B']) await second.send(handle.id, { type }, { accept: 'always' })
  await at.clock.advance('1h')
  await second.start()
  await at.clock.advance('1m')
  expect(await (await second.job(handle.id))?.record()).toMatchObject({
    state: 'done',
    output: ['A', 'B', 'xstate.after.1m.order.on'],
  })
})
