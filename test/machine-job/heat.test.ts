/** How machines go through their charts: transitions taken, and times in states. */
import { defineJob, type ChartHeat } from 'jobchart'
import { toGraph } from 'jobchart/chart'
import { createTestRuntime } from 'jobchart/testing'
import { expect, onTestFinished, test } from 'vitest'
import { createMachine } from 'xstate'

const machine = createMachine({
  id: 'order',
  initial: 'cart',
  on: { NOTE: { actions: () => {} } },
  states: {
    cart: {
      initial: 'empty',
      on: {
        AGAIN: { target: 'cart', reenter: true },
        LOOK: '.looking',
        BUY: [{ guard: () => false, target: 'lost' }, { target: 'paid' }],
        NOTHING: {},
      },
      after: { '2 days': 'lost' },
      states: { empty: {}, looking: {} },
    },
    paid: {
      type: 'parallel',
      onDone: 'sorted',
      states: {
        goods: { initial: 'packing', states: { packing: { on: { PACKED: 'sent' } }, sent: { type: 'final' } } },
        bill: { initial: 'open', states: { open: { on: { 'BILL.*': 'closed' } }, closed: { type: 'final' } } },
      },
    },
    sorted: { always: 'closed' },
    closed: { type: 'final' },
    lost: { type: 'final' },
  },
}).provide({ delays: { '2 days': 2 * 86_400_000 } })

const graph = toGraph(machine)

async function world(version = '1') {
  const order = defineJob({ type: 'order', machine, version })
  const test = await createTestRuntime({ jobs: [order] })
  onTestFinished(() => test.runtime.stop({ mode: 'abort' }).then(() => {}))
  const send = async (id: string, type: string): Promise<void> => {
    await test.runtime.send(id, { type })
    await test.clock.settle()
  }
  return { ...test, order, send }
}

/** Transitions as `cart BUY → paid`, with their numbers. */
function taken({ transitions }: ChartHeat): Record<string, number> {
  return Object.fromEntries(
    transitions.map(({ id, count }) => {
      const found = graph.transitions.find((each) => each.id === id)
      const target = found?.targets.map((each) => each.replace('order.', '')).join() ?? '?'
      return [`${found?.source.replace('order.', '')} ${found?.label}${target && ` → ${target}`}`, count]
    }),
  )
}

const stays = ({ states }: ChartHeat): Record<string, number> =>
  Object.fromEntries(states.map(({ state, count }) => [state, count]))

test('each transition is counted by its id in the graph, and each stay in a state that was left', async () => {
  const { runtime, order, send } = await world()
  const { id } = await runtime.enqueue(order)
  for (const type of ['LOOK', 'LOOK', 'AGAIN', 'NOTE', 'BUY', 'BILL.PAID', 'PACKED']) await send(id, type)
  expect(await (await runtime.job(id))?.result()).toBeUndefined()
  const heat = await runtime.queue('order').heat()
  expect(taken(heat)).toEqual({
    'cart LOOK → cart.looking': 2,
    'cart AGAIN → cart': 1,
    'order NOTE': 1,
    'cart BUY → paid': 1,
    'paid.bill.open BILL.* → paid.bill.closed': 1,
    'paid.goods.packing PACKED → paid.goods.sent': 1,
    'paid done → sorted': 1,
    'sorted  → closed': 1,
  })
  expect(stays(heat)).toEqual({
    cart: 2,
    // First, and after AGAIN.
    'cart.empty': 2,
    'cart.looking': 2,
    paid: 1,
    'paid.goods': 1,
    'paid.goods.packing': 1,
    'paid.goods.sent': 1,
    'paid.bill': 1,
    'paid.bill.open': 1,
    'paid.bill.closed': 1,
    sorted: 1,
  })
  expect(heat).toMatchObject({ type: 'order', period: 'day', version: null, versions: ['1'] })
  expect(heat.transitions.every(({ lastId }) => lastId === id)).toBe(true)
})

test('the time in a state is counted from its entry, over checkpoints and restarts of the machine', async () => {
  const { runtime, order, send, clock } = await world()
  const { id } = await runtime.enqueue(order)
  await clock.settle()
  await clock.advance('1h')
  await send(id, 'LOOK')
  await clock.advance('1h')
  await send(id, 'NOTE')
  await clock.advance('1h')
  await send(id, 'BUY')
  const { states } = await runtime.queue('order').heat()
  expect(states).toEqual(
    [
      ['cart', about(3)],
      ['cart.empty', about(1)],
      ['cart.looking', about(2)],
    ].map(([state, ms]) => ({ state, count: 1, p50Ms: ms, p95Ms: ms, p99Ms: ms })),
  )
})

/** Times are exact to a fifth. */
const about = (hours: number): unknown =>
  expect.toSatisfy((ms: number) => ms >= hours * 3_600_000 * 0.8 && ms <= hours * 3_600_000 * 1.2)

test('quantiles are of all stays', async () => {
  const { runtime, order, send, clock } = await world()
  const ids = await Promise.all(Array.from({ length: 100 }, async () => (await runtime.enqueue(order)).id))
  await clock.settle()
  await clock.advance('1h')
  for (const id of ids.slice(0, 90)) await send(id, 'LOOK')
  await clock.advance('9h')
  for (const id of ids.slice(90)) await send(id, 'LOOK')
  const { states } = await runtime.queue('order').heat()
  expect(states).toEqual([{ state: 'cart.empty', count: 100, p50Ms: about(1), p95Ms: about(10), p99Ms: about(10) }])
})

test('a delayed transition is counted when it fires, and a machine that starts again goes on', async () => {
  const { runtime, order, clock } = await world()
  const { id } = await runtime.enqueue(order)
  await clock.settle()
  await clock.advance('3d')
  await (await runtime.job(id))?.result()
  const heat = await runtime.queue('order').heat({ period: 'week' })
  expect(taken(heat)).toEqual({ 'cart after 2 days → lost': 1 })
  expect(heat.states.map(({ state, p50Ms }) => [state, p50Ms])).toEqual([
    ['cart', about(48)],
    ['cart.empty', about(48)],
  ])
})

test('a fork counts what it does, not what was before', async () => {
  const { runtime, order, send, clock } = await world()
  const { id } = await runtime.enqueue(order)
  await clock.settle()
  await clock.advance('1h')
  const [checkpoint] = await runtime.store.checkpoints(id)
  const fork = await runtime.fork(id, checkpoint?.seq ?? 0)
  await clock.settle()
  await send(fork.id, 'BUY')
  const heat = await runtime.queue('order').heat()
  expect(taken(heat)).toEqual({ 'cart BUY → paid': 1 })
  expect(stays(heat)).toEqual({})
})

test('versions are counted apart, and together', async () => {
  const { runtime, order, send } = await world('1')
  const { id } = await runtime.enqueue(order)
  await send(id, 'BUY')
  const heat = await runtime.queue('order').heat({ version: '1' })
  expect([heat.version, heat.versions, taken(heat)]).toEqual(['1', ['1'], { 'cart BUY → paid': 1 }])
  const other = await runtime.queue('order').heat({ version: '2' })
  expect([other.version, other.versions, taken(other)]).toEqual(['2', ['1'], {}])
  await expect(runtime.queue('order').heat({ period: 'month' as 'week' })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
  })
})
