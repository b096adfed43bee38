/**
 * Machines within machines, killed at every write: invoked and spawned, told and telling, with timers and actions of
 * their own.
 */
import { defineJob } from 'jobchart'
import {
  assign,
  emit,
  fromPromise,
  sendParent,
  sendTo,
  setup,
  spawnChild,
  type ActorRefFrom,
  type DoneActorEvent,
  type AnyActorRef,
} from 'xstate'
import { expect, test } from 'vitest'
import type { Teller } from './support/lives.ts'
import { begunIn, didIn, emittedIn, prove } from './support/prove.ts'

const working = (tell: Teller) =>
  fromPromise<string, string>(async ({ input, self }) => {
    tell.begun(self)
    await tell.clock.sleep('1s')
    return input.toUpperCase()
  })

/** Works, rests a while, and ends with what it has. */
const child = (tell: Teller) =>
  setup({
    types: { context: {} as { name: string; got: string }, input: {} as { name: string } },
    actions: { childDid: (_, { what }: { what: string }) => tell.did(`childDid ${what}`) },
    actors: { work: working(tell) },
  }).createMachine({
    id: 'child',
    context: ({ input }) => ({ name: input.name, got: '' }),
    initial: 'working',
    states: {
      working: {
        entry: { type: 'childDid', params: ({ context }) => ({ what: `work ${context.name}` }) },
        invoke: {
          id: 'work',
          src: 'work',
          input: ({ context }) => context.name,
          onDone: { target: 'resting', actions: assign({ got: ({ event }) => event.output }) },
        },
      },
      resting: { after: { 5_000: 'end' } },
      end: { type: 'final', entry: { type: 'childDid', params: ({ context }) => ({ what: `end ${context.name}` }) } },
    },
    output: ({ context }) => context.got,
  })

test('an invoked machine lives in its parent', async () => {
  const { output, told } = await prove({
    jobs: (tell) => [
      defineJob({
        type: 'invoked',
        retry: { maxAttempts: 9 },
        machine: setup({
          types: { context: {} as { got: string } },
          actors: { child: child(tell) },
        }).createMachine({
          context: { got: '' },
          initial: 'waiting',
          states: {
            waiting: {
              invoke: {
                id: 'kid',
                src: 'child',
                input: { name: 'a' },
                onDone: { target: 'end', actions: assign({ got: ({ event }) => event.output as string }) },
              },
            },
            end: { type: 'final' },
          },
          output: ({ context }) => context.got,
        }),
      }),
    ],
  })
  expect(output).toBe('A')
  expect(begunIn(told)).toEqual(['kid/1/work/1'])
  expect(didIn(told)).toEqual(['childDid work a', 'childDid end a'])
})

test('machines are spawned by name, with an id and without one, and each goes on by itself', async () => {
  const { output, told } = await prove({
    jobs: (tell) => [
      defineJob({
        type: 'spawned',
        retry: { maxAttempts: 9 },
        machine: setup({
          types: {
            context: {} as { refs: AnyActorRef[]; got: string[] },
            events: {} as DoneActorEvent<string>,
          },
          actions: { refsDid: ({ context }) => tell.did(`refsDid ${context.refs.map(({ id }) => id).join()}`) },
          actors: { child: child(tell) },
        }).createMachine({
          context: { refs: [], got: [] },
          entry: [
            assign({ refs: ({ spawn }) => ['a', 'c'].map((name) => spawn('child', { input: { name } })) }),
            'refsDid',
            spawnChild('child', { id: 'b', input: { name: 'b' } }),
          ],
          initial: 'waiting',
          states: { waiting: {}, end: { type: 'final' } },
          on: {
            'xstate.done.actor.*': {
              actions: assign({ got: ({ context, event }) => [...context.got, event.output].toSorted() }),
            },
          },
          always: { guard: ({ context }) => context.got.length === 3, target: '.end' },
          output: ({ context }) => context.got,
        }),
      }),
    ],
  })
  expect(output).toEqual(['A', 'B', 'C'])
  expect(begunIn(told)).toHaveLength(3)
  expect(new Set(begunIn(told))).toHaveLength(3)
})

