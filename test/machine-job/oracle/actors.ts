/** Promises, callbacks, observables and transition functions that a machine invokes. */
import { assign, fromEventObservable, raise, sendTo, type AnyEventObject } from 'xstate'
import type { Config } from './chart.ts'
import type { Case } from './lives-twice.ts'

/** A state that works, and where its end leads. */
const working = (more: object = {}, context: object = {}): Config => ({
  context,
  initial: 'a',
  states: {
    a: {
      exit: 'out-a',
      invoke: {
        id: 'w',
        src: 'work',
        onDone: { target: 'b', actions: 'done' },
        onError: { target: 'c', actions: 'failed' },
        ...more,
      },
      on: { LEAVE: 'd' },
    },
    b: { entry: 'in-b' },
    c: { entry: 'in-c' },
    d: { entry: 'in-d', on: { BACK: 'a' } },
  },
})

/** What the snapshot of an actor that an event tells of holds. */
const valueOf = (event: AnyEventObject): unknown => (event['snapshot'] as { readonly context: unknown }).context

/** Does something in each of so many turns of the event loop. */
function everyTurn(turns: number, act: () => void, end = (): void => {}): void {
  if (turns === 0) return end()
  setImmediate(() => {
    act()
    everyTurn(turns - 1, act, end)
  })
}

const boom = (): never => {
  throw new Error('boom')
}

