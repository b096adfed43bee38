/** Machines that are the actors of machines, and actors that are spawned. */
import {
  assign,
  emit,
  enqueueActions,
  forwardTo,
  raise,
  sendParent,
  sendTo,
  spawnChild,
  stopChild,
  type AnyEventObject,
} from 'xstate'
import type { Case } from './lives-twice.ts'

/** What the snapshot of a machine that an event tells of holds. */
const told = (event: AnyEventObject) =>
  event['snapshot'] as { readonly context: { n: number }; readonly value: unknown }

export const children: readonly Case[] = [
  {
    name: 'a child that is done, with its output',
    chart: {
      context: {},
      initial: 'a',
      states: {
        a: {
          invoke: { src: 'child', onDone: { target: 'b', actions: assign({ data: ({ event }) => event.output }) } },
        },
        b: {},
      },
    },
    with: (make) => ({
      actors: {
        child: make.machine({
          initial: 'x',
          states: { x: { after: { 10_000: 'y' } }, y: { type: 'final' } },
          output: { n: 42 },
        }),
      },
    }),
    steps: [15_000],
  },
  {
    name: 'a child that is done at once',
    chart: {
      initial: 'a',
      states: {
        a: { on: { GO: 'b' } },
        b: { invoke: { src: 'child', onDone: { target: 'c', actions: 'done' } } },
        c: {},
      },
    },
    with: (make) => ({
      actors: {
        child: make.machine({ initial: 'x', states: { x: { type: 'final', entry: 'child-x' } }, output: 'at once' }),
      },
    }),
    steps: ['GO'],
  },
  {
    name: 'an input for a child',
    chart: {
      context: { n: 5 },
      initial: 'a',
      states: {
        a: { invoke: { src: 'child', input: ({ context }) => ({ n: context.n + 1 }), onDone: { actions: 'done' } } },
      },
    },
    with: (make) => ({
      actors: {
        child: make.machine({
          context: ({ input }) => ({ n: input.n * 2 }),
          initial: 'x',
          states: { x: { type: 'final' } },
          output: ({ context }) => context.n,
        }),
      },
    }),
  },
  {
    name: 'a child tells its parent',
    chart: {
      initial: 'a',
      states: { a: { invoke: { src: 'child' }, on: { HELLO: { target: 'b', actions: 'hello' } } }, b: {} },
    },
    with: (make) => ({ actors: { child: make.machine({ entry: sendParent({ type: 'HELLO', n: 1 }) }) } }),
  },
  {
    name: 'a child tells its parent several events at once',
    chart: {
      context: { list: [] },
      initial: 'a',
      states: {
        a: {
          invoke: { src: 'child' },
          on: { ADD: { actions: assign({ list: ({ context, event }) => [...context.list, event.n] }) } },
        },
      },
    },
    with: (make) => ({
      actors: {
        child: make.machine({
          entry: [
            sendParent({ type: 'ADD', n: 1 }),
            sendParent({ type: 'ADD', n: 2 }),
            sendParent({ type: 'ADD', n: 3 }),
          ],
        }),
      },
    }),
  },
  {
    name: 'a parent tells its child, which answers',
    chart: {
      initial: 'a',
      states: {
        a: {
          invoke: { id: 'c', src: 'child' },
          on: {
            ASK: { actions: sendTo('c', ({ event }) => ({ type: 'PING', n: event.n })) },
            PONG: { target: 'b', actions: 'pong' },
          },
        },
        b: {},
      },
    },
    with: (make) => ({
      actors: {
        child: make.machine({
          on: { PING: { actions: sendParent(({ event }) => ({ type: 'PONG', n: event.n + 1 })) } },
        }),
      },
    }),
    steps: [{ type: 'ASK', n: 1 }],
  },
  {
    name: 'parent and child count to ten together',
    chart: {
      context: { n: 0 },
      initial: 'a',
      states: {
        a: {
          invoke: { id: 'c', src: 'child' },
          on: {
            START: { actions: sendTo('c', { type: 'PING' }) },
            PONG: [
              {
                guard: ({ context }) => context.n < 9,
                actions: [assign({ n: ({ context }) => context.n + 1 }), sendTo('c', { type: 'PING' })],
              },
              { target: 'b', actions: 'enough' },
            ],
          },
        },
        b: { type: 'final' },
      },
      output: ({ context }) => context.n,
    },
    with: (make) => ({
      actors: { child: make.machine({ on: { PING: { actions: [sendParent({ type: 'PONG' }), 'ping'] } } }) },
    }),
    steps: ['START'],
  },
  {
    name: 'what entry sends a child of the same state',
    chart: {
      initial: 'a',
      states: { a: { on: { GO: 'b' } }, b: { entry: sendTo('c', { type: 'HI' }), invoke: { id: 'c', src: 'child' } } },
    },
    with: (make) => ({ actors: { child: make.machine({ on: { HI: { actions: 'child-hi' } } }) } }),
    steps: ['GO'],
  },
  {
    name: 'what exit sends a child of the same state',
    chart: {
      initial: 'a',
      states: { a: { exit: sendTo('c', { type: 'BYE' }), invoke: { id: 'c', src: 'child' }, on: { GO: 'b' } }, b: {} },
    },
    with: (make) => ({ actors: { child: make.machine({ on: { BYE: { actions: 'child-bye' } } }) } }),
    steps: ['GO'],
  },
  {
    name: 'an event is forwarded to a child',
    chart: {
      initial: 'a',
      states: {
        a: {
          invoke: { id: 'c', src: 'child' },
          on: { EVENT: { actions: forwardTo('c') }, 'xstate.done.actor.c': 'b' },
        },
        b: {},
      },
    },
    with: (make) => ({
      actors: {
        child: make.machine({
          initial: 'x',
          states: { x: { on: { EVENT: { target: 'y', actions: 'child-event' } } }, y: { type: 'final' } },
        }),
      },
    }),
    steps: [{ type: 'EVENT', n: 3 }],
  },
  {
    name: 'the snapshots of a child',
    chart: {
      context: { list: [] },
      initial: 'a',
      states: {
        a: {
          invoke: {
            id: 'c',
            src: 'child',
            onSnapshot: { actions: assign({ list: ({ context, event }) => [...context.list, told(event).value] }) },
          },
          on: { NEXT: { actions: sendTo('c', { type: 'NEXT' }) } },
        },
      },
    },
    with: (make) => ({
      actors: {
        child: make.machine({ initial: 'x', states: { x: { on: { NEXT: 'y' } }, y: { on: { NEXT: 'z' } }, z: {} } }),
      },
    }),
    steps: ['NEXT', 'NEXT'],
  },
  {
    name: 'a child whose state is left is stopped, and does not execute its exit actions',
    chart: { initial: 'a', states: { a: { invoke: { src: 'child' }, on: { GO: 'b' } }, b: { entry: 'in-b' } } },
    with: (make) => ({
      actors: { child: make.machine({ exit: 'child-exit', initial: 'x', states: { x: { exit: 'child-x-exit' } } }) },
    }),
    steps: ['GO'],
  },
  {
    name: 'a child that begins anew stands at its start',
    chart: {
      initial: 'a',
      states: {
        a: { invoke: { id: 'c', src: 'child' }, on: { NEXT: { actions: sendTo('c', { type: 'NEXT' }) }, GO: 'b' } },
        b: { on: { BACK: 'a' } },
      },
    },
    with: (make) => ({
      actors: {
        child: make.machine({
          context: { n: 0 },
          entry: 'child-begins',
          on: { NEXT: { actions: [assign({ n: ({ context }) => context.n + 1 }), 'child-next'] } },
        }),
      },
    }),
    steps: ['NEXT', 'NEXT', 'GO', 'BACK', 'NEXT'],
  },
  {
    name: 'the timer of a child',
    chart: { initial: 'a', states: { a: { invoke: { src: 'child', onDone: 'b' } }, b: { type: 'final' } } },
    with: (make) => ({
      actors: {
        child: make.machine({
          initial: 'x',
          states: { x: { after: { 10_000: 'y' } }, y: { after: { 10_000: 'z' } }, z: { type: 'final' } },
        }),
      },
    }),
    steps: [15_000, 10_000],
  },
  {
    name: 'the timer of a child that is stopped',
    chart: {
      initial: 'a',
      on: { LATE: { actions: 'late' } },
      states: { a: { invoke: { src: 'child' }, on: { GO: 'b' } }, b: {} },
    },
    with: (make) => ({
      actors: {
        child: make.machine({
          initial: 'x',
          states: { x: { after: { 10_000: 'y' } }, y: { entry: sendParent({ type: 'LATE' }) } },
        }),
      },
    }),
    steps: ['GO', 15_000],
  },
  {
    name: 'a delayed event of a child to its parent',
    chart: { invoke: { src: 'child' }, on: { LATE: { actions: 'late' } } },
    with: (make) => ({ actors: { child: make.machine({ entry: sendParent({ type: 'LATE' }, { delay: 10_000 }) }) } }),
    steps: [15_000],
  },
  {
    name: 'a delayed event of a parent to its child',
    chart: { entry: sendTo('c', { type: 'LATE' }, { delay: 10_000 }), invoke: { id: 'c', src: 'child' } },
    with: (make) => ({ actors: { child: make.machine({ on: { LATE: { actions: 'child-late' } } }) } }),
    steps: [15_000],
  },
  {
    name: 'a delayed event to a child that was stopped',
    chart: {
      initial: 'a',
      states: {
        a: {
          entry: sendTo('c', { type: 'LATE' }, { delay: 10_000 }),
          invoke: { id: 'c', src: 'child' },
          on: { GO: 'b' },
        },
        b: {},
      },
    },
    with: (make) => ({ actors: { child: make.machine({ on: { LATE: { actions: 'child-late' } } }) } }),
    steps: ['GO', 15_000],
  },
  {
    name: 'a delayed event is not for the next child of the same id',
    chart: {
      initial: 'a',
      states: {
        a: {
          entry: sendTo('c', { type: 'LATE' }, { delay: 10_000 }),
          invoke: { id: 'c', src: 'child' },
          on: { GO: 'b' },
        },
        b: { invoke: { id: 'c', src: 'child' } },
      },
    },
    with: (make) => ({ actors: { child: make.machine({ on: { LATE: { actions: 'child-late' } } }) } }),
    steps: ['GO', 15_000],
  },
  {
    name: 'timers of one id in parent and child: the child’s is cancelled',
    chart: {
      entry: raise({ type: 'OWN' }, { delay: 10_000, id: 't' }),
      invoke: { id: 'c', src: 'child' },
      on: { STOP: { actions: sendTo('c', { type: 'STOP' }) }, OWN: { actions: 'own' } },
    },
    with: (make) => ({
      actors: {
        child: make.machine({
          entry: raise({ type: 'OWN' }, { delay: 10_000, id: 't' }),
          on: {
            STOP: { actions: enqueueActions(({ enqueue }) => enqueue.cancel('t')) },
            OWN: { actions: 'child-own' },
          },
        }),
      },
    }),
    steps: ['STOP', 15_000],
  },
  {
    name: 'timers of one id in parent and child: the parent’s is cancelled',
    chart: {
      entry: raise({ type: 'OWN' }, { delay: 10_000, id: 't' }),
      invoke: { id: 'c', src: 'child' },
      on: { STOP: { actions: enqueueActions(({ enqueue }) => enqueue.cancel('t')) }, OWN: { actions: 'own' } },
    },
    with: (make) => ({
      actors: {
        child: make.machine({
          entry: raise({ type: 'OWN' }, { delay: 10_000, id: 't' }),
          on: { OWN: { actions: 'child-own' } },
        }),
      },
    }),
    steps: ['STOP', 15_000],
  },
  {
    name: 'a grandchild tells the child, which tells the parent',
    chart: {
      initial: 'a',
      states: { a: { invoke: { src: 'child' }, on: { UP: { target: 'b', actions: 'up' } } }, b: {} },
    },
    with: (make) => ({
      actors: {
        child: make.machine(
          {
            invoke: { src: 'grandchild' },
            on: { UP: { actions: ['child-up', sendParent(({ event }) => ({ ...event, n: 2 }))] } },
          },
          { actors: { grandchild: make.machine({ entry: sendParent({ type: 'UP', n: 1 }) }) } },
        ),
      },
    }),
  },
  {
    name: 'the promise of a child',
    chart: {
      initial: 'a',
      states: { a: { invoke: { src: 'child', onDone: { target: 'b', actions: 'done' } } }, b: {} },
    },
    with: (make) => ({
      actors: {
        child: make.machine(
          {
            initial: 'x',
            states: {
              x: { invoke: { src: 'work', onDone: 'y' } },
              y: { type: 'final', output: ({ event }) => event.output },
            },
            output: ({ event }) => event.output,
          },
          { actors: { work: make.promise('work', 100) } },
        ),
      },
    }),
    steps: [5_000],
  },
  {
    name: 'a child that is left stops its promise',
    chart: { initial: 'a', states: { a: { invoke: { src: 'child' }, on: { GO: 'b' } }, b: {} } },
    with: (make) => ({
      actors: { child: make.machine({ invoke: { src: 'work' } }, { actors: { work: make.promise('work', 50_000) } }) },
    }),
    steps: ['GO'],
  },
  {
    name: 'the error of a child reaches onError',
    chart: {
      initial: 'a',
      states: { a: { invoke: { src: 'child', onError: { target: 'b', actions: 'failed' } } }, b: {} },
    },
    with: (make) => ({
      actors: {
        child: make.machine(
          { invoke: { src: 'work' } },
          {
            actors: {
              work: make.promise('work', 100, () => {
                throw new Error('deep')
              }),
            },
          },
        ),
      },
    }),
    steps: [5_000],
  },
  {
    name: 'the error of a grandchild is handled by the child',
    chart: {
      initial: 'a',
      states: { a: { invoke: { src: 'child', onDone: 'b', onError: 'wrong' } }, b: {}, wrong: {} },
    },
    with: (make) => ({
      actors: {
        child: make.machine(
          { initial: 'x', states: { x: { invoke: { src: 'work', onError: 'y' } }, y: { type: 'final' } } },
          {
            actors: {
              work: make.promise('work', 100, () => {
                throw new Error('deep')
              }),
            },
          },
        ),
      },
    }),
    steps: [5_000],
  },
  {
    name: 'final events of a child come before its end',
    chart: {
      initial: 'a',
      states: {
        a: { invoke: { src: 'child', onDone: { target: 'c', actions: 'done' } }, on: { LAST: { actions: 'last' } } },
        c: {},
      },
    },
    with: (make) => ({
      actors: {
        child: make.machine({
          exit: sendParent({ type: 'LAST', n: 2 }),
          initial: 'x',
          states: { x: { after: { 10_000: 'y' } }, y: { type: 'final', entry: sendParent({ type: 'LAST', n: 1 }) } },
        }),
      },
    }),
    steps: [15_000],
  },
  {
    name: 'a child that is done, and stopped by what it says last',
    chart: {
      initial: 'a',
      states: { a: { invoke: { src: 'child', onDone: 'wrong' }, on: { LAST: 'b' } }, b: { entry: 'in-b' }, wrong: {} },
    },
    with: (make) => ({
      actors: {
        child: make.machine({
          exit: ['child-exit', sendParent({ type: 'LAST' })],
          initial: 'x',
          states: { x: { on: { '*': {} }, after: { 10_000: 'y' } }, y: { type: 'final' } },
        }),
      },
    }),
    steps: [15_000],
  },
  {
    name: 'children of two regions tell each other through their parent',
    chart: {
      type: 'parallel',
      states: {
        one: {
          invoke: { id: 'first', src: 'child', input: { what: 'first' } },
          on: { FROM_SECOND: { actions: sendTo('first', { type: 'NEWS' }) } },
        },
        two: {
          invoke: { id: 'second', src: 'child', input: { what: 'second' } },
          on: { GO: { actions: sendTo('second', { type: 'SAY' }) } },
        },
      },
    },
    with: (make) => ({
      actors: {
        child: make.machine({
          context: ({ input }) => ({ what: input.what }),
          on: { SAY: { actions: sendParent({ type: 'FROM_SECOND' }) }, NEWS: { actions: 'child-news' } },
        }),
      },
    }),
    steps: ['GO'],
  },
  {
    name: 'an actor is found by its system id',
    chart: {
      invoke: { src: 'child', systemId: 'desk' },
      on: { GO: { actions: sendTo(({ system }) => system.get('desk'), { type: 'HI' }) } },
    },
    with: (make) => ({ actors: { child: make.machine({ on: { HI: { actions: 'child-hi' } } }) } }),
    steps: ['GO'],
  },
  {
    name: 'a system id is free when its actor is stopped, and taken again',
    chart: {
      initial: 'a',
      states: {
        a: { invoke: { id: 'one', src: 'child', systemId: 'desk' }, on: { SWAP: 'b' } },
        b: { invoke: { id: 'two', src: 'child', systemId: 'desk' } },
      },
      on: { GO: { actions: sendTo(({ system }) => system.get('desk'), { type: 'HI' }) } },
    },
    with: (make) => ({ actors: { child: make.machine({ on: { HI: { actions: 'child-hi' } } }) } }),
    steps: ['GO', 'SWAP', 'GO'],
  },
  {
    name: 'a reentering transition of a state whose actor has a system id',
    chart: {
      initial: 'a',
      states: {
        a: { invoke: { id: 'one', src: 'child', systemId: 'desk' }, on: { AGAIN: { target: 'a', reenter: true } } },
      },
      on: { GO: { actions: sendTo(({ system }) => system.get('desk'), { type: 'HI' }) } },
    },
    with: (make) => ({
      actors: {
        child: make.machine({
          context: { n: 0 },
          on: { HI: { actions: [assign({ n: ({ context }) => context.n + 1 }), 'child-hi'] } },
        }),
      },
    }),
    steps: ['GO', 'AGAIN', 'GO'],
  },
  {
    name: 'a child tells a sibling by its system id',
    chart: {
      invoke: [
        { src: 'child', systemId: 'desk' },
        { id: 't', src: 'teller' },
      ],
      on: { GO: { actions: sendTo('t', { type: 'SAY' }) } },
    },
    with: (make) => ({
      actors: {
        child: make.machine({ on: { HI: { actions: 'child-hi' } } }),
        teller: make.machine({ on: { SAY: { actions: sendTo(({ system }) => system.get('desk'), { type: 'HI' }) } } }),
      },
    }),
    steps: ['GO'],
  },
  {
    name: 'a child begins and is stopped in one macrostep',
    chart: { initial: 'a', states: { a: { on: { GO: 'b' } }, b: { invoke: { src: 'child' }, always: 'c' }, c: {} } },
    with: (make) => ({ actors: { child: make.machine({ entry: ['child-entry', sendParent({ type: 'X' })] }) } }),
    steps: ['GO'],
  },
  {
    name: 'a child of a leaf that leads to itself through its history: it is entered again and was not left',
    chart: {
      initial: 'a',
      on: { LATE: { actions: 'late' } },
      states: {
        a: {
          initial: 'x',
          states: {
            x: { entry: 'in-x', exit: 'out-x', invoke: { id: 'c', src: 'child' }, on: { AGAIN: '#past' } },
            past: { id: 'past', type: 'history' },
          },
        },
      },
    },
    with: (make) => ({
      actors: {
        child: make.machine({
          initial: 'x',
          states: { x: { after: { 10_000: 'y' } }, y: { entry: sendParent({ type: 'LATE' }) } },
        }),
      },
    }),
    steps: [5_000, 'AGAIN', 15_000],
    differs: 'replacedActors',
  },
  {
    name: 'an event that is taken because a child has answered the one before',
    chart: {
      initial: 'a',
      states: {
        a: { invoke: { id: 'c', src: 'child' }, on: { ASK: { actions: sendTo('c', { type: 'PING' }) }, PONG: 'b' } },
        b: { on: { NEXT: 'c' } },
        c: {},
      },
    },
    with: (make) => ({ actors: { child: make.machine({ on: { PING: { actions: sendParent({ type: 'PONG' }) } } }) } }),
    steps: [[{ type: 'ASK' }, { type: 'NEXT' }]],
    differs: 'sentTogether',
  },
  {
    name: 'a child emits',
    chart: { invoke: { src: 'child' } },
    with: (make) => ({ actors: { child: make.machine({ entry: emit({ type: 'inner' }) }) } }),
    differs: 'childrenEmit',
  },
]

