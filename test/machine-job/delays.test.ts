/** Delays are milliseconds or durations as text; any other value fails the attempt, and never fires at once. */
import { defineJob } from 'jobchart'
import { assign, createMachine, enqueueActions, raise, sendTo, setup, type AnyStateMachine } from 'xstate'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

/** The record of a job of this machine, `after` this time. */
async function lived(machine: AnyStateMachine, after: '1s' | '71h' | '73h') {
  const at = world()
  const job = defineJob({ type: 'm', machine, retry: { maxAttempts: 1 } })
  const runtime = await at.runtime({ jobs: [job], lease: '1d' })
  const handle = await runtime.enqueue(job, undefined)
  await at.clock.advance(after)
  return handle.record()
}

const waits = (after: object, delays: object = {}): AnyStateMachine =>
  createMachine(
    { id: 'm', initial: 'a', states: { a: { after: after as never }, b: { type: 'final' } } },
    { delays: delays as never },
  )
const raises = (delay: unknown, delays: object = {}): AnyStateMachine =>
  createMachine(
    {
      id: 'm',
      initial: 'a',
      states: { a: { entry: raise({ type: 'X' }, { delay: delay as never }), on: { X: 'b' } }, b: { type: 'final' } },
    },
    { delays: delays as never },
  )

test.each<[what: string, machine: AnyStateMachine]>([
  ['a key of after', waits({ '3d': 'b' })],
  ['a named delay', waits({ due: 'b' }, { due: '3d' })],
  ['what a named delay gives', waits({ due: 'b' }, { due: () => '3d' })],
  ['the delay of raise', raises('3d')],
  ['what the delay of raise gives', raises(() => '3d')],
])('a duration as text is %s', async (_, machine) => {
  expect((await lived(machine, '71h')).state).toBe('waiting')
  expect((await lived(machine, '73h')).state).toBe('done')
})

test.each<[what: string, gives: unknown, shown: string]>([
  ['NaN', Number.NaN, 'NaN'],
  ['undefined', undefined, 'undefined'],
  ['text that is no duration', 'soon', '"soon"'],
  ['Infinity', Infinity, 'Infinity'],
  ['null', null, 'null'],
])('a delay that gives %s fails the attempt by its name', async (_, gives, shown) => {
  const named = await lived(waits({ due: 'b' }, { due: () => gives }), '1s')
  expect(named.state).toBe('dead')
  expect(named.error?.message).toContain('delays.due')
  expect(named.error?.message).toContain(shown)
  const inline = await lived(
    raises(() => gives),
    '1s',
  )
  expect(inline.state).toBe('dead')
  expect(inline.error?.message).toContain('m.a, entry')
  expect(inline.error?.message).toContain(shown)
})

test('the delay of a sendTo that stands in a named action is held to the same', async () => {
  const machine = setup({
    actions: { later: sendTo(({ self }) => self, { type: 'X' }, { delay: () => Number.NaN }) },
  }).createMachine({ id: 'm', entry: 'later', on: { X: { actions: assign({}) } } })
  const { state, error } = await lived(machine, '1s')
  expect(state).toBe('dead')
  expect(error?.message).toContain('actions.later')
})

test.each([['soon'], [Number.NaN]])('a delay of %s inside enqueueActions fails the attempt', async (delay) => {
  const machine = createMachine({
    id: 'm',
    entry: enqueueActions(({ enqueue }) => enqueue.raise({ type: 'X' }, { delay: (() => delay) as never })),
    on: { X: { actions: assign({}) } },
  })
  const { state, error } = await lived(machine, '1s')
  expect(state).toBe('dead')
  expect(error?.message).toContain('delay')
})

test('a delay below zero is a time that has passed: it is due at once', async () => {
  expect((await lived(waits({ due: 'b' }, { due: () => -5 }), '1s')).state).toBe('done')
})
