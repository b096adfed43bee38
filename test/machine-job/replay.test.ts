/**
 * Recorded lives: what happened to jobs happens again to changed charts, in virtual time, and what would have gone
 * another way is said.
 */
import { defineJob, durable, fromJob, type JobDefinition, type Migrate } from 'jobchart'
import { recordLives, replayLives, type RecordedLife } from 'jobchart/testing'
import { assign, createMachine, fromCallback, fromPromise, setup, type AnyStateMachine } from 'xstate'
import { expect, test } from 'vitest'
import { world, type World } from '../support/leaks.ts'

interface Context {
  readonly total: number
}

const events = {} as { type: 'PAY'; amount: number } | { type: 'CLOSE' }

interface Chart {
  readonly limit?: number
  readonly delay?: string
  readonly name?: string
  readonly calls?: string[]
}

/** An order: it is paid for, above a limit it is looked at, and it is closed after an hour. */
const orderOf = ({ limit = 100, delay = '1h', name = 'open', calls = [] }: Chart = {}): AnyStateMachine =>
  setup({
    types: { context: {} as Context, events, input: {} as { total?: number } },
    actors: {
      book: fromPromise(async () => {
        calls.push('book')
        return { amount: 7 }
      }),
    },
  }).createMachine({
    id: 'order',
    context: ({ input }: { input: { total?: number } }) => ({ total: input.total ?? 0 }),
    initial: name,
    states: {
      [name]: {
        on: {
          PAY: [
            { guard: ({ event }: { event: { amount: number } }) => event.amount > limit, target: 'checking' },
            { target: 'booking', actions: assign({ total: ({ context, event }) => context.total + event.amount }) },
          ],
          CLOSE: 'closed',
        },
        after: { [delay]: 'closed' },
      },
      checking: { on: { CLOSE: 'closed' } },
      booking: {
        invoke: {
          src: 'book',
          onDone: {
            target: name,
            actions: assign({ total: ({ context, event }) => context.total + event.output.amount }),
          },
        },
      },
      closed: { type: 'final' },
    },
  } as never) as unknown as AnyStateMachine

const define = (machine: AnyStateMachine, version = '1', migrate?: Migrate): JobDefinition<{ total?: number }> =>
  defineJob({ type: 'order', machine, version, ...(migrate && { migrate }) }) as JobDefinition<{ total?: number }>

const order = define(orderOf())

/** The life of an order that is paid for twice, above 50 the second time, and closed after an hour. */
async function lived(at: World, job = order): Promise<readonly RecordedLife[]> {
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job, { total: 1 }, { id: 'a' })
  for (const amount of [20, 70]) {
    await at.clock.advance('10m')
    await handle.send({ type: 'PAY', amount } as never)
    await at.clock.settle()
  }
  await at.clock.advance('2h')
  await handle.result()
  return structuredClone(await recordLives(runtime, ['order']))
}

test('a life is lived again by the same machine, with its events, timers and the answers of its actors, and nothing is executed', async () => {
  const lives = await lived(world())
  const calls: string[] = []
  const report = await replayLives([define(orderOf({ calls }))], JSON.parse(JSON.stringify(lives)) as RecordedLife[])
  expect(report).toMatchObject({ lives: 1, skipped: 0, diverged: [], unknownTypes: [] })
  expect(report.reached).toBe(lives[0]?.checkpoints.length)
  expect(calls).toEqual([])
})

test('a guard that decides otherwise is found, with the job, the checkpoint, the event, and both states', async () => {
  const lives = await lived(world())
  const { diverged } = await replayLives([define(orderOf({ limit: 50 }))], lives)
  const [first] = diverged
  expect(diverged).toHaveLength(1)
  expect(first).toMatchObject({
    id: 'a',
    type: 'order',
    events: ['PAY'],
    expected: ['booking'],
    reached: ['checking'],
    reason: null,
  })
  expect(lives[0]?.checkpoints.find(({ number }) => number === first?.checkpoint)?.note).toBe('PAY → booking')
})

test('a delay that would have come before an event is found at that event', async () => {
  const { diverged } = await replayLives([define(orderOf({ delay: '5m' }))], await lived(world()))
  expect(diverged).toMatchObject([{ events: ['PAY'], expected: ['booking'], reached: ['closed'] }])
})

test('a state that migrate renames is the same state', async () => {
  const renames: Migrate = (snapshot, _, { timers }) => {
    const { value, ...rest } = snapshot as { value: string }
    return {
      snapshot: { ...rest, value: value === 'open' ? 'waiting' : value },
      timers: timers.map((timer) => ({ ...timer, state: 'order.waiting' })),
    }
  }
  const lives = await lived(world())
  expect((await replayLives([define(orderOf({ name: 'waiting' }), '2', renames)], lives)).diverged).toEqual([])
  const [lost] = (await replayLives([define(orderOf({ name: 'waiting' }), '2')], lives)).diverged
  expect(lost).toMatchObject({ checkpoint: 1, expected: ['open'], reached: ['waiting'] })
})

