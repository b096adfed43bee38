/** Which transition an event selects and which states it leaves and enters. */
import { assign, raise } from 'xstate'
import type { Config } from './chart.ts'
import type { Case } from './lives-twice.ts'

/** A state that reports its entry and exit. */
const told = <T extends object>(key: string, rest: T) => ({ entry: `in-${key}`, exit: `out-${key}`, ...rest })

/** Four levels, each of which takes an event of its own. */
const deep: Config = {
  id: 'root',
  initial: 'a',
  on: { ROOT: '#done' },
  states: {
    a: told('a', {
      initial: 'b',
      on: { A: '#fail' },
      states: {
        b: told('b', {
          initial: 'c',
          on: { B: '#fail' },
          states: {
            c: told('c', {
              initial: 'd',
              on: { C: '#fail', SHADOW: '#fail' },
              states: { d: told('d', { on: { D: '#fail', SHADOW: { actions: 'innermost' } } }), e: {} },
            }),
          },
        }),
      },
    }),
    fail: told('fail', { id: 'fail', on: { DEEP: 'a.b.c.e', BACK: 'a' } }),
    done: told('done', { id: 'done' }),
  },
}

export const transitions: readonly Case[] = [
  { name: 'the innermost state takes an event first', chart: deep, steps: ['SHADOW', 'D'] },
  { name: 'an event of a state two levels up leaves all below it', chart: deep, steps: ['C'] },
  { name: 'an event of a state three levels up leaves all below it', chart: deep, steps: ['B'] },
  { name: 'an event of the outermost state leaves all below it', chart: deep, steps: ['A', 'BACK'] },
  { name: 'an event of the root leaves all', chart: deep, steps: ['ROOT'] },
  { name: 'a deep state may be targeted by its path', chart: deep, steps: ['D', 'DEEP', 'A'] },
  {
    name: 'an event falls through to the parent where the child does not take it',
    chart: {
      initial: 'a',
      states: {
        a: {
          initial: 'b',
          on: { GO: 'c' },
          states: { b: { on: { OTHER: 'd' } }, d: { on: { GO: { guard: () => false, target: 'b' } } } },
        },
        c: {},
      },
    },
    steps: ['OTHER', 'GO'],
  },
  {
    name: 'a forbidden event does not fall through',
    chart: {
      initial: 'a',
      states: { a: { initial: 'b', on: { GO: 'c' }, states: { b: { on: { GO: {}, FREE: 'd' } }, d: {} } }, c: {} },
    },
    steps: ['GO', 'FREE', 'GO'],
  },
  {
    name: 'the first of several transitions whose guard holds is taken',
    chart: {
      initial: 'a',
      states: {
        a: {
          on: {
            GO: [
              { guard: ({ event }) => event.n > 10, target: 'big' },
              { guard: ({ event }) => event.n > 5, target: 'middle' },
              { target: 'small' },
            ],
          },
        },
        big: {},
        middle: {},
        small: { on: { BACK: 'a' } },
      },
    },
    steps: [{ type: 'GO', n: 1 }, 'BACK', { type: 'GO', n: 7 }],
  },
  {
    name: 'a root’s transition to a state by its id',
    chart: {
      initial: 'a',
      on: { HOME: '#home', OUT: '.out' },
      states: { a: { id: 'home' }, out: { initial: 'in', states: { in: {} } } },
    },
    steps: ['OUT', 'HOME', 'OUT'],
  },
  {
    name: 'an id with a path below it',
    chart: {
      initial: 'a',
      states: { a: { on: { GO: '#deep.two' } }, b: { id: 'deep', initial: 'one', states: { one: {}, two: {} } } },
    },
    steps: ['GO'],
  },
  {
    name: 'a key with an escaped dot',
    chart: { initial: 'a', states: { a: { on: { GO: 'b\\.c' } }, 'b.c': { on: { GO: 'a' } } } },
    steps: ['GO', 'GO'],
  },
  {
    name: 'a transition without a target keeps the child that is active',
    chart: {
      context: { n: 0 },
      initial: 'a',
      states: {
        a: told('a', {
          initial: 'b',
          on: { NOTE: { actions: assign({ n: ({ context }) => context.n + 1 }) } },
          states: { b: told('b', { on: { GO: 'c' } }), c: told('c', {}) },
        }),
      },
    },
    steps: ['GO', 'NOTE'],
  },
  {
    name: 'transitions without targets among guarded ones',
    chart: {
      context: { n: 0 },
      initial: 'a',
      states: {
        a: told('a', {
          on: {
            T: [
              { guard: ({ context }) => context.n < 2, actions: assign({ n: ({ context }) => context.n + 1 }) },
              { target: 'b' },
            ],
          },
        }),
        b: told('b', {}),
      },
    },
    steps: ['T', 'T', 'T'],
  },
  {
    name: 'a reentering transition leaves and enters the state that takes it',
    chart: {
      initial: 'a',
      states: {
        a: told('a', {
          initial: 'b',
          on: { INNER: '.c', OUTER: { target: '.c', reenter: true } },
          states: { b: told('b', {}), c: told('c', {}) },
        }),
      },
    },
    steps: ['INNER', 'OUTER'],
  },
  {
    name: 'a transition to the very state from a child of it',
    chart: {
      initial: 'a',
      states: {
        a: told('a', {
          id: 'a',
          initial: 'b',
          states: { b: told('b', { on: { UP: '#a', AGAIN: { target: '#a', reenter: true } } }) },
        }),
      },
    },
    steps: ['UP', 'AGAIN'],
  },
  {
    name: 'a move from one branch to another by a path from the root',
    chart: {
      id: 'm',
      initial: 'a',
      states: {
        a: told('a', { initial: 'x', states: { x: told('ax', { on: { GO: '#m.b.y' } }) } }),
        b: told('b', { initial: 'x', states: { x: told('bx', {}), y: told('by', { on: { GO: '#m.a' } }) } }),
      },
    },
    steps: ['GO', 'GO'],
  },
  {
    name: 'several targets in regions of one parallel state',
    chart: {
      initial: 'a',
      states: {
        a: { on: { GO: { target: ['p.one.y', 'p.two.y'] }, SOME: { target: ['p.two.y'] } } },
        p: {
          type: 'parallel',
          on: { BACK: 'a' },
          states: {
            one: { initial: 'x', states: { x: told('1x', {}), y: told('1y', {}) } },
            two: { initial: 'x', states: { x: told('2x', {}), y: told('2y', {}) } },
          },
        },
      },
    },
    steps: ['GO', 'BACK', 'SOME'],
  },
  {
    name: 'an event with a payload is not changed by what takes it',
    chart: { on: { PUT: { actions: 'put' } } },
    steps: [{ type: 'PUT', what: 'x', n: 3, list: [1, [2, { deep: null }]], empty: {} }],
  },
  {
    name: 'a chain of raised events moves through several states',
    chart: {
      initial: 'a',
      states: {
        a: { on: { GO: { target: 'b', actions: raise({ type: 'NEXT' }) } } },
        b: { on: { NEXT: { target: 'c', actions: raise({ type: 'NEXT' }) } } },
        c: { on: { NEXT: 'd' } },
        d: { entry: 'arrived' },
      },
    },
    steps: ['GO'],
  },
]