export const promises: readonly Case[] = [
  {
    name: 'a promise that resolves',
    chart: working(),
    with: (make) => ({ actors: { work: make.promise('work', 100) } }),
    steps: [5_000],
  },
  {
    name: 'a promise that resolves at once',
    chart: working(),
    with: (make) => ({ actors: { work: make.promise('work', 0) } }),
  },
  {
    name: 'a promise that rejects',
    chart: working(),
    with: (make) => ({ actors: { work: make.promise('work', 100, boom) } }),
    steps: [5_000],
  },
  {
    name: 'a promise that rejects at once',
    chart: working(),
    with: (make) => ({ actors: { work: make.promise('work', 0, boom) } }),
  },
  {
    name: 'an input as it is written',
    chart: working({ input: { n: 1 } }),
    with: (make) => ({ actors: { work: make.promise('work', 100, (input) => input) } }),
    steps: [5_000],
  },
  {
    name: 'an input of context and event',
    chart: {
      context: { n: 1 },
      initial: 'a',
      states: {
        a: { on: { GO: 'b' } },
        b: {
          invoke: {
            src: 'work',
            input: ({ context, event }) => ({ n: context.n, m: event.n }),
            onDone: { target: 'c', actions: 'done' },
          },
        },
        c: {},
      },
    },
    with: (make) => ({ actors: { work: make.promise('work', 100) } }),
    steps: [{ type: 'GO', n: 2 }, 5_000],
  },
  {
    name: 'an input that sees what entry has assigned',
    chart: {
      context: { n: 1 },
      initial: 'a',
      states: { a: { entry: assign({ n: 5 }), invoke: { src: 'work', input: ({ context }) => context.n } } },
    },
    with: (make) => ({ actors: { work: make.promise('work', 100) } }),
    steps: [5_000],
  },
  {
    name: 'an output in the context',
    chart: {
      context: {},
      initial: 'a',
      states: {
        a: { invoke: { src: 'work', onDone: { target: 'b', actions: assign({ data: ({ event }) => event.output }) } } },
        b: {},
      },
    },
    with: (make) => ({ actors: { work: make.promise('work', 100, () => ({ list: [1, 2] })) } }),
    steps: [5_000],
  },
  {
    name: 'an error in the context',
    chart: {
      context: {},
      initial: 'a',
      states: {
        a: { invoke: { src: 'work', onError: { target: 'b', actions: assign({ data: ({ event }) => event.error }) } } },
        b: {},
      },
    },
    with: (make) => ({ actors: { work: make.promise('work', 100, boom) } }),
    steps: [5_000],
  },
  {
    name: 'a promise that rejects without onError is the error of the machine',
    chart: { initial: 'a', states: { a: { invoke: { src: 'work', onDone: 'b' } }, b: {} } },
    with: (make) => ({ actors: { work: make.promise('work', 100, boom) } }),
    steps: [5_000],
  },
  {
    name: 'a wildcard takes the error of a promise',
    chart: {
      initial: 'a',
      states: { a: { invoke: { src: 'work' }, on: { '*': { target: 'b', actions: 'caught' } } }, b: {} },
    },
    with: (make) => ({ actors: { work: make.promise('work', 100, boom) } }),
    steps: [5_000],
  },
  {
    name: 'a state that is left stops its promise',
    differs: 'stopsFirst',
    chart: working(),
    with: (make) => ({ actors: { work: make.promise('work', 50_000) } }),
    steps: ['LEAVE', 60_000],
  },
  {
    name: 'a state that is entered again begins its promise again',
    differs: 'stopsFirst',
    chart: working(),
    with: (make) => ({ actors: { work: make.promise('work', 50_000) } }),
    steps: ['LEAVE', 'BACK', 'LEAVE'],
  },
  {
    name: 'a reentering transition begins the promise again',
    chart: {
      initial: 'a',
      states: { a: { invoke: { src: 'work' }, on: { AGAIN: { target: 'a', reenter: true }, SELF: { target: 'a' } } } },
    },
    with: (make) => ({ actors: { work: make.promise('work', 50_000) } }),
    steps: ['SELF', 'AGAIN'],
  },
  {
    name: 'a promise without onDone',
    chart: { initial: 'a', states: { a: { invoke: { id: 'w', src: 'work' }, on: { GO: 'b' } }, b: {} } },
    with: (make) => ({ actors: { work: make.promise('work', 100) } }),
    steps: [5_000, 'GO'],
  },
  {
    name: 'a guard on its output',
    chart: {
      initial: 'a',
      states: {
        a: {
          invoke: {
            src: 'work',
            onDone: [{ guard: ({ event }) => event.output === 'no', target: 'b' }, { target: 'c' }],
          },
        },
        b: {},
        c: {},
      },
    },
    with: (make) => ({ actors: { work: make.promise('work', 100) } }),
    steps: [5_000],
  },
  {
    name: 'an onDone without a target',
    chart: {
      context: { n: 0 },
      initial: 'a',
      states: {
        a: {
          invoke: { src: 'work', onDone: { actions: [assign({ n: 1 }), 'done'] } },
          on: { GO: { guard: ({ context }) => context.n === 1, target: 'b' } },
        },
        b: {},
      },
    },
    with: (make) => ({ actors: { work: make.promise('work', 100) } }),
    steps: [5_000, 'GO'],
  },
  {
    name: 'the entry actions of a machine that starts, and its actors',
    chart: { entry: 'root', initial: 'a', states: { a: { entry: 'in-a', invoke: { src: 'work' } } } },
    with: (make) => ({ actors: { work: make.promise('work', 50_000) } }),
    differs: 'startOrder',
  },
  {
    name: 'a promise of the root',
    chart: { invoke: { src: 'work', onDone: '.b' }, initial: 'a', states: { a: {}, b: {} } },
    with: (make) => ({ actors: { work: make.promise('work', 100) } }),
    steps: [5_000],
  },
  {
    name: 'two promises of one state, each with its onDone',
    chart: {
      context: { list: [] },
      initial: 'a',
      states: {
        a: {
          invoke: [
            {
              src: 'one',
              onDone: { actions: assign({ list: ({ context, event }) => [...context.list, event.output] }) },
            },
            {
              src: 'two',
              onDone: { actions: assign({ list: ({ context, event }) => [...context.list, event.output] }) },
            },
          ],
          always: { guard: ({ context }) => context.list.length === 2, target: 'b' },
        },
        b: {},
      },
    },
    with: (make) => ({ actors: { one: make.promise('one', 200), two: make.promise('two', 100) } }),
    steps: [5_000],
  },
  {
    name: 'promises of two regions',
    chart: {
      type: 'parallel',
      states: {
        a: { initial: 'x', states: { x: { invoke: { src: 'one', onDone: 'y' } }, y: { type: 'final' } } },
        b: {
          initial: 'x',
          states: {
            x: { invoke: { src: 'two', onDone: 'y', onError: 'z' } },
            y: { type: 'final' },
            z: { type: 'final' },
          },
        },
      },
      output: 'joined',
    },
    with: (make) => ({ actors: { one: make.promise('one', 100), two: make.promise('two', 100, boom) } }),
    steps: [5_000],
  },
  {
    name: 'one that fails stops the other',
    differs: 'stopsFirst',
    chart: {
      initial: 'a',
      states: { a: { invoke: [{ src: 'one', onError: 'b' }, { src: 'two' }] }, b: { entry: 'in-b' } },
    },
    with: (make) => ({ actors: { one: make.promise('one', 100, boom), two: make.promise('two', 50_000) } }),
    steps: [5_000],
  },
  {
    name: 'the same actor in two states one after the other',
    chart: {
      initial: 'a',
      states: {
        a: { invoke: { src: 'work', input: 'a', onDone: 'b' } },
        b: { invoke: { src: 'work', input: 'b', onDone: 'c' } },
        c: { type: 'final' },
      },
    },
    with: (make) => ({ actors: { work: make.promise('work', 100, (input) => input) } }),
    steps: [5_000],
  },
  {
    name: 'a promise and a timer: the promise first',
    chart: {
      initial: 'a',
      states: { a: { invoke: { src: 'work', onDone: 'b' }, after: { 10_000: 'c' } }, b: {}, c: {} },
    },
    with: (make) => ({ actors: { work: make.promise('work', 100) } }),
    steps: [5_000, 10_000],
  },
  {
    name: 'a promise and a timer: the timer first',
    chart: {
      initial: 'a',
      states: { a: { invoke: { src: 'work', onDone: 'b' }, after: { 5_000: 'c' } }, b: {}, c: {} },
    },
    with: (make) => ({ actors: { work: make.promise('work', 50_000) } }),
    steps: [10_000],
  },
  {
    name: 'a promise that is retried after a while',
    chart: {
      context: { n: 0 },
      initial: 'a',
      states: {
        a: {
          entry: assign({ n: ({ context }) => context.n + 1 }),
          invoke: { src: 'work', input: ({ context }) => context.n, onDone: 'c', onError: 'b' },
        },
        b: { after: { 10_000: 'a' } },
        c: { type: 'final' },
      },
      output: ({ context }) => context.n,
    },
    with: (make) => ({ actors: { work: make.promise('work', 100, (n) => ((n as number) < 3 ? boom() : n)) } }),
    steps: [50_000],
  },
  {
    name: 'an invoke that is left by a step at once begins nothing',
    chart: {
      initial: 'a',
      states: { a: { on: { GO: 'b' } }, b: { invoke: { src: 'work' }, always: 'c' }, c: { entry: 'in-c' } },
    },
    with: (make) => ({ actors: { work: make.promise('work', 100) } }),
    steps: ['GO'],
  },
  {
    name: 'an invoke that is left by a raised event at once begins nothing',
    chart: {
      initial: 'a',
      states: {
        a: { on: { GO: { target: 'b', actions: raise({ type: 'R' }) } } },
        b: { invoke: { src: 'work' }, on: { R: 'c' } },
        c: {},
      },
    },
    with: (make) => ({ actors: { work: make.promise('work', 100) } }),
    steps: ['GO'],
  },
  {
    name: 'an invoke that is left and entered in one macrostep begins once',
    chart: {
      initial: 'a',
      states: {
        a: { on: { GO: { target: 'b', actions: raise({ type: 'AGAIN' }) } } },
        b: { invoke: { src: 'work' }, on: { AGAIN: { target: 'b', reenter: true } } },
      },
    },
    with: (make) => ({ actors: { work: make.promise('work', 50_000) } }),
    steps: ['GO'],
  },
  {
    name: 'one of two that is stopped in the next step',
    chart: {
      type: 'parallel',
      states: {
        a: { initial: 'x', states: { x: { invoke: { src: 'one' }, always: 'y' }, y: {} } },
        b: { invoke: { src: 'two' } },
      },
    },
    with: (make) => ({ actors: { one: make.promise('one', 50_000), two: make.promise('two', 50_000) } }),
  },
  {
    name: 'a machine that is done stops its promises',
    chart: { initial: 'a', invoke: { src: 'work' }, states: { a: { on: { GO: 'b' } }, b: { type: 'final' } } },
    with: (make) => ({ actors: { work: make.promise('work', 50_000) } }),
    steps: ['GO'],
  },
  {
    name: 'an inline promise',
    chart: {
      initial: 'a',
      states: { a: { invoke: { src: 'named', onDone: { target: 'b', actions: 'done' } } }, b: {} },
    },
    with: (make) => ({ actors: { named: make.promise('inline', 100, () => 7) } }),
    steps: [5_000],
  },
  {
    name: 'two ids of one actor',
    chart: {
      initial: 'a',
      states: {
        a: {
          invoke: [
            { id: 'first', src: 'work', input: 1, onDone: { actions: 'first' } },
            { id: 'second', src: 'work', input: 2, onDone: { actions: 'second' } },
          ],
          on: { 'xstate.done.actor.second': { actions: 'second-too' } },
        },
      },
    },
    with: (make) => ({ actors: { work: make.promise('work', 100, (input) => input) } }),
    steps: [5_000],
  },
]

