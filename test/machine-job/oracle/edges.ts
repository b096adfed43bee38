/** Errors, inputs and outputs, ids, routes, and bounds. */
import { assign, emit, raise, sendTo } from 'xstate'
import type { Case } from './lives-twice.ts'

const boom = (): never => {
  throw new Error('boom')
}

export const errors: readonly Case[] = [
  {
    name: 'an action that throws',
    chart: { initial: 'a', states: { a: { on: { GO: { target: 'b', actions: ['before', 'bad', 'after'] } } }, b: {} } },
    with: () => ({ actions: { bad: boom } }),
    steps: ['GO'],
  },
  {
    name: 'an entry action of the start that throws',
    chart: { entry: ['before', 'bad', 'after'] },
    with: () => ({ actions: { bad: boom } }),
  },
  {
    name: 'a guard that throws',
    chart: { initial: 'a', states: { a: { on: { GO: { guard: 'bad', target: 'b' } } }, b: {} } },
    with: () => ({ guards: { bad: boom } }),
    steps: [],
  },
  {
    name: 'an assign that throws',
    chart: { initial: 'a', states: { a: { after: { 10_000: { target: 'b', actions: assign(boom) } } }, b: {} } },
    steps: [15_000],
  },
  {
    name: 'an assign that throws after actions',
    chart: {
      initial: 'a',
      states: { a: { after: { 10_000: { target: 'b', actions: ['before', assign(boom)] } } }, b: {} },
    },
    steps: [15_000],
    differs: 'planFirst',
  },
  { name: 'a context that throws', chart: { context: boom } },
  {
    name: 'an input of an actor that throws',
    chart: { initial: 'a', states: { a: { after: { 10_000: 'b' } }, b: { invoke: { src: 'work', input: boom } } } },
    with: (make) => ({ actors: { work: make.promise('work', 0) } }),
    steps: [15_000],
  },
  {
    name: 'a delay that throws',
    chart: { initial: 'a', states: { a: { after: { 10_000: 'b' } }, b: { after: { bad: 'a' } } } },
    with: () => ({ delays: { bad: boom } }),
    steps: [15_000],
  },
  {
    name: 'an output that throws',
    chart: { initial: 'a', states: { a: { after: { 10_000: 'b' } }, b: { type: 'final' } }, output: boom },
    steps: [15_000],
  },
  {
    name: 'an error that is no Error',
    chart: {
      initial: 'a',
      states: { a: { invoke: { src: 'work', onError: { target: 'b', actions: 'failed' } } }, b: {} },
    },
    with: (make) => ({
      actors: {
        work: make.promise('work', 100, () => {
          throw 'text'
        }),
      },
    }),
    steps: [5_000],
  },
  {
    name: 'a promise that fails in the second of two states',
    chart: {
      initial: 'a',
      states: {
        a: { invoke: { src: 'good', onDone: 'b' } },
        b: { invoke: { src: 'bad', onError: 'c' } },
        c: { entry: 'c' },
      },
    },
    with: (make) => ({ actors: { good: make.promise('good', 100), bad: make.promise('bad', 100, boom) } }),
    steps: [5_000],
  },
  {
    name: 'the error of a child machine’s action',
    chart: {
      initial: 'a',
      states: { a: { invoke: { src: 'child', onError: { target: 'b', actions: 'failed' } } }, b: {} },
    },
    with: (make) => ({
      actors: {
        child: make.machine({ initial: 'x', states: { x: { after: { 10_000: 'y' } }, y: { entry: assign(boom) } } }),
      },
    }),
    steps: [15_000],
  },
  {
    name: 'more than the steps that are allowed',
    chart: {
      initial: 'a',
      states: { a: { after: { 10_000: 'b' } }, b: { always: 'c' }, c: { always: 'b' } },
      options: { maxIterations: 20 },
    },
    steps: [15_000],
  },
]