export const descriptors: readonly Case[] = [
  {
    name: 'a wildcard takes what nothing else does',
    chart: {
      initial: 'a',
      states: { a: { on: { KNOWN: 'b', '*': 'c' } }, b: { on: { '*': 'a' } }, c: { on: { '*': { actions: 'any' } } } },
    },
    steps: ['KNOWN', 'x', 'whatever', 'more'],
  },
  {
    name: 'a named event comes before a wildcard that is written first',
    chart: { initial: 'a', states: { a: { on: { '*': 'fail', GO: 'pass' } }, fail: {}, pass: {} } },
    steps: ['GO'],
  },
  {
    name: 'a named event comes before a partial wildcard that is written first',
    chart: { initial: 'a', states: { a: { on: { 'a.*': 'fail', 'a.b': 'pass' } }, fail: {}, pass: {} } },
    steps: ['a.b'],
  },
  {
    name: 'a longer partial wildcard comes before a shorter one',
    chart: { initial: 'a', states: { a: { on: { 'a.*': 'fail', 'a.b.*': 'pass' } }, fail: {}, pass: {} } },
    steps: ['a.b.c'],
  },
  {
    name: 'a shorter partial wildcard takes what a longer one does not',
    chart: { initial: 'a', states: { a: { on: { 'a.b.c.*': 'fail', 'a.b.*': 'pass' } }, fail: {}, pass: {} } },
    steps: ['a.b.d'],
  },
  {
    name: 'a wildcard takes a named event whose guard fails',
    chart: {
      initial: 'a',
      states: { a: { on: { GO: { guard: () => false, target: 'fail' }, '*': 'pass' } }, fail: {}, pass: {} },
    },
    steps: ['GO'],
  },
  {
    name: 'a part of a token is no wildcard',
    chart: { initial: 'a', states: { a: { on: { 'go*': 'fail', x: 'b' } }, b: {}, fail: {} } },
    steps: ['gone', 'x'],
  },
  {
    name: 'a partial wildcard takes its own prefix',
    chart: { initial: 'a', states: { a: { on: { 'go.*': 'b' } }, b: {} } },
    steps: ['go'],
  },
  {
    name: 'a partial wildcard takes one token more',
    chart: { initial: 'a', states: { a: { on: { 'go.*': 'b' } }, b: { on: { 'go.*': { actions: 'go' } } } } },
    steps: ['go.x', 'go.x.y.z', 'gone'],
  },
  {
    name: 'a partial wildcard of two tokens',
    chart: { initial: 'a', states: { a: { on: { 'go.to.*': 'b' } }, b: {} } },
    steps: ['go.from.x', 'go.to.x.y'],
  },
  {
    name: 'the wildcard of a child comes before the name of its parent',
    chart: {
      initial: 'a',
      on: { GO: '.c' },
      states: { a: { initial: 'x', states: { x: { on: { '*': { actions: 'swallowed' } } } } }, c: {} },
    },
    steps: ['GO'],
  },
  {
    name: 'a wildcard does not take a step without an event',
    chart: {
      initial: 'a',
      states: {
        a: { on: { GO: 'b' } },
        b: { always: { guard: () => false, target: 'c' }, on: { '*': 'fail' } },
        c: {},
        fail: {},
      },
    },
    steps: ['GO'],
  },
  {
    name: 'a wildcard takes a raised event',
    chart: {
      initial: 'a',
      states: { a: { on: { GO: 'b' } }, b: { entry: raise({ type: 'UNKNOWN' }), on: { '*': 'c' } }, c: {} },
    },
    steps: ['GO'],
  },
  {
    name: 'a partial wildcard takes the end of an actor',
    chart: {
      initial: 'a',
      states: { a: { invoke: { id: 'w', src: 'work' }, on: { 'xstate.done.actor.*': 'b' } }, b: {} },
    },
    with: (make) => ({ actors: { work: make.promise('work', 0) } }),
  },
]