export const callbacks: readonly Case[] = [
  {
    name: 'an event that it sends at once',
    differs: 'stopsFirst',
    chart: {
      initial: 'a',
      states: { a: { invoke: { src: 'work' }, on: { HELLO: { target: 'b', actions: 'hello' } } }, b: {} },
    },
    with: (make) => ({ actors: { work: make.callback('work', (send) => send({ type: 'HELLO', n: 1 })) } }),
  },
  {
    name: 'several events that it sends at once',
    chart: {
      context: { n: 0 },
      initial: 'a',
      states: {
        a: {
          invoke: { src: 'work' },
          on: { ADD: { actions: [assign({ n: ({ context, event }) => context.n + event.n }), 'added'] } },
        },
      },
    },
    with: (make) => ({
      actors: { work: make.callback('work', (send) => [1, 2, 3].forEach((n) => send({ type: 'ADD', n }))) },
    }),
    cutDiffers: 'callbacksRestart',
  },
  {
    name: 'it answers what it is sent',
    chart: {
      initial: 'a',
      states: {
        a: {
          invoke: { id: 'w', src: 'work' },
          on: {
            ASK: { actions: sendTo('w', ({ event }) => ({ type: 'PING', n: event.n })) },
            PONG: { target: 'b', actions: 'pong' },
          },
        },
        b: {},
      },
    },
    with: (make) => ({
      actors: {
        work: make.callback(
          'work',
          () => {},
          (event, send) => send({ type: 'PONG', n: event.n }),
        ),
      },
    }),
    steps: [{ type: 'ASK', n: 4 }],
  },
  {
    name: 'what entry sends it',
    chart: { initial: 'a', states: { a: { entry: sendTo('w', { type: 'HI' }), invoke: { id: 'w', src: 'work' } } } },
    with: (make) => ({ actors: { work: make.callback('work') } }),
  },
  {
    name: 'its end when its state is left',
    differs: 'stopsFirst',
    chart: working(),
    with: (make) => ({ actors: { work: make.callback('work') } }),
    steps: ['LEAVE'],
  },
  {
    name: 'its end when the machine is done',
    chart: { initial: 'a', states: { a: { invoke: { src: 'work' }, on: { GO: 'b' } }, b: { type: 'final' } } },
    with: (make) => ({ actors: { work: make.callback('work') } }),
    steps: ['GO'],
  },
  {
    name: 'what it sends of itself after its state was left',
    chart: {
      initial: 'a',
      states: {
        a: {
          exit: sendTo('w', { type: 'BYE' }),
          invoke: { id: 'w', src: 'work' },
          on: { GO: { target: 'b', actions: 'slow' } },
        },
        b: { on: { TICK: { actions: 'ghost' } } },
      },
    },
    with: (make) => ({
      actions: { slow: () => new Promise<void>((resolve) => everyTurn(3, () => {}, resolve)) },
      actors: { work: make.callback('work', (send) => everyTurn(1_000, () => send({ type: 'TICK' }))) },
    }),
    steps: ['GO'],
  },
  {
    name: 'its answer to what exit sends it',
    chart: {
      initial: 'a',
      states: {
        a: { exit: sendTo('w', { type: 'BYE' }), invoke: { id: 'w', src: 'work' }, on: { GO: 'b' } },
        b: { on: { FAREWELL: 'c' } },
        c: { type: 'final' },
      },
    },
    with: (make) => ({
      actors: {
        work: make.callback(
          'work',
          () => {},
          (_, send) => send({ type: 'FAREWELL' }),
        ),
      },
    }),
    steps: ['GO'],
    cutDiffers: 'callbacksRestart',
  },
  {
    name: 'what exit sends it',
    chart: {
      initial: 'a',
      states: { a: { exit: sendTo('w', { type: 'BYE' }), invoke: { id: 'w', src: 'work' }, on: { GO: 'b' } }, b: {} },
    },
    with: (make) => ({ actors: { work: make.callback('work') } }),
    steps: ['GO'],
  },
  {
    name: 'an input',
    differs: 'stopsFirst',
    chart: working({ input: { what: 'x' } }),
    with: (make) => ({ actors: { work: make.callback('work', (send, input) => send({ type: 'LEAVE', input })) } }),
  },
  {
    name: 'an error that it throws at once',
    chart: working(),
    with: (make) => ({ actors: { work: make.callback('work', boom) } }),
  },
  {
    name: 'an error that it throws at once, without onError',
    chart: { initial: 'a', states: { a: { invoke: { src: 'work' } } } },
    with: (make) => ({ actors: { work: make.callback('work', boom) } }),
  },
  {
    name: 'the onError of the state that has invoked it',
    chart: {
      initial: 'a',
      states: {
        a: { invoke: { src: 'work', onError: { target: 'b', actions: 'own' } } },
        b: { invoke: { src: 'quiet', onError: 'wrong' } },
        wrong: {},
      },
    },
    with: (make) => ({ actors: { work: make.callback('work', boom), quiet: make.callback('quiet') } }),
  },
  {
    name: 'a step before the state that invokes it',
    chart: {
      initial: 'a',
      states: { a: { on: { GO: 'b' } }, b: { always: 'c' }, c: { invoke: { src: 'work' }, on: { HELLO: 'd' } }, d: {} },
    },
    with: (make) => ({ actors: { work: make.callback('work', (send) => send({ type: 'HELLO' })) } }),
    steps: ['GO'],
  },
  {
    name: 'two callbacks of one state, in order',
    chart: {
      initial: 'a',
      states: { a: { invoke: [{ src: 'one' }, { src: 'two' }], on: { '*': { actions: 'heard' } } } },
    },
    with: (make) => ({
      actors: {
        one: make.callback('one', (send) => send({ type: 'ONE' })),
        two: make.callback('two', (send) => send({ type: 'TWO' })),
      },
    }),
    cutDiffers: 'callbacksRestart',
  },
  {
    name: 'the first of two leaves the state at once',
    chart: {
      initial: 'a',
      states: { a: { invoke: [{ src: 'one' }, { src: 'two' }], on: { ONE: 'b' } }, b: { entry: 'in-b' } },
    },
    with: (make) => ({
      actors: { one: make.callback('one', (send) => send({ type: 'ONE' })), two: make.callback('two') },
    }),
    differs: 'stopsFirst',
  },
  {
    name: 'a delayed event to it',
    chart: {
      initial: 'a',
      states: { a: { entry: sendTo('w', { type: 'LATE' }, { delay: 5_000 }), invoke: { id: 'w', src: 'work' } } },
    },
    with: (make) => ({ actors: { work: make.callback('work') } }),
    steps: [10_000],
  },
  {
    name: 'a delayed event to it is over when it is stopped',
    chart: {
      initial: 'a',
      states: {
        a: {
          entry: sendTo('w', { type: 'LATE' }, { delay: 10_000 }),
          invoke: { id: 'w', src: 'work' },
          on: { GO: 'b' },
        },
        b: {},
      },
    },
    with: (make) => ({ actors: { work: make.callback('work') } }),
    steps: ['GO', 20_000],
  },
  {
    name: 'a state that is entered again begins it again',
    differs: 'stopsFirst',
    chart: working(),
    with: (make) => ({ actors: { work: make.callback('work') } }),
    steps: ['LEAVE', 'BACK', 'LEAVE'],
  },
]