export const spawned: readonly Case[] = [
  {
    name: 'a machine, by its name',
    chart: { on: { GO: { actions: spawnChild('child', { id: 'c' }) } } },
    with: (make) => ({ actors: { child: make.machine({ entry: 'child-entry' }) } }),
    steps: ['GO'],
  },
  {
    name: 'a machine with an input',
    chart: {
      on: {
        GO: {
          actions: spawnChild('child', {
            id: 'c',
            input: ({ event }: { event: AnyEventObject }) => ({ n: event['n'] as number }),
          }),
        },
      },
    },
    with: (make) => ({
      actors: { child: make.machine({ context: ({ input }) => ({ n: input.n }), entry: 'child-entry' }) },
    }),
    steps: [{ type: 'GO', n: 9 }],
  },
  {
    name: 'a promise, whose end is an event',
    chart: { entry: spawnChild('work', { id: 'w' }), on: { 'xstate.done.actor.w': { actions: 'done' } } },
    with: (make) => ({ actors: { work: make.promise('work', 100) } }),
    steps: [5_000],
  },
  {
    name: 'a promise that rejects is the error of the machine',
    chart: { entry: spawnChild('work', { id: 'w' }) },
    with: (make) => ({
      actors: {
        work: make.promise('work', 100, () => {
          throw new Error('boom')
        }),
      },
    }),
    steps: [5_000],
  },
  {
    name: 'a callback, which is stopped by its id',
    chart: { entry: spawnChild('work', { id: 'w' }), on: { STOP: { actions: stopChild('w') } } },
    with: (make) => ({ actors: { work: make.callback('work') } }),
    steps: ['STOP'],
  },
  {
    name: 'an id that is computed',
    chart: {
      on: {
        GO: {
          actions: spawnChild('child', { id: ({ event }: { event: AnyEventObject }) => `c${String(event['n'])}` }),
        },
        STOP: { actions: stopChild(({ event }) => `c${event.n}`) },
        HI: { actions: sendTo(({ event }) => `c${event.n}`, { type: 'HI' }) },
      },
    },
    with: (make) => ({ actors: { child: make.machine({ on: { HI: { actions: 'child-hi' } } }) } }),
    steps: [
      { type: 'GO', n: 1 },
      { type: 'GO', n: 2 },
      { type: 'HI', n: 2 },
      { type: 'STOP', n: 2 },
      { type: 'HI', n: 1 },
    ],
  },
  {
    name: 'a reference in the context',
    chart: {
      context: { ref: null },
      entry: assign({ ref: ({ spawn }) => spawn('child', { id: 'c' }) }),
      on: { HI: { actions: sendTo(({ context }) => context.ref, { type: 'HI' }) } },
    },
    with: (make) => ({ actors: { child: make.machine({ on: { HI: { actions: 'child-hi' } } }) } }),
    steps: ['HI'],
  },
  {
    name: 'a reference in the initial context',
    chart: {
      context: ({ spawn }) => ({ ref: spawn('child', { id: 'c' }) }),
      on: { HI: { actions: sendTo(({ context }) => context.ref, { type: 'HI' }) } },
    },
    with: (make) => ({
      actors: { child: make.machine({ entry: 'child-entry', on: { HI: { actions: 'child-hi' } } }) },
    }),
    steps: ['HI'],
  },
  {
    name: 'a callback in the initial context that answers at once',
    chart: {
      context: ({ spawn }) => ({ ref: spawn('work', { id: 'w' }) }),
      initial: 'a',
      states: { a: { on: { HELLO: 'b' } }, b: {} },
    },
    with: (make) => ({ actors: { work: make.callback('work', (send) => send({ type: 'HELLO' })) } }),
  },
  {
    name: 'a list of children in the context',
    chart: {
      context: { list: [] },
      on: {
        ADD: {
          actions: assign({
            list: ({ context, spawn, event }) => [
              ...context.list,
              spawn('child', { id: `c${String(event['n'])}`, input: { n: event['n'] as number } }),
            ],
          }),
        },
        ALL: {
          actions: enqueueActions(({ context, enqueue }) =>
            (context['list'] as never[]).forEach((each) => enqueue.sendTo(each, () => ({ type: 'HI' }) as never)),
          ),
        },
      },
    },
    with: (make) => ({
      actors: {
        child: make.machine({ context: ({ input }) => ({ n: input.n }), on: { HI: { actions: 'child-hi' } } }),
      },
    }),
    steps: [{ type: 'ADD', n: 1 }, { type: 'ADD', n: 2 }, 'ALL'],
  },
  {
    name: 'a child is stopped by its reference',
    chart: {
      context: { ref: null },
      entry: assign({ ref: ({ spawn }) => spawn('work', { id: 'w' }) }),
      on: { STOP: { actions: [stopChild(({ context }) => context.ref), assign({ ref: null })] } },
    },
    with: (make) => ({ actors: { work: make.callback('work') } }),
    steps: ['STOP'],
  },
  {
    name: 'a child is stopped and spawned anew in one step',
    chart: {
      context: { ref: null },
      entry: assign({ ref: ({ spawn }) => spawn('child', { id: 'c' }) }),
      on: {
        AGAIN: { actions: [stopChild('c'), assign({ ref: ({ spawn }) => spawn('child', { id: 'c' }) })] },
        HI: { actions: sendTo('c', { type: 'HI' }) },
      },
    },
    with: (make) => ({
      actors: {
        child: make.machine({
          context: { n: 0 },
          entry: 'child-entry',
          on: { HI: { actions: [assign({ n: ({ context }) => context.n + 1 }), 'child-hi'] } },
        }),
      },
    }),
    steps: ['HI', 'AGAIN', 'HI'],
  },
  {
    name: 'an actor outlives the state that spawned it',
    chart: {
      initial: 'a',
      states: {
        a: { entry: spawnChild('child', { id: 'c' }), on: { GO: 'b' } },
        b: { on: { HI: { actions: sendTo('c', { type: 'HI' }) } } },
      },
    },
    with: (make) => ({ actors: { child: make.machine({ on: { HI: { actions: 'child-hi' } } }) } }),
    steps: ['GO', 'HI'],
  },
  {
    name: 'a machine that is done stops what it has spawned',
    chart: {
      initial: 'a',
      states: { a: { entry: spawnChild('work', { id: 'w' }), on: { GO: 'b' } }, b: { type: 'final' } },
    },
    with: (make) => ({ actors: { work: make.callback('work') } }),
    steps: ['GO'],
  },
  {
    name: 'it is enqueued',
    chart: {
      on: {
        GO: {
          actions: enqueueActions(
            ({ enqueue }) => (enqueue.spawnChild('child', { id: 'c' }), enqueue.sendTo('c', { type: 'HI' })),
          ),
        },
        STOP: { actions: enqueueActions(({ enqueue }) => enqueue.stopChild('c')) },
      },
    },
    with: (make) => ({
      actors: { child: make.machine({ entry: 'child-entry', on: { HI: { actions: 'child-hi' } } }) },
    }),
    steps: ['GO', 'STOP', 'GO'],
  },
  {
    name: 'its snapshots are told',
    chart: {
      context: { list: [] },
      entry: spawnChild('sum', { id: 's', syncSnapshot: true }),
      on: {
        ADD: { actions: sendTo('s', ({ event }) => event) },
        'xstate.snapshot.s': {
          actions: assign({ list: ({ context, event }) => [...context.list, told(event).context] }),
        },
      },
    },
    with: (make) => ({ actors: { sum: make.sum() } }),
    steps: [
      { type: 'ADD', n: 1 },
      { type: 'ADD', n: 2 },
    ],
  },
  {
    name: 'a system id',
    chart: {
      entry: spawnChild('child', { id: 'c', systemId: 'desk' }),
      on: { HI: { actions: sendTo(({ system }) => system.get('desk'), { type: 'HI' }) } },
    },
    with: (make) => ({ actors: { child: make.machine({ on: { HI: { actions: 'child-hi' } } }) } }),
    steps: ['HI'],
  },
  {
    name: 'a child is given its parent as an input',
    chart: {
      context: ({ self, spawn }) => ({ ref: spawn('child', { id: 'c', input: { parent: self } }) }),
      on: { HELLO: { actions: 'hello' }, GO: { actions: sendTo('c', { type: 'GO' }) } },
    },
    with: (make) => ({
      actors: {
        child: make.machine({
          context: ({ input }) => ({ ref: input.parent }),
          on: { GO: { actions: sendTo(({ context }) => context.ref, { type: 'HELLO' }) } },
        }),
      },
    }),
    steps: ['GO'],
  },
  {
    name: 'an event carries a reference',
    chart: {
      invoke: { id: 'c', src: 'child' },
      on: { GO: { actions: sendTo('c', ({ self }) => ({ type: 'CALL', from: self })) }, BACK: { actions: 'back' } },
    },
    with: (make) => ({
      actors: {
        child: make.machine({ on: { CALL: { actions: sendTo(({ event }) => event.from, { type: 'BACK' }) } } }),
      },
    }),
    steps: ['GO'],
  },
]