export const tags: readonly Case[] = [
  {
    name: 'tags of the states that are active',
    chart: {
      initial: 'a',
      states: { a: { tags: ['one', 'two'], on: { GO: 'b' } }, b: { tags: 'two', on: { GO: 'c' } }, c: {} },
    },
    steps: ['GO', 'GO'],
  },
  {
    name: 'tags of parents and children together',
    chart: {
      tags: 'root',
      initial: 'a',
      states: { a: { tags: 'out', initial: 'b', states: { b: { tags: 'in', on: { GO: 'c' } }, c: {} } } },
    },
    steps: ['GO'],
  },
  {
    name: 'tags of parallel states',
    chart: {
      type: 'parallel',
      states: {
        a: { initial: 'x', states: { x: { tags: ['ax', 'both'] }, y: { tags: 'ay' } }, on: { A: '.y' } },
        b: { initial: 'x', states: { x: { tags: ['bx', 'both'] }, y: {} }, on: { B: '.y' } },
      },
    },
    steps: ['A', 'B'],
  },
  {
    name: 'tags after an event that nobody takes',
    chart: { initial: 'a', states: { a: { tags: 'green', on: { GO: 'b' } }, b: { tags: 'red' } } },
    steps: ['NOTHING', 'GO', 'NOTHING'],
  },
  {
    name: 'tags of a final state',
    chart: { initial: 'a', states: { a: { on: { GO: 'b' } }, b: { type: 'final', tags: 'over' } } },
    steps: ['GO'],
  },
]
