/** Entry, exit and transition actions: which are executed, in which order, and what they are given. */
import { assign, raise } from 'xstate'
import type { Case } from './lives-twice.ts'

const light = (key: string, next: string) => ({
  entry: `in-${key}`,
  exit: `out-${key}`,
  on: { TIMER: { target: next, actions: `${key}-to-${next}` } },
})

export const actions: readonly Case[] = [
  {
    name: 'the entry actions of an initial state, from the root inwards',
    chart: { entry: 'root', initial: 'a', states: { a: { entry: 'a', initial: 'b', states: { b: { entry: 'b' } } } } },
  },
  {
    name: 'the entry actions of parallel initial states, in document order',
    chart: {
      entry: 'root',
      type: 'parallel',
      states: {
        a: { entry: 'a', initial: 'a1', states: { a1: { entry: 'a1' } } },
        b: { entry: 'b', initial: 'b1', states: { b1: { entry: 'b1' } } },
      },
    },
  },
  {
    name: 'a transition executes exit, its own and entry actions',
    chart: {
      initial: 'green',
      states: { green: light('green', 'yellow'), yellow: light('yellow', 'red'), red: light('red', 'green') },
    },
    steps: ['TIMER', 'TIMER', 'TIMER'],
  },
  {
    name: 'an event that nobody takes executes nothing',
    chart: { initial: 'a', states: { a: { exit: 'out', on: { GO: 'b' } }, b: { entry: 'in' } } },
    steps: ['OTHER', 'GO', 'GO'],
  },
  {
    name: 'several events that come together are taken in order',
    chart: {
      initial: 'green',
      states: { green: light('green', 'yellow'), yellow: light('yellow', 'red'), red: light('red', 'green') },
    },
    steps: [[{ type: 'TIMER' }, { type: 'TIMER' }, { type: 'TIMER' }, { type: 'TIMER' }]],
  },
  {
    name: 'states are left from the inside out and entered from the outside in',
    chart: {
      initial: 'a',
      states: {
        a: {
          exit: 'out-a',
          initial: 'a1',
          states: { a1: { exit: 'out-a1', initial: 'a11', states: { a11: { exit: 'out-a11', on: { GO: '#b12' } } } } },
        },
        b: {
          entry: 'in-b',
          initial: 'b1',
          states: {
            b1: {
              entry: 'in-b1',
              initial: 'b11',
              states: { b11: { entry: 'in-b11' }, b12: { id: 'b12', entry: 'in-b12' } },
            },
          },
        },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'a move between siblings leaves their parent alone',
    chart: {
      initial: 'a',
      states: {
        a: {
          entry: 'in-a',
          exit: 'out-a',
          initial: 'a1',
          states: { a1: { exit: 'out-a1', on: { GO: 'a2' } }, a2: { entry: 'in-a2', on: { BACK: 'a1' } } },
        },
      },
    },
    steps: ['GO', 'BACK', 'GO'],
  },
  {
    name: 'a transition of the parent moves among its children without leaving it',
    chart: {
      initial: 'a',
      states: {
        a: {
          entry: 'in-a',
          exit: 'out-a',
          initial: 'a1',
          on: { TWO: '.a2', ONE: '.a1' },
          states: { a1: { entry: 'in-a1', exit: 'out-a1' }, a2: { entry: 'in-a2', exit: 'out-a2' } },
        },
      },
    },
    steps: ['TWO', 'ONE', 'ONE'],
  },
  {
    name: 'a reentering transition of the parent to its child leaves it and enters it',
    chart: {
      initial: 'a',
      states: {
        a: {
          entry: 'in-a',
          exit: 'out-a',
          initial: 'a1',
          on: { TWO: { target: '.a2', reenter: true } },
          states: { a1: { entry: 'in-a1', exit: 'out-a1' }, a2: { entry: 'in-a2', exit: 'out-a2' } },
        },
      },
    },
    steps: ['TWO', 'TWO'],
  },
  {
    name: 'a transition to itself does not leave a leaf',
    chart: {
      initial: 'a',
      states: { a: { entry: 'in', exit: 'out', on: { SELF: { target: 'a', actions: 'self' } } } },
    },
    steps: ['SELF', 'SELF'],
  },
  {
    name: 'a reentering transition to itself leaves and enters a leaf',
    chart: {
      initial: 'a',
      states: { a: { entry: 'in', exit: 'out', on: { SELF: { target: 'a', reenter: true, actions: 'self' } } } },
    },
    steps: ['SELF', 'SELF'],
  },
  {
    name: 'a transition to itself of a compound state starts its children anew',
    chart: {
      initial: 'a',
      states: {
        a: {
          entry: 'in-a',
          exit: 'out-a',
          on: { SELF: 'a' },
          initial: 'a1',
          states: { a1: { entry: 'in-a1', on: { GO: 'a2' } }, a2: { exit: 'out-a2' } },
        },
      },
    },
    steps: ['GO', 'SELF', 'SELF'],
  },
  {
    name: 'a reentering transition to itself leaves all that is deep in it',
    chart: {
      initial: 'a',
      states: {
        a: {
          entry: 'in-a',
          exit: 'out-a',
          on: { SELF: { target: 'a', reenter: true } },
          initial: 'b',
          states: {
            b: {
              exit: 'out-b',
              initial: 'c',
              states: { c: { exit: 'out-c', on: { DEEPER: 'd' } }, d: { entry: 'in-d', exit: 'out-d' } },
            },
          },
        },
      },
    },
    steps: ['DEEPER', 'SELF'],
  },
  {
    name: 'a targeted ancestor is left and entered by a reentering transition of its descendant',
    chart: {
      initial: 'a',
      states: {
        a: {
          id: 'a',
          entry: 'in-a',
          exit: 'out-a',
          initial: 'a1',
          states: {
            a1: { entry: 'in-a1', exit: 'out-a1', on: { UP: { target: '#a', reenter: true } } },
          },
        },
      },
    },
    steps: ['UP'],
  },
  {
    name: 'a transition to an ancestor enters its initial child and not the one that was left',
    chart: {
      initial: 'a',
      states: {
        a: {
          id: 'a',
          entry: 'in-a',
          exit: 'out-a',
          initial: 'a1',
          states: {
            a1: { entry: 'in-a1', exit: 'out-a1', on: { NEXT: 'a2' } },
            a2: { entry: 'in-a2', exit: 'out-a2', on: { UP: '#a' } },
          },
        },
      },
    },
    steps: ['NEXT', 'UP'],
  },
  {
    name: 'a root is left and entered by its reentering transition',
    chart: {
      id: 'root',
      entry: 'in-root',
      exit: 'out-root',
      initial: 'a',
      on: { AGAIN: { target: '#two', reenter: true } },
      states: { a: { entry: 'in-a', exit: 'out-a' }, b: { id: 'two', entry: 'in-b', exit: 'out-b' } },
    },
    steps: ['AGAIN', 'AGAIN'],
  },
  {
    name: 'a transition without a target executes its actions alone',
    chart: {
      entry: 'in-root',
      initial: 'a',
      on: { NOTE: { actions: 'root-note' } },
      states: { a: { entry: 'in', exit: 'out', on: { OWN: { actions: ['one', 'two'] } } } },
    },
    steps: ['OWN', 'NOTE', 'OWN'],
  },
  {
    name: 'the actions of initial transitions are executed between the entries of parent and child',
    chart: {
      initial: { target: 'a', actions: 'initial-root' },
      entry: 'in-root',
      states: {
        a: {
          entry: 'in-a',
          initial: { target: 'b', actions: ['initial-a', 'second'] },
          states: { b: { entry: 'in-b' } },
        },
      },
    },
  },
  {
    name: 'the actions of an initial transition are executed when a transition enters its state',
    chart: {
      initial: 'a',
      states: {
        a: { on: { GO: { target: 'b', actions: 'go' } } },
        b: { entry: 'in-b', initial: { target: 'c', actions: 'initial-b' }, states: { c: { entry: 'in-c' } } },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'the actions of an initial transition are left out when its child is targeted',
    chart: {
      initial: 'a',
      states: {
        a: { on: { GO: 'b.d' } },
        b: { initial: { target: 'c', actions: 'initial-b' }, states: { c: {}, d: { entry: 'in-d' } } },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'the actions of a root’s initial transition come again when it is entered again',
    chart: {
      id: 'root',
      initial: { target: 'a', actions: 'initial' },
      on: { AGAIN: { target: '#root', reenter: true } },
      states: { a: {} },
    },
    steps: ['AGAIN', 'AGAIN'],
  },
  {
    name: 'an action is given the context as it is between two assigns',
    chart: {
      context: { n: 0 },
      entry: ['before', assign({ n: 1 }), 'between', assign({ n: ({ context }) => context.n + 10 }), 'after'],
    },
  },
  {
    name: 'assigns of exit, transition and entry follow each other',
    chart: {
      context: { list: [] },
      initial: 'a',
      states: {
        a: {
          entry: assign({ list: ({ context }) => [...context.list, 'in-a'] }),
          exit: assign({ list: ({ context }) => [...context.list, 'out-a'] }),
          on: { GO: { target: 'b', actions: [assign({ list: ({ context }) => [...context.list, 'go'] }), 'seen'] } },
        },
        b: { entry: [assign({ list: ({ context }) => [...context.list, 'in-b'] }), 'seen'] },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'actions of states deep in one another see what those before them have assigned',
    chart: {
      context: { n: 0 },
      initial: 'a',
      entry: [assign({ n: ({ context }) => context.n + 1 }), 'root'],
      states: {
        a: {
          entry: ['a-first', assign({ n: ({ context }) => context.n * 5 }), 'a-last'],
          initial: 'b',
          states: { b: { entry: [assign({ n: ({ context }) => context.n + 3 }), 'b'] } },
        },
      },
    },
  },
  {
    name: 'later transitions begin with the context of those before',
    chart: {
      context: { n: 0 },
      initial: 'a',
      states: {
        a: { on: { ADD: { actions: [assign({ n: ({ context, event }) => context.n + event.n }), 'added'] } } },
      },
    },
    steps: [
      { type: 'ADD', n: 1 },
      { type: 'ADD', n: 5 },
      [
        { type: 'ADD', n: 2 },
        { type: 'ADD', n: 3 },
      ],
    ],
  },
  {
    name: 'an action of an initial raise is given the raised event',
    chart: { entry: raise({ type: 'HELLO', n: 3 }), on: { HELLO: { actions: 'hello' } } },
  },
  {
    name: 'an action of an initial raise is given the context that entry has assigned',
    chart: {
      context: { n: 1 },
      entry: [assign({ n: 2 }), raise({ type: 'HELLO' })],
      on: { HELLO: { actions: 'hello' } },
    },
  },
  {
    name: 'entry after an always is given the event that led there',
    chart: {
      initial: 'a',
      states: {
        a: { on: { GO: 'b' } },
        b: { exit: 'out-b', always: { target: 'c', actions: 'on' } },
        c: { entry: 'in-c' },
      },
    },
    steps: [{ type: 'GO', what: 'now' }],
  },
  {
    name: 'one name is executed as often as it is written',
    chart: { entry: ['twice', 'twice', { type: 'twice', params: { n: 1 } }] },
  },
  {
    name: 'a builtin action may have a name',
    chart: {
      context: { n: 0 },
      entry: ['set', 'seen'],
      on: { GO: { actions: ['set', 'shout'] }, LOUD: { actions: 'seen' } },
    },
    with: () => ({
      actions: { set: assign({ n: ({ context }) => context.n + 1 }), shout: raise({ type: 'LOUD' }) },
    }),
    steps: ['GO', 'GO'],
  },
  {
    name: 'a named action that gives a promise',
    chart: { context: { n: 0 }, entry: ['slow', assign({ n: 1 })], on: { GO: { actions: 'slow' } } },
    steps: ['GO'],
  },
]

export const params: readonly Case[] = [
  {
    name: 'params as they are written',
    chart: { entry: { type: 'greet', params: { n: 1, list: ['a', null], deep: { on: true } } } },
  },
  { name: 'no params of an action without them', chart: { entry: ['plain', { type: 'object' }] } },
  {
    name: 'params of the context',
    chart: { context: { n: 42 }, entry: { type: 'greet', params: ({ context }) => ({ half: context.n / 2 }) } },
  },
  {
    name: 'params of the event',
    chart: { on: { FOO: { actions: { type: 'greet', params: ({ event }) => ({ what: event.what }) } } } },
    steps: [{ type: 'FOO', what: 'bar' }],
  },
  {
    name: 'params are computed where the action stands',
    chart: {
      context: { n: 1 },
      entry: [
        { type: 'first', params: ({ context }) => ({ n: context.n }) },
        assign({ n: 2 }),
        { type: 'second', params: ({ context }) => ({ n: context.n }) },
      ],
    },
  },
  {
    name: 'params that are no object',
    chart: {
      entry: [
        { type: 'number', params: 7 as never },
        { type: 'text', params: (() => 'seven') as never },
      ],
    },
  },
  {
    name: 'params of exit actions are computed when their state is left',
    chart: {
      context: { n: 0 },
      initial: 'a',
      states: {
        a: {
          exit: { type: 'left', params: ({ context, event }) => ({ n: context.n, by: event.type }) },
          on: { ADD: { actions: assign({ n: ({ context }) => context.n + 1 }) }, GO: 'b' },
        },
        b: {},
      },
    },
    steps: ['ADD', 'ADD', 'GO'],
  },
  {
    name: 'params of an action on a promise that is done',
    chart: {
      initial: 'a',
      states: {
        a: {
          invoke: {
            src: 'work',
            onDone: {
              target: 'b',
              actions: { type: 'greet', params: ({ event }) => ({ got: event.output as string }) },
            },
          },
        },
        b: {},
      },
    },
    with: (make) => ({ actors: { work: make.promise('work', 0, () => 'result') } }),
  },
]