export const inputs: readonly Case[] = [
  {
    name: 'an input in the context',
    chart: { context: ({ input }) => ({ n: input.n + 1 }), entry: 'seen' },
    input: { n: 41 },
  },
  {
    name: 'an input in the initial event',
    chart: { entry: { type: 'seen', params: ({ event }) => ({ input: event.input as string }) } },
    input: { what: 'x' },
  },
  { name: 'no input', chart: { context: ({ input }) => ({ on: input === undefined }) } },
  {
    name: 'an input that is a list',
    chart: {
      context: ({ input }) => ({ list: input }),
      initial: 'a',
      states: {
        a: { always: [{ guard: ({ context }) => context.list.length > 2, target: 'many' }, { target: 'few' }] },
        many: {},
        few: {},
      },
    },
    input: [1, 2, 3],
  },
  { name: 'an input of null', chart: { context: ({ input }) => ({ data: input }) }, input: null },
  {
    name: 'an output of the context',
    chart: {
      context: ({ input }) => ({ n: input.n }),
      initial: 'a',
      states: {
        a: { on: { ADD: { actions: assign({ n: ({ context, event }) => context.n + event.n }) }, END: 'b' } },
        b: { type: 'final' },
      },
      output: ({ context }) => ({ sum: context.n }),
    },
    input: { n: 1 },
    steps: [{ type: 'ADD', n: 2 }, { type: 'ADD', n: 3 }, 'END'],
  },
  {
    name: 'a context with all that JSON has',
    chart: {
      context: {
        data: {
          text: '𝄞 "\\',
          none: null,
          off: false,
          zero: 0,
          minus: -1.5e-7,
          list: [[], {}, [null]],
          deep: { a: { b: { c: [] } } },
        },
      },
      on: { SET: { actions: assign({ data: ({ event }) => event.data }) } },
    },
    steps: [{ type: 'SET', data: { __proto__x: 1, 'a.b': 2, '': 3 } }],
  },
  {
    name: 'a context whose members come and go',
    chart: { context: {}, on: { SET: { actions: assign(({ event }) => ({ [event.what as string]: event.n })) } } },
    steps: [
      { type: 'SET', what: 'a', n: 1 },
      { type: 'SET', what: 'b', n: 2 },
      { type: 'SET', what: 'a' },
    ],
  },
  {
    name: 'members that are undefined',
    chart: {
      context: { data: undefined, list: [] },
      on: { SET: { actions: [assign({ data: undefined, n: 1 }), 'seen'] } },
    },
    steps: ['SET'],
  },
]

export const routes: readonly Case[] = [
  {
    name: 'a state is entered by its route',
    chart: {
      id: 'm',
      initial: 'a',
      states: { a: { id: 'a', route: {}, exit: 'out-a' }, b: { id: 'b', route: {}, entry: 'in-b' } },
    } as never,
    steps: [
      { type: 'xstate.route', to: '#b' },
      { type: 'xstate.route', to: '#a' },
    ],
  },
  {
    name: 'a route with a guard',
    chart: {
      id: 'm',
      context: { on: false },
      initial: 'a',
      states: {
        a: { on: { SET: { actions: assign({ on: true }) } } },
        b: { id: 'b', route: { guard: ({ context }: { context: { on: boolean } }) => context.on } },
      },
    } as never,
    steps: [{ type: 'xstate.route', to: '#b' }, 'SET', { type: 'xstate.route', to: '#b' }],
  },
  {
    name: 'a route to a deep state',
    chart: {
      id: 'm',
      initial: 'a',
      states: {
        a: { initial: 'x', states: { x: {} } },
        b: { entry: 'in-b', initial: 'y', states: { y: {}, z: { id: 'z', route: {}, entry: 'in-z' } } },
      },
    } as never,
    steps: [{ type: 'xstate.route', to: '#z' }],
  },
  {
    name: 'a route in one region',
    chart: {
      id: 'm',
      type: 'parallel',
      states: {
        p: { initial: 'a', states: { a: {}, b: { id: 'pb', route: {} } } },
        q: { initial: 'a', states: { a: {}, b: { id: 'qb', route: {} } } },
      },
    } as never,
    steps: [
      { type: 'xstate.route', to: '#pb' },
      { type: 'xstate.route', to: '#qb' },
    ],
  },
  {
    name: 'a route to where it is',
    chart: { id: 'm', initial: 'a', states: { a: { id: 'a', route: {}, entry: 'in-a', exit: 'out-a' } } } as never,
    steps: [{ type: 'xstate.route', to: '#a' }],
  },
  {
    name: 'a route that is not there',
    chart: { id: 'm', initial: 'a', states: { a: { on: { GO: 'b' } }, b: { id: 'b' } } },
    steps: [{ type: 'xstate.route', to: '#b' }, 'GO'],
  },
]