test('a grandchild has a timer, a worker and actions, and tells its parent', async () => {
  const { output, told } = await prove({
    jobs: (tell) => {
      const middle = setup({
        actors: { child: child(tell) },
        actions: { middleDid: () => tell.did('middleDid') },
      }).createMachine({
        initial: 'waiting',
        states: {
          waiting: { invoke: { id: 'kid/1', src: 'child', input: { name: 'deep' }, onDone: 'telling' } },
          telling: {
            entry: ['middleDid', emit({ type: 'told' }), sendParent({ type: 'HELLO' })],
            after: { 3_000: 'end' },
          },
          end: { type: 'final' },
        },
        output: 'middle',
      })
      return [
        defineJob({
          type: 'grand',
          retry: { maxAttempts: 9 },
          machine: setup({
            types: { context: {} as { heard: string[] }, events: {} as { type: 'HELLO' } },
            actors: { middle },
          }).createMachine({
            context: { heard: [] },
            initial: 'waiting',
            states: {
              waiting: {
                invoke: {
                  id: 'mid',
                  src: 'middle',
                  onDone: {
                    target: 'end',
                    actions: assign({ heard: ({ context, event }) => [...context.heard, event.output as string] }),
                  },
                },
                on: { HELLO: { actions: assign({ heard: ({ context }) => [...context.heard, 'hello'] }) } },
              },
              end: { type: 'final' },
            },
            output: ({ context }) => context.heard,
          }),
        }),
      ]
    },
  })
  expect(output).toEqual(['hello', 'middle'])
  expect(begunIn(told)).toEqual(['mid/1/kid%2F1/1/work/1'])
  expect(emittedIn(told)).toEqual(['{"type":"told"}'])
})

test('what a machine is sent on the day it is spawned, and later, reaches it once', async () => {
  const { output } = await prove({
    jobs: () => {
      const counter = setup({
        types: {
          context: {} as { got: string[] },
          events: {} as { type: 'SAY'; what: string } | { type: 'REPORT' },
        },
      }).createMachine({
        context: { got: [] },
        on: {
          SAY: { actions: assign({ got: ({ context, event }) => [...context.got, event.what] }) },
          REPORT: { actions: sendParent(({ context }) => ({ type: 'REPORTED', got: context.got })) },
        },
      })
      return [
        defineJob({
          type: 'told',
          retry: { maxAttempts: 9 },
          machine: setup({
            types: {
              context: {} as { ref: ActorRefFrom<typeof counter> | null; got: string[] },
              events: {} as { type: 'REPORTED'; got: string[] } | { type: 'LETTER'; what: string } | { type: 'DONE' },
            },
            actors: { counter },
          }).createMachine({
            context: { ref: null, got: [] },
            entry: [
              assign({ ref: ({ spawn }) => spawn('counter', { id: 'counter' }) }),
              sendTo('counter', { type: 'SAY', what: 'at once' }),
              sendTo('counter', { type: 'SAY', what: 'later' }, { delay: 4_000 }),
              sendTo('counter', { type: 'SAY', what: 'much later' }, { delay: 40_000 }),
            ],
            initial: 'open',
            on: {
              LETTER: { actions: sendTo('counter', ({ event }) => ({ type: 'SAY', what: event.what })) },
              DONE: { actions: sendTo(({ context }) => context.ref as AnyActorRef, { type: 'REPORT' }) },
              REPORTED: { target: '.end', actions: assign({ got: ({ event }) => event.got }) },
            },
            states: { open: { after: { 9_000: 'ready' } }, ready: {}, end: { type: 'final' } },
            output: ({ context }) => context.got,
          }),
        }),
      ]
    },
    drive: async ({ job, until }) => {
      await until('ready')
      for (const what of ['one', 'two', 'three']) await job.send({ type: 'LETTER', what })
      await job.send({ type: 'DONE' })
    },
  })
  expect(output).toEqual(['at once', 'later', 'one', 'two', 'three'])
})