export const observables: readonly Case[] = [
  {
    name: 'one that completes',
    chart: working(),
    with: (make) => ({ actors: { work: make.observable('work', 0, [1, 2, 3]) } }),
  },
  {
    name: 'one that completes after a while',
    chart: working(),
    with: (make) => ({ actors: { work: make.observable('work', 100, [1, 2]) } }),
    steps: [5_000],
  },
  {
    name: 'its values in the context',
    chart: working(
      {
        onSnapshot: {
          guard: ({ event }: { event: AnyEventObject }) => valueOf(event) !== undefined,
          actions: assign({ list: ({ context, event }) => [...context.list, valueOf(event)] }),
        },
      },
      { list: [] },
    ),
    with: (make) => ({ actors: { work: make.observable('work', 100, [1, 2, 3]) } }),
    cutDiffers: 'callbacksRestart',
    steps: [5_000],
  },
  {
    name: 'a value that leads on',
    chart: {
      initial: 'a',
      states: {
        a: { invoke: { src: 'work', onSnapshot: { guard: ({ event }) => valueOf(event) === 2, target: 'b' } } },
        b: {},
      },
    },
    with: (make) => ({ actors: { work: make.observable('work', 100, [1, 2, 3], 'stay') } }),
    steps: [5_000],
  },
  {
    name: 'an error',
    chart: working(),
    with: (make) => ({ actors: { work: make.observable('work', 100, [1], new Error('boom')) } }),
    steps: [5_000],
  },
  {
    name: 'an error without onError',
    chart: { initial: 'a', states: { a: { invoke: { src: 'work' } } } },
    with: (make) => ({ actors: { work: make.observable('work', 100, [1], new Error('boom')) } }),
    steps: [5_000],
  },
  {
    name: 'events of one',
    chart: {
      context: { list: [] },
      initial: 'a',
      states: {
        a: {
          invoke: { src: 'work', onDone: 'b' },
          on: { ROW: { actions: [assign({ list: ({ context, event }) => [...context.list, event.n] }), 'row'] } },
        },
        b: {},
      },
    },
    with: (make) => ({
      actors: {
        work: fromEventObservable(() =>
          make.values(
            'work',
            100,
            [
              { type: 'ROW', n: 1 },
              { type: 'ROW', n: 2 },
            ],
            'complete',
          ),
        ),
      },
    }),
    cutDiffers: 'callbacksRestart',
    steps: [5_000],
  },
  {
    name: 'an event of one that leads on',
    chart: { initial: 'a', states: { a: { invoke: { src: 'work' }, on: { ROW: 'b' } }, b: {} } },
    with: (make) => ({
      actors: { work: fromEventObservable(() => make.values('work', 100, [{ type: 'ROW' }], 'stay')) },
    }),
    steps: [5_000],
  },
]

