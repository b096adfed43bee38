/** Events that a machine sends to itself, and actions that enqueue actions. */
import { assign, cancel, emit, enqueueActions, raise, sendTo } from 'xstate'
import type { Case } from './lives-twice.ts'

export const raised: readonly Case[] = [
  {
    name: 'an event raised on entry',
    chart: { initial: 'a', states: { a: { entry: raise({ type: 'R' }), on: { R: 'b' } }, b: {} } },
  },
  {
    name: 'an event raised by a transition is taken by its target',
    chart: {
      initial: 'a',
      states: {
        a: { on: { GO: { target: 'b', actions: raise({ type: 'R' }) }, R: 'wrong' } },
        b: { on: { R: 'c' } },
        c: {},
        wrong: {},
      },
    },
    steps: ['GO'],
  },
  {
    name: 'a raised event of the context and the event',
    chart: {
      context: { n: 2 },
      on: {
        GO: { actions: raise(({ context, event }) => ({ type: 'R', sum: context.n + event.n })) },
        R: { actions: 'heard' },
      },
    },
    steps: [{ type: 'GO', n: 5 }],
  },
  {
    name: 'raised events wait for the actions after them',
    chart: { entry: [raise({ type: 'R' }), 'after-raise'], on: { R: { actions: 'heard' } } },
  },
  {
    name: 'events raised by events that were raised',
    chart: {
      on: {
        GO: { actions: [raise({ type: 'A' }), raise({ type: 'B' })] },
        A: { actions: ['a', raise({ type: 'C' })] },
        B: { actions: 'b' },
        C: { actions: 'c' },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'exit, transition and entry raise in this order',
    chart: {
      initial: 'a',
      on: { '*': { actions: 'heard' } },
      states: {
        a: { exit: raise({ type: 'EXIT' }), on: { GO: { target: 'b', actions: raise({ type: 'TRANSITION' }) } } },
        b: { entry: raise({ type: 'ENTRY' }) },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'an event raised in one region is taken by another',
    chart: {
      type: 'parallel',
      states: {
        a: { initial: 'x', states: { x: { on: { GO: { target: 'y', actions: raise({ type: 'R' }) } } }, y: {} } },
        b: { initial: 'x', states: { x: { on: { R: 'y' } }, y: { entry: 'b-y' } } },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'an event that is sent to itself comes after what was raised',
    chart: {
      on: {
        GO: { actions: [sendTo(({ self }) => self, { type: 'SENT' }), raise({ type: 'RAISED' })] },
        SENT: { actions: 'sent' },
        RAISED: { actions: 'raised' },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'an event that is sent to itself while it starts',
    chart: {
      entry: [sendTo(({ self }) => self, { type: 'SENT' }), 'entry'],
      initial: 'a',
      states: { a: { on: { SENT: 'b' } }, b: {} },
    },
  },
  {
    name: 'a raised event that nobody takes',
    chart: { initial: 'a', states: { a: { on: { GO: { target: 'b', actions: raise({ type: 'NOBODY' }) } } }, b: {} } },
    steps: ['GO'],
  },
  {
    name: 'events that come while others were raised wait their turn',
    chart: {
      context: { list: [] },
      on: {
        GO: {
          actions: [
            assign({ list: ({ context, event }) => [...context.list, event.n] }),
            raise(({ event }) => ({ type: 'R', n: event.n * 10 })),
          ],
        },
        R: { actions: assign({ list: ({ context, event }) => [...context.list, event.n] }) },
      },
    },
    steps: [
      [
        { type: 'GO', n: 1 },
        { type: 'GO', n: 2 },
        { type: 'GO', n: 3 },
      ],
    ],
  },
]

export const enqueued: readonly Case[] = [
  {
    name: 'a named action, several, and the same twice',
    chart: { entry: enqueueActions(({ enqueue }) => (enqueue('one'), enqueue('two'), enqueue('one'))) },
    with: () => ({ enqueued: ['one', 'two'] }),
  },
  {
    name: 'an action with params',
    chart: { entry: enqueueActions(({ enqueue }) => enqueue({ type: 'greet', params: { n: 1 } })) },
    with: () => ({ enqueued: ['greet'] }),
  },
  {
    name: 'an assign among them',
    chart: {
      context: { n: 0 },
      entry: enqueueActions(({ enqueue }) => {
        enqueue('before')
        enqueue.assign(({ context }) => ({ n: context.n + 41 }))
        enqueue('after')
      }),
    },
    with: () => ({ enqueued: ['before', 'after'] }),
  },
  {
    name: 'a builtin action made by its own creator',
    chart: {
      entry: enqueueActions(({ enqueue }) => (enqueue(raise({ type: 'R' })), enqueue('last'))),
      on: { R: { actions: 'heard' } },
    },
    with: () => ({ enqueued: ['last'] }),
  },
  {
    name: 'raise, of its own',
    chart: {
      on: {
        GO: { actions: enqueueActions(({ enqueue }) => enqueue.raise({ type: 'R', n: 1 })) },
        R: { actions: 'heard' },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'a guard is asked by its name',
    chart: {
      context: { on: true },
      entry: enqueueActions(({ enqueue, check }) => {
        if (check('isOn')) enqueue('on')
        if (check({ type: 'is', params: { what: false } } as never)) enqueue('off')
      }),
    },
    with: () => ({
      enqueued: ['on', 'off'],
      guards: {
        isOn: ({ context }: { context: { on: boolean } }) => context.on,
        is: ({ context }: { context: { on: boolean } }, { what }: { what: boolean }) => context.on === what,
      },
    }),
  },
  {
    name: 'it decides by context and event',
    chart: {
      context: { n: 0 },
      on: {
        GO: {
          actions: [
            assign({ n: ({ context }) => context.n + 1 }),
            enqueueActions(({ context, event, enqueue }) =>
              enqueue(context.n > 1 ? { type: 'many', params: { n: context.n } } : `one-${event.what}`),
            ),
          ],
        },
      },
    },
    with: () => ({ enqueued: ['many', 'one-x'] }),
    steps: [
      { type: 'GO', what: 'x' },
      { type: 'GO', what: 'x' },
    ],
  },
  {
    name: 'a named one, with params',
    chart: { entry: { type: 'choose', params: { what: 'left' } } },
    with: () => ({
      enqueued: ['left', 'right'],
      actions: { choose: enqueueActions(({ enqueue }, { what }: { what: string }) => enqueue(what)) },
    }),
  },
  {
    name: 'one within another',
    chart: {
      context: { n: 0 },
      entry: enqueueActions(({ enqueue }) => {
        enqueue('outer')
        enqueue(enqueueActions(({ enqueue }) => (enqueue.assign({ n: 7 }), enqueue('inner'))))
        enqueue('last')
      }),
    },
    with: () => ({ enqueued: ['outer', 'inner', 'last'] }),
  },
  {
    name: 'it emits, sends to itself, sets and cancels a timer',
    chart: {
      entry: enqueueActions(({ enqueue, self }) => {
        enqueue.emit({ type: 'out', n: 1 })
        enqueue.sendTo(self, { type: 'SENT' })
        enqueue.raise({ type: 'LATE' }, { delay: 10_000, id: 'late' })
        enqueue.raise({ type: 'LATER' }, { delay: 20_000, id: 'later' })
        enqueue.cancel('late')
      }),
      on: { SENT: { actions: 'sent' }, LATE: { actions: 'late' }, LATER: { actions: 'later' } },
    },
    steps: [15_000, 10_000],
  },
  {
    name: 'nothing is enqueued',
    chart: {
      initial: 'a',
      states: { a: { on: { GO: { target: 'b', actions: enqueueActions(() => {}) } } }, b: { entry: 'b' } },
    },
    steps: ['GO'],
  },
]

export const emitted: readonly Case[] = [
  { name: 'an event on entry', chart: { entry: emit({ type: 'out', n: 1 }) } },
  {
    name: 'events of context and event, in order',
    chart: {
      context: { n: 1 },
      on: {
        GO: {
          actions: [
            emit(({ context, event }) => ({ type: 'out', n: context.n, what: event.what })),
            assign({ n: 2 }),
            emit(({ context }) => ({ type: 'out', n: context.n })),
          ],
        },
      },
    },
    steps: [{ type: 'GO', what: 'x' }],
  },
  {
    name: 'an event between actions',
    chart: { entry: ['first', emit({ type: 'out' }), 'last'] },
  },
  {
    name: 'events of several states on the way',
    chart: {
      initial: 'a',
      states: {
        a: { exit: emit({ type: 'left' }), on: { GO: { target: 'b', actions: emit({ type: 'go' }) } } },
        b: { entry: emit({ type: 'entered' }), always: 'c' },
        c: { type: 'final', entry: emit({ type: 'over' }) },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'an event of a raised event',
    chart: {
      on: {
        GO: { actions: [raise({ type: 'R' }), emit({ type: 'first' })] },
        R: { actions: emit({ type: 'second' }) },
      },
    },
    steps: ['GO', 'GO'],
  },
  {
    name: 'an event of a timer',
    chart: { initial: 'a', states: { a: { after: { 10_000: { actions: emit({ type: 'tick' }) } } } } },
    steps: [20_000],
  },
]

export const delayedRaises: readonly Case[] = [
  {
    name: 'an event raised after a while',
    chart: { initial: 'a', states: { a: { entry: raise({ type: 'R' }, { delay: 10_000 }), on: { R: 'b' } }, b: {} } },
    steps: [5_000, 10_000],
  },
  {
    name: 'an event raised with a delay of 0',
    chart: {
      initial: 'a',
      states: { a: { entry: [raise({ type: 'R' }, { delay: 0 }), 'first'], on: { R: 'b' } }, b: {} },
    },
    steps: [1],
  },
  {
    name: 'a delay of context and event',
    chart: {
      context: { n: 10_000 },
      on: {
        GO: { actions: raise({ type: 'R' }, { delay: ({ context, event }) => context.n * event.n }) },
        R: { actions: 'heard' },
      },
    },
    steps: [{ type: 'GO', n: 2 }, 15_000, 10_000],
  },
  {
    name: 'a named delay',
    chart: { entry: raise({ type: 'R' }, { delay: 'long' }), on: { R: { actions: 'heard' } } },
    with: () => ({ delays: { long: 10_000 } }),
    steps: [5_000, 10_000],
  },
  {
    name: 'a delayed event outlives the state that raised it',
    chart: {
      initial: 'a',
      on: { R: { actions: 'heard' } },
      states: { a: { entry: raise({ type: 'R' }, { delay: 10_000 }), on: { GO: 'b' } }, b: {} },
    },
    steps: ['GO', 15_000],
  },
  {
    name: 'a delayed event is cancelled by its id',
    chart: {
      entry: raise({ type: 'R' }, { delay: 10_000, id: 'r' }),
      on: { R: { actions: 'heard' }, STOP: { actions: cancel('r') } },
    },
    steps: ['STOP', 15_000],
  },
  {
    name: 'a delayed event is cancelled by an id that is computed',
    chart: {
      entry: [raise({ type: 'R' }, { delay: 10_000, id: 'r1' }), raise({ type: 'S' }, { delay: 10_000, id: 'r2' })],
      on: { R: { actions: 'R' }, S: { actions: 'S' }, STOP: { actions: cancel(({ event }) => `r${event.n}`) } },
    },
    steps: [{ type: 'STOP', n: 1 }, 15_000],
  },
  {
    name: 'a cancel of what is not there',
    chart: { initial: 'a', states: { a: { on: { STOP: { target: 'b', actions: cancel('nothing') } } }, b: {} } },
    steps: ['STOP'],
  },
  {
    name: 'a delayed event is set and cancelled in one step',
    chart: { entry: [raise({ type: 'R' }, { delay: 10_000, id: 'r' }), cancel('r')], on: { R: { actions: 'heard' } } },
    steps: [15_000],
  },
  {
    name: 'delayed events come by their time, not by their order',
    chart: {
      entry: [
        raise({ type: 'C' }, { delay: 30_000 }),
        raise({ type: 'A' }, { delay: 10_000 }),
        raise({ type: 'B' }, { delay: 20_000 }),
      ],
      on: { '*': { actions: 'heard' } },
    },
    steps: [40_000],
  },
  {
    name: 'delayed events of one instant come in the order in which they were raised',
    chart: {
      entry: [
        raise({ type: 'A' }, { delay: 10_000 }),
        raise({ type: 'B' }, { delay: 10_000 }),
        raise({ type: 'C' }, { delay: 10_000 }),
      ],
      on: { '*': { actions: 'heard' } },
    },
    steps: [15_000],
  },
  {
    name: 'an id that is used again',
    chart: {
      on: {
        SET: { actions: raise(({ event }) => ({ type: 'R', n: event.n }), { delay: 10_000, id: 'r' }) },
        STOP: { actions: cancel('r') },
        R: { actions: 'heard' },
      },
    },
    steps: [{ type: 'SET', n: 1 }, 'STOP', { type: 'SET', n: 2 }, 15_000],
  },
  {
    name: 'two delayed events of one id both come',
    chart: {
      on: {
        SET: { actions: raise(({ event }) => ({ type: 'R', n: event.n }), { delay: 10_000, id: 'r' }) },
        R: { actions: 'heard' },
      },
    },
    steps: [{ type: 'SET', n: 1 }, 5_000, { type: 'SET', n: 2 }, 15_000],
  },
  {
    name: 'a cancel of an id that two delayed events have',
    chart: {
      on: {
        SET: { actions: raise(({ event }) => ({ type: 'R', n: event.n }), { delay: 10_000, id: 'r' }) },
        STOP: { actions: cancel('r') },
        R: { actions: 'heard' },
      },
    },
    steps: [{ type: 'SET', n: 1 }, { type: 'SET', n: 2 }, 'STOP', 15_000],
  },
  {
    name: 'a cancel of an id that two delayed events have, when the first has come',
    chart: {
      on: {
        SET: { actions: raise(({ event }) => ({ type: 'R', n: event.n }), { delay: 20_000, id: 'r' }) },
        STOP: { actions: cancel('r') },
        R: { actions: 'heard' },
      },
    },
    steps: [{ type: 'SET', n: 1 }, 10_000, { type: 'SET', n: 2 }, 15_000, 'STOP', 15_000],
  },
  {
    name: 'a delayed event to itself',
    chart: {
      entry: sendTo(({ self }) => self, { type: 'S', n: 1 }, { delay: 10_000, id: 's' }),
      on: { S: { actions: 'heard' }, STOP: { actions: cancel('s') } },
    },
    steps: [15_000],
  },
  {
    name: 'a delayed event to itself is cancelled',
    chart: {
      entry: sendTo(({ self }) => self, { type: 'S', n: 1 }, { delay: 10_000, id: 's' }),
      on: { S: { actions: 'heard' }, STOP: { actions: cancel('s') } },
    },
    steps: ['STOP', 15_000],
  },
  {
    name: 'a delayed event is over when the machine is done',
    chart: {
      initial: 'a',
      on: { R: { actions: 'heard' } },
      states: { a: { entry: raise({ type: 'R' }, { delay: 10_000 }), on: { GO: 'b' } }, b: { type: 'final' } },
    },
    steps: ['GO', 15_000],
  },
]