test('a life of which the first checkpoints are gone is lived from the first one that is kept', async () => {
  const [life] = await lived(world())
  const later = { ...(life as RecordedLife), checkpoints: life?.checkpoints.slice(3) ?? [] }
  const report = await replayLives([order], [later])
  expect(report).toMatchObject({ reached: later.checkpoints.length - 1, skipped: 0, diverged: [] })
  const gone = define(createMachine({ id: 'order', initial: 'other', states: { other: {} } }))
  expect((await replayLives([gone], [later])).diverged).toMatchObject([
    { checkpoint: later.checkpoints[0]?.number, reason: expect.stringContaining('is gone') as string },
  ])
})

test('a checkpoint whose events are too many to keep is skipped', async () => {
  const at = world()
  const runtime = await at.runtime({ jobs: [order] })
  const handle = await runtime.enqueue(order, {}, { id: 'a' })
  await at.clock.settle()
  await handle.send({ type: 'PAY', amount: 1, note: 'x'.repeat(20_000) } as never)
  await at.clock.settle()
  await handle.send({ type: 'CLOSE' } as never)
  await handle.result()
  expect(await replayLives([order], await recordLives(runtime, ['order']))).toMatchObject({ skipped: 1, diverged: [] })
})

test('what a machine throws is the reason', async () => {
  const lives = await lived(world())
  const refused = setup({ types: { events } }).createMachine({
    id: 'order',
    initial: 'open',
    states: {
      open: {
        on: {
          PAY: {
            guard: () => {
              throw new RangeError('no such thing')
            },
            target: 'open',
          },
        },
      },
    },
  })
  expect((await replayLives([define(refused)], lives)).diverged[0]?.reason).toContain('no such thing')
})

test('lives of types that are not defined are named', async () => {
  expect(await replayLives([], await lived(world()))).toMatchObject({ lives: 0, unknownTypes: ['order'] })
})

const child = defineJob<{ n: number }, number>({ type: 'child', run: ({ n }) => n * 2 })

const kid = setup({ types: { input: {} as { n: number } } }).createMachine({
  id: 'kid',
  initial: 'waiting',
  states: { waiting: { after: { '1m': 'over' } }, over: { type: 'final' } },
})

const everything = setup({
  actors: {
    child: fromJob(child),
    kid,
    charge: durable(async ({ attempt }) => {
      if (attempt < 2) throw new Error('not yet')
      return attempt
    }),
    ticks: fromCallback(({ sendBack }) => {
      sendBack({ type: 'TICK' })
    }),
  },
}).createMachine({
  id: 'order',
  type: 'parallel',
  states: {
    a: {
      initial: 'asking',
      states: {
        asking: { invoke: { src: 'child', input: { n: 2 }, onDone: 'charging' } },
        charging: { invoke: { src: 'charge', onDone: 'done' } },
        done: { type: 'final' },
      },
    },
    b: {
      initial: 'waiting',
      states: { waiting: { invoke: { src: 'kid', input: { n: 1 }, onDone: 'done' } }, done: { type: 'final' } },
    },
    c: {
      initial: 'ticking',
      states: { ticking: { invoke: { src: 'ticks' }, on: { TICK: 'done' } }, done: { type: 'final' } },
    },
  },
})

test('child jobs, child machines, durable promises and callbacks are lived again from what they have sent', async () => {
  const at = world()
  const job = defineJob({ type: 'order', machine: everything })
  const runtime = await at.runtime({ jobs: [job, child] })
  const handle = await runtime.enqueue(job, undefined)
  await at.clock.advance('5m')
  await handle.result()
  const lives = await recordLives(runtime, ['order'])
  const report = await replayLives([job], lives)
  expect(report).toMatchObject({ lives: 1, skipped: 0, diverged: [] })
  expect(report.reached).toBe(lives[0]?.checkpoints.length)
})

test('a life that went through restarts and waits, with timers and messages that came late, is the same', async () => {
  const at = world()
  const first = await at.runtime({ jobs: [order] })
  const { id } = await first.enqueue(order, {}, { id: 'a' })
  await at.clock.settle()
  await first.stop()
  const idle = at.idle({ jobs: [order] })
  await at.clock.advance('59m')
  await idle.send(id, { type: 'PAY', amount: 5 } as never)
  // The timer is due now, too: the message came before it.
  await at.clock.advance('10m')
  await idle.start()
  await at.clock.advance('2h')
  const lives = await recordLives(idle, ['order'])
  expect(lives[0]?.checkpoints.at(-1)?.note).toContain('closed')
  expect((await replayLives([order], lives)).diverged).toEqual([])
})