export const sums: readonly Case[] = [
  {
    name: 'it is sent events, and its state is told',
    chart: {
      context: { list: [] },
      invoke: {
        id: 's',
        src: 'sum',
        onSnapshot: { actions: assign({ list: ({ context, event }) => [...context.list, valueOf(event)] }) },
      },
      on: { ADD: { actions: sendTo('s', ({ event }) => event) } },
    },
    with: (make) => ({ actors: { sum: make.sum() } }),
    steps: [
      { type: 'ADD', n: 2 },
      { type: 'ADD', n: 3 },
      [
        { type: 'ADD', n: 4 },
        { type: 'ADD', n: 5 },
      ],
    ],
  },
  {
    name: 'it is sent events by entry',
    chart: {
      context: {},
      initial: 'a',
      states: {
        a: {
          entry: sendTo('s', { type: 'ADD', n: 7 }),
          invoke: {
            id: 's',
            src: 'sum',
            onSnapshot: { actions: assign({ n: ({ event }) => valueOf(event) }) },
          },
        },
      },
    },
    with: (make) => ({ actors: { sum: make.sum() } }),
  },
  {
    name: 'it begins anew with its state',
    chart: {
      context: {},
      initial: 'a',
      states: {
        a: {
          invoke: {
            id: 's',
            src: 'sum',
            onSnapshot: { actions: assign({ n: ({ event }) => valueOf(event) }) },
          },
          on: { ADD: { actions: sendTo('s', ({ event }) => event) }, GO: 'b' },
        },
        b: { on: { BACK: 'a' } },
      },
    },
    with: (make) => ({ actors: { sum: make.sum() } }),
    steps: [{ type: 'ADD', n: 2 }, 'GO', 'BACK', { type: 'ADD', n: 1 }],
  },
]
