/** The numbers that the chart of a job has at its transitions. */
import { defineJob, fromJob } from 'jobchart'
import { expect, test } from 'vitest'
import { setup } from 'xstate'
import { toGraph } from '../../src/chart/index.ts'
import { readMarks } from '../../src/chart/marks.ts'
import { checkpointSteps } from '../../src/dashboard/checkpoint-steps.ts'
import { world } from '../support/leaks.ts'

const work = defineJob({ type: 'work', run: async () => {} })

const machine = setup({
  types: { events: {} as { type: 'PACKED' } | { type: 'AGAIN' } | { type: 'mouse.up' } },
  actors: { charge: fromJob(work), reserve: fromJob(work), label: fromJob(work) },
}).createMachine({
  id: 'order',
  initial: 'payment',
  states: {
    payment: { invoke: { src: 'charge', id: 'charge', onDone: 'fulfilment', onError: 'attention' } },
    attention: {},
    fulfilment: {
      type: 'parallel',
      states: {
        stock: {
          initial: 'reserving',
          states: {
            reserving: { invoke: { src: 'reserve', id: 'reserve', onDone: 'reserved' } },
            reserved: { type: 'final' },
          },
        },
        label: {
          initial: 'printing',
          states: {
            printing: { invoke: { src: 'label', id: 'label', onDone: 'printed' } },
            printed: { type: 'final' },
          },
        },
      },
      onDone: 'packing',
    },
    packing: { on: { AGAIN: 'checking', PACKED: 'shipped', 'mouse.*': 'attention' } },
    checking: { always: 'rejected' },
    rejected: {},
    shipped: { type: 'final' },
  },
})

const order = defineJob({ type: 'order', machine })
const graph = toGraph(machine)
/** A state of a checkpoint is only its value here. */
const runner = { viewAt: (state: unknown) => ({ value: state }) as never }

/** The numbers at the transitions, by source and event. */
function numbers(...entries: readonly (readonly [note: string, value: unknown])[]): Record<string, readonly number[]> {
  const kept = entries.map(([note, state], at) => ({ number: at + 1, seq: at + 1, at: 0, note, state: state as never }))
  const { steps } = readMarks(graph, graph, { path: checkpointSteps(kept, runner, graph) })
  return Object.fromEntries([...steps].map(([id, each]) => [id.replace(/:0$/, ''), each]))
}

const fulfilment = { fulfilment: { stock: 'reserving', label: 'printing' } }

test('a transition to parallel states has one number, and each transition of a note its own', () => {
  expect(
    numbers(
      ['xstate.init → payment', 'payment'],
      ['', 'payment'],
      ['xstate.done.actor.charge → fulfilment.(stock.reserving, label.printing)', fulfilment],
      ['', fulfilment],
      [
        'xstate.done.actor.reserve → fulfilment.(stock.reserved, label.printing), xstate.done.actor.label → packing',
        'packing',
      ],
      ['PACKED → shipped', 'shipped'],
    ),
  ).toEqual({
    'order.payment:xstate.done.actor.charge': [1],
    'order.fulfilment.stock.reserving:xstate.done.actor.reserve': [2],
    'order.fulfilment.label.printing:xstate.done.actor.label': [3],
    'order.fulfilment:xstate.done.state.order.fulfilment': [4],
    'order.packing:PACKED': [5],
  })
})

test('a transition that leads on at once is marked with those that follow', () => {
  expect(numbers(['PACKED → packing', 'packing'], ['AGAIN → rejected', 'rejected'])).toEqual({
    'order.packing:AGAIN': [1],
    'order.checking:': [2],
  })
  expect(numbers(['PACKED → packing', 'packing'], ['mouse.up → attention', 'attention'])).toEqual({
    'order.packing:mouse.*': [1],
  })
})

test('a change without an event is marked where one transition leads there', () => {
  const cut = [
    'xstate.done.actor.charge → fulfilment.(stock.reserving, label.printing), and 2 more',
    'packing',
  ] as const
  expect(numbers(['xstate.init → payment', 'payment'], cut)).toEqual({
    'order.payment:xstate.done.actor.charge': [1],
    'order.fulfilment:xstate.done.state.order.fulfilment': [2],
  })
  expect(numbers(['xstate.init → payment', 'payment'], ['', 'attention'])).toEqual({
    'order.payment:xstate.error.actor.charge': [1],
  })
})

test('the notes that a run writes are read', async () => {
  const at = world()
  const runtime = await at.runtime({ jobs: [order, work] })
  const handle = await runtime.enqueue(order)
  await handle.waitFor('packing')
  await handle.send({ type: 'PACKED' })
  await handle.result()
  const steps = checkpointSteps(await runtime.store.checkpoints(handle.id), order.machine!, graph)
  // Which child ends first is left to them.
  expect(new Set(steps.map(({ event }) => event))).toEqual(
    new Set([
      'xstate.done.actor.charge',
      'xstate.done.actor.reserve',
      'xstate.done.actor.label',
      'xstate.done.state.order.fulfilment',
      'PACKED',
    ]),
  )
  expect(steps).toHaveLength(5)
})