export const stories: readonly Case[] = [
  {
    name: 'a light with a walk sign in it',
    chart: {
      context: { n: 0 },
      initial: 'green',
      states: {
        green: { entry: assign({ n: ({ context }) => context.n + 1 }), after: { 30_000: 'yellow' } },
        yellow: { after: { 10_000: 'red' } },
        red: {
          initial: 'walk',
          states: {
            walk: { entry: emit({ type: 'walk' }), after: { 10_000: 'wait' } },
            wait: { after: { 10_000: 'stop' } },
            stop: { type: 'final' },
          },
          onDone: 'green',
        },
      },
    },
    steps: [35_000, 20_000, 30_000],
  },
  {
    name: 'a form that is retried, with a limit',
    chart: {
      context: { n: 0, list: [] },
      initial: 'editing',
      states: {
        editing: { on: { SUBMIT: { target: 'saving', actions: assign({ n: ({ context }) => context.n + 1 }) } } },
        saving: {
          invoke: {
            src: 'save',
            input: ({ context }) => context.n,
            onDone: 'saved',
            onError: [
              { guard: ({ context }) => context.n >= 3, target: 'lost' },
              {
                target: 'editing',
                actions: assign({ list: ({ context, event }) => [...context.list, (event.error as Error).message] }),
              },
            ],
          },
        },
        saved: { type: 'final' },
        lost: { type: 'final' },
      },
      output: ({ context }) => context,
    },
    with: (make) => ({ actors: { save: make.promise('save', 100, boom) } }),
    steps: ['SUBMIT', 5_000, 'SUBMIT', 5_000, 'SUBMIT', 5_000],
  },
  {
    name: 'a player that pauses and goes on',
    chart: {
      context: { n: 0 },
      initial: 'on',
      states: {
        on: {
          initial: 'playing',
          on: { OFF: 'off' },
          states: {
            playing: {
              after: {
                10_000: { target: 'playing', reenter: true, actions: assign({ n: ({ context }) => context.n + 1 }) },
              },
              on: { PAUSE: 'paused' },
            },
            paused: { on: { PLAY: 'playing' } },
            hist: { type: 'history' },
          },
        },
        off: { on: { ON: 'on.hist' } },
      },
    },
    steps: [25_000, 'PAUSE', 50_000, 'OFF', 'ON', 'PLAY', 15_000],
  },
  {
    name: 'an order that is paid, sent and cancelled side by side',
    chart: {
      initial: 'open',
      states: {
        open: {
          type: 'parallel',
          on: { CANCEL: { target: 'cancelled', actions: 'refund' } },
          states: {
            payment: {
              initial: 'due',
              states: {
                due: {
                  on: { PAY: { target: 'paid', actions: ['receipt', raise({ type: 'CLEARED' })] } },
                  after: { 60_000: { actions: 'remind' } },
                },
                paid: { type: 'final' },
              },
            },
            parcel: {
              initial: 'packed',
              states: {
                packed: { on: { CLEARED: 'sent' } },
                sent: { entry: 'ship', after: { 20_000: 'arrived' } },
                arrived: { type: 'final' },
              },
            },
          },
          onDone: 'done',
        },
        cancelled: { type: 'final' },
        done: { type: 'final', entry: 'thank' },
      },
    },
    steps: [70_000, 'PAY', 30_000],
  },
  {
    name: 'a queue of sums that sends to itself',
    chart: {
      context: ({ input }) => ({ list: input, n: 0 }),
      initial: 'a',
      states: {
        a: {
          entry: sendTo(({ self }) => self, { type: 'NEXT' }),
          on: {
            NEXT: [
              { guard: ({ context }) => context.list.length === 0, target: 'b' },
              {
                actions: [
                  assign(({ context }) => ({ n: context.n + context.list[0], list: context.list.slice(1) })),
                  'took',
                  sendTo(({ self }) => self, { type: 'NEXT' }),
                ],
              },
            ],
          },
        },
        b: { type: 'final' },
      },
      output: ({ context }) => context.n,
    },
    input: [1, 2, 3, 4],
  },
]
