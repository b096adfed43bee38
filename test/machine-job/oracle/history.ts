/** History states. */
import type { Config } from './chart.ts'
import type { Case } from './lives-twice.ts'

const lamp = (history: object): Config => ({
  initial: 'off',
  states: {
    off: { entry: 'in-off', on: { ON: 'on.hist', PLAIN: 'on' } },
    on: {
      entry: 'in-on',
      initial: 'dim',
      on: { OFF: 'off' },
      states: {
        dim: { entry: 'in-dim', on: { NEXT: 'mid' } },
        mid: {
          entry: 'in-mid',
          initial: 'warm',
          states: {
            warm: { entry: 'in-warm', on: { NEXT: 'cold' } },
            cold: { entry: 'in-cold', on: { NEXT: '#full' } },
          },
        },
        full: { id: 'full', entry: 'in-full' },
        hist: { type: 'history', ...history },
      },
    },
  },
})

const regions = (history: object): Config => ({
  initial: 'off',
  states: {
    off: {
      on: {
        ON: 'on',
        BACK: 'on.hist',
        ONE: 'on.a.hist',
        BOTH: { target: ['on.a.hist', 'on.b.hist'] },
        PART: { target: ['on.a.hist', 'on.b.two'] },
      },
    },
    on: {
      type: 'parallel',
      on: { OFF: 'off' },
      states: {
        a: {
          initial: 'one',
          states: {
            one: { entry: 'a-one', on: { A: 'two' } },
            two: { entry: 'a-two', initial: 'x', states: { x: { entry: 'a-x', on: { A: 'y' } }, y: { entry: 'a-y' } } },
            hist: { type: 'history', ...history },
          },
        },
        b: {
          initial: 'one',
          states: {
            one: { entry: 'b-one', on: { B: 'two' } },
            two: { entry: 'b-two' },
            hist: { type: 'history', ...history },
          },
        },
        hist: { type: 'history', ...history },
      },
    },
  },
})

export const history: readonly Case[] = [
  { name: 'a state that was never left is entered by its initial child', chart: lamp({}), steps: ['ON'] },
  {
    name: 'a state that was never left is entered by the target of its history',
    chart: lamp({ target: 'full' }),
    steps: ['ON'],
  },
  { name: 'the child that was active', chart: lamp({}), steps: ['ON', 'NEXT', 'NEXT', 'NEXT', 'OFF', 'ON'] },
  { name: 'shallow: the initial grandchild', chart: lamp({}), steps: ['ON', 'NEXT', 'NEXT', 'OFF', 'ON'] },
  { name: 'deep: the very grandchild', chart: lamp({ history: 'deep' }), steps: ['ON', 'NEXT', 'NEXT', 'OFF', 'ON'] },
  {
    name: 'deep: the child where there is no grandchild',
    chart: lamp({ history: 'deep' }),
    steps: ['ON', 'NEXT', 'NEXT', 'NEXT', 'OFF', 'ON'],
  },
  {
    name: 'the last of several stays',
    chart: lamp({ history: 'deep' }),
    steps: ['ON', 'OFF', 'ON', 'NEXT', 'OFF', 'ON', 'NEXT', 'OFF', 'ON'],
  },
  {
    name: 'a plain entry forgets nothing, and is remembered itself',
    chart: lamp({}),
    steps: ['ON', 'NEXT', 'OFF', 'PLAIN', 'OFF', 'ON'],
  },
  {
    name: 'the target of a history counts only the first time',
    chart: lamp({ target: 'full' }),
    steps: ['PLAIN', 'OFF', 'ON', 'NEXT', 'OFF', 'ON'],
  },
  { name: 'each region by its own history, never left', chart: regions({}), steps: ['BOTH'] },
  { name: 'each region by its own history', chart: regions({}), steps: ['ON', 'A', 'A', 'B', 'OFF', 'BOTH'] },
  {
    name: 'each region by its own deep history',
    chart: regions({ history: 'deep' }),
    steps: ['ON', 'A', 'A', 'B', 'OFF', 'BOTH'],
  },
  {
    name: 'all regions by the deep history of the parallel state',
    chart: regions({ history: 'deep' }),
    steps: ['ON', 'A', 'A', 'B', 'OFF', 'BACK'],
  },
  {
    name: 'all regions by the shallow history of the parallel state',
    chart: regions({}),
    steps: ['ON', 'A', 'B', 'OFF', 'BACK'],
  },
  {
    name: 'one region by its history, the other from its start',
    chart: regions({ history: 'deep' }),
    steps: ['ON', 'A', 'B', 'OFF', 'ONE'],
  },
  { name: 'one region by its history, the other by its target', chart: regions({}), steps: ['ON', 'A', 'OFF', 'PART'] },
  {
    name: 'the actions of an initial transition are executed by a history that was never left',
    chart: {
      initial: 'off',
      states: {
        off: { on: { ON: 'on.hist' } },
        on: {
          initial: { target: 'a', actions: 'initial' },
          states: { a: { entry: 'a' }, b: {}, hist: { type: 'history' } },
        },
      },
    },
    steps: ['ON'],
  },
  {
    name: 'the actions of an initial transition are left out by a history that knows more',
    chart: {
      initial: 'off',
      states: {
        off: { on: { ON: 'on.hist' } },
        on: {
          initial: { target: 'a', actions: 'initial' },
          on: { OFF: 'off' },
          states: { a: { on: { NEXT: 'b' } }, b: { entry: 'b' }, hist: { type: 'history' } },
        },
      },
    },
    steps: ['ON', 'NEXT', 'OFF', 'ON'],
  },
  {
    name: 'a transition within a state to its history',
    chart: {
      initial: 'on',
      states: {
        on: {
          initial: 'a',
          on: { BACK: '.hist' },
          states: { a: { on: { NEXT: 'b' } }, b: { entry: 'b' }, hist: { type: 'history', target: 'a' } },
        },
      },
    },
    steps: ['NEXT', 'BACK'],
  },
  {
    name: 'a state goes to the history of another, and back',
    chart: {
      initial: 'm',
      states: {
        m: {
          initial: 'a',
          on: { PAUSE: 'p' },
          states: {
            a: { after: { 20_000: 'b' } },
            b: { after: { 20_000: 'c' } },
            c: { type: 'final' },
            hist: { type: 'history' },
          },
          onDone: 'end',
        },
        p: { on: { RESUME: 'm.hist' } },
        end: {},
      },
    },
    steps: [30_000, 'PAUSE', 60_000, 'RESUME', 10_000, 30_000],
  },
  {
    name: 'an initial state that is a history',
    chart: {
      initial: 'a',
      states: {
        a: {
          initial: 'hist',
          on: { AWAY: 'z' },
          states: { x: { on: { NEXT: 'y' } }, y: {}, hist: { type: 'history', target: 'x' } },
        },
        z: { on: { BACK: 'a' } },
      },
    },
    steps: ['NEXT', 'AWAY', 'BACK'],
  },
]
