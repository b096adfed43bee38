/** What the notes of checkpoints tell: what led to each, also where no state of the machine has changed. */
import { defineJob, fromJob } from 'jobchart'
import { emit, raise, setup } from 'xstate'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

const work = defineJob({ type: 'work', run: async () => 1 })
const inner = setup({ types: { events: {} as { type: 'TICK' } } }).createMachine({
  id: 'inner',
  initial: 'a',
  states: { a: { after: { 1_000: 'b' } }, b: {} },
})

const machine = setup({
  types: { events: {} as { type: 'GO' } | { type: 'LATER' }, emitted: {} as { type: 'TOLD' } },
  actors: { work: fromJob(work, undefined, { delay: '1m' }), inner },
  actions: { tell: emit({ type: 'TOLD' }) },
}).createMachine({
  id: 'm',
  initial: 'first',
  states: {
    first: { entry: 'tell', invoke: { src: 'inner', id: 'clock' }, on: { GO: 'second' } },
    second: { invoke: { src: 'work', id: 'work', onDone: 'third' } },
    third: { on: { LATER: 'end' } },
    end: { type: 'final' },
  },
})
const job = defineJob({ type: 'm', machine })

test('a checkpoint that no state has led to says what it was written for', async () => {
  const at = world()
  const runtime = await at.runtime({ jobs: [job, work] })
  const handle = await runtime.enqueue(job)
  await at.clock.settle()
  await at.clock.advance('1s')
  await handle.send({ type: 'LATER' }, { accept: 'later', keep: '1h' })
  await at.clock.settle()
  await handle.send({ type: 'GO' })
  await at.clock.settle()
  await at.clock.advance('1m')
  await handle.result()
  expect((await handle.checkpoints()).map(({ note }) => note)).toEqual([
    'xstate.init → first',
    'effects carried out',
    'clock: after 1 s',
    'LATER deferred',
    'GO → second',
    'work started',
    'child jobs enqueued',
    'xstate.done.actor.work → third, LATER → end',
  ])
})

test('an event and a timer that lead to no other state are named', async () => {
  const still = setup({
    types: { events: {} as { type: 'TELL' | 'AGAIN' | 'WAIT' } },
    actions: { tell: () => {} },
  }).createMachine({
    id: 'still',
    initial: 'on',
    states: {
      on: {
        on: {
          TELL: { actions: 'tell' },
          AGAIN: { target: 'on', reenter: true },
          WAIT: { actions: raise({ type: 'TELL' }, { delay: 1_000 }) },
        },
        after: { 3_600_000: { actions: 'tell' } },
      },
    },
  })
  const at = world()
  const staying = defineJob({ type: 'still', machine: still })
  const runtime = await at.runtime({ jobs: [staying] })
  const handle = await runtime.enqueue(staying)
  for (const type of ['TELL', 'AGAIN', 'WAIT'] as const) {
    await at.clock.settle()
    await handle.send({ type })
  }
  await at.clock.advance('2h')
  expect((await handle.checkpoints()).map(({ note }) => note)).toEqual([
    'xstate.init → on',
    'TELL taken',
    'effects carried out',
    'AGAIN taken',
    'WAIT taken',
    'TELL',
    'effects carried out',
    'after 1 h',
    'effects carried out',
  ])
})

test('a note is cut after a whole entry', async () => {
  const jumps = setup({ types: { events: {} as { type: `JUMP_OVER_THE_FENCE_${number}` } } }).createMachine({
    id: 'jumps',
    initial: 'up',
    states: { up: { on: { '*': 'down' } }, down: { on: { '*': 'up' } } },
  })
  const at = world()
  const jumping = defineJob({ type: 'jumps', machine: jumps })
  const runtime = at.idle({ jobs: [jumping] })
  const handle = await runtime.enqueue(jumping)
  for (let each = 1; each <= 30; each++) await handle.send({ type: `JUMP_OVER_THE_FENCE_${each}` })
  await runtime.start()
  await at.clock.settle()
  const [first] = await handle.checkpoints()
  expect(first?.note).toMatch(/^xstate\.init → up, (JUMP_OVER_THE_FENCE_\d+ → (up|down), ){5}and 25 more$/)
})
