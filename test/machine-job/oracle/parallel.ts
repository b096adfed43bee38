/** Parallel states: regions side by side. */
import { assign, raise, stateIn } from 'xstate'
import type { Config } from './chart.ts'
import type { Case } from './lives-twice.ts'

const word: Config = {
  type: 'parallel',
  states: {
    bold: {
      initial: 'off',
      states: { off: { on: { BOLD: 'on', ALL: 'on' } }, on: { entry: 'bold', on: { BOLD: 'off', NONE: 'off' } } },
    },
    italic: {
      initial: 'off',
      states: { off: { on: { ITALIC: 'on', ALL: 'on' } }, on: { entry: 'italic', on: { ITALIC: 'off', NONE: 'off' } } },
    },
    list: {
      initial: 'none',
      states: {
        none: { on: { BULLETS: 'bullets' } },
        bullets: { on: { NUMBERS: 'numbers', ALL: 'none' } },
        numbers: { exit: 'out-numbers', on: { NONE: 'none' } },
      },
    },
  },
}

const told = (key: string) => ({ entry: `in-${key}`, exit: `out-${key}` })

export const parallel: readonly Case[] = [
  { name: 'all regions begin in their initial states', chart: word },
  { name: 'an event moves the one region that takes it', chart: word, steps: ['BOLD', 'BULLETS', 'NUMBERS', 'BOLD'] },
  { name: 'an event moves every region that takes it', chart: word, steps: ['BULLETS', 'ALL', 'NONE'] },
  {
    name: 'an event that a region does not take in its state',
    chart: word,
    steps: ['NUMBERS', 'ITALIC', 'NONE', 'NONE'],
  },
  {
    name: 'events that come together',
    chart: word,
    steps: [[{ type: 'BOLD' }, { type: 'ITALIC' }, { type: 'BULLETS' }, { type: 'ALL' }]],
  },
  {
    name: 'regions without states',
    chart: {
      type: 'parallel',
      states: {
        a: { entry: 'a', on: { GO: { actions: 'a-go' } } },
        b: { entry: 'b', on: { GO: { actions: 'b-go' } } },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'a region without states beside one with them',
    chart: { type: 'parallel', states: { a: {}, b: { initial: 'x', states: { x: { on: { GO: 'y' } }, y: {} } } } },
    steps: ['GO'],
  },
  {
    name: 'actions of several regions are executed in document order',
    chart: {
      type: 'parallel',
      states: {
        b: {
          initial: 'x',
          states: { x: { exit: 'out-bx', on: { GO: { target: 'y', actions: 'b' } } }, y: { entry: 'in-by' } },
        },
        a: {
          initial: 'x',
          states: { x: { exit: 'out-ax', on: { GO: { target: 'y', actions: 'a' } } }, y: { entry: 'in-ay' } },
        },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'actions of states at different depths of several regions',
    chart: {
      type: 'parallel',
      states: {
        a: { initial: 'x', states: { x: { initial: 'y', states: { y: { on: { GO: { actions: 'deep' } } } } } } },
        b: { initial: 'x', states: { x: { on: { GO: { actions: 'flat' } } } } },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'regions are left in reversed document order',
    chart: {
      initial: 'p',
      states: {
        p: {
          ...told('p'),
          type: 'parallel',
          on: { GO: 'z' },
          states: {
            a: { ...told('a'), initial: 'x', states: { x: told('ax') } },
            b: { ...told('b'), initial: 'x', states: { x: told('bx') } },
          },
        },
        z: told('z'),
      },
    },
    steps: ['GO'],
  },
  {
    name: 'a parallel state in a region of another',
    chart: {
      type: 'parallel',
      states: {
        a: {
          type: 'parallel',
          states: {
            b: { initial: 'x', states: { x: { on: { GO: 'y' } }, y: {} } },
            c: { initial: 'x', states: { x: {}, y: {} } },
          },
        },
        d: {
          initial: 'x',
          states: {
            x: { on: { GO: 'y' } },
            y: { type: 'parallel', states: { e: {}, f: { initial: 'z', states: { z: {} } } } },
          },
        },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'flat parallel states in one another',
    chart: {
      type: 'parallel',
      states: {
        a: { type: 'parallel', states: { x: {}, y: {} } },
        b: { type: 'parallel', states: { x: {}, y: { type: 'parallel', states: { u: {}, v: {} } } } },
      },
    },
  },
  {
    name: 'a compound state in a region, and back',
    chart: {
      type: 'parallel',
      states: {
        a: {
          initial: 'x',
          states: {
            x: { on: { GO: 'y' } },
            y: { initial: 'one', states: { one: { on: { NEXT: 'two' } }, two: {} }, on: { BACK: 'x' } },
          },
        },
        b: { initial: 'x', states: { x: { on: { NEXT: 'y' } }, y: {} } },
      },
    },
    steps: ['GO', 'NEXT', 'BACK'],
  },
  {
    name: 'events raised on entry of the initial states',
    chart: {
      type: 'parallel',
      states: {
        a: { initial: 'x', states: { x: { entry: raise({ type: 'CLEAR' }), on: { CLEAR: 'y' } }, y: {} } },
        b: {
          initial: 'x',
          states: { x: { entry: raise({ type: 'OTHER' }), on: { OTHER: 'y', CLEAR: 'z' } }, y: {}, z: {} },
        },
      },
    },
  },
  {
    name: 'several assigns of one event in different regions',
    chart: {
      context: { list: [] },
      type: 'parallel',
      states: {
        a: { on: { SET: { actions: assign({ list: ({ context, event }) => [...context.list, `a${event.n}`] }) } } },
        b: { on: { SET: { actions: assign({ list: ({ context, event }) => [...context.list, `b${event.n}`] }) } } },
      },
    },
    steps: [
      { type: 'SET', n: 1 },
      { type: 'SET', n: 2 },
    ],
  },
  {
    name: 'the initial transition of a region has actions',
    chart: {
      initial: 'a',
      states: {
        a: { on: { GO: 'p' } },
        p: {
          type: 'parallel',
          states: {
            one: { initial: { target: 'x', actions: 'one' }, states: { x: {} } },
            two: { initial: { target: 'x', actions: 'two' }, states: { x: {} } },
          },
        },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'a transition from one region into another enters its own anew',
    chart: {
      type: 'parallel',
      states: {
        a: { ...told('a'), initial: 'x', states: { x: { ...told('ax'), on: { GO: '#by' } }, y: told('ay') } },
        b: { ...told('b'), initial: 'x', states: { x: told('bx'), y: { id: 'by', ...told('by') } } },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'a transition from one region into another of a nested parallel state',
    chart: {
      initial: 'p',
      states: {
        p: {
          ...told('p'),
          type: 'parallel',
          states: {
            a: { ...told('a'), initial: 'x', states: { x: { ...told('ax'), on: { GO: '#by' } } } },
            b: { ...told('b'), initial: 'x', states: { x: told('bx'), y: { id: 'by', ...told('by') } } },
          },
        },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'a reentering transition of a parallel state to one of its regions',
    chart: {
      initial: 'p',
      states: {
        p: {
          ...told('p'),
          type: 'parallel',
          on: { AGAIN: { target: '.b.y', reenter: true }, INTO: '.b.y' },
          states: {
            a: { ...told('a'), initial: 'x', states: { x: { ...told('ax'), on: { A: 'y' } }, y: told('ay') } },
            b: { ...told('b'), initial: 'x', states: { x: told('bx'), y: told('by') } },
          },
        },
      },
    },
    steps: ['A', 'INTO', 'AGAIN'],
  },
  {
    name: 'a transition without a target on a parallel state',
    chart: {
      ...told('p'),
      type: 'parallel',
      on: { NOTE: { actions: 'note' } },
      states: { a: told('a'), b: { ...told('b'), initial: 'x', states: { x: told('bx') } } },
    },
    steps: ['NOTE'],
  },
  {
    name: 'a transition without a target in one region',
    chart: { type: 'parallel', states: { a: { ...told('a'), on: { NOTE: { actions: 'note' } } }, b: told('b') } },
    steps: ['NOTE', 'NOTE'],
  },
  {
    name: 'one region waits for the other',
    chart: {
      type: 'parallel',
      states: {
        a: { initial: 'x', states: { x: { always: { guard: stateIn('#b2'), target: 'y' } }, y: { entry: 'free' } } },
        b: { initial: 'b1', states: { b1: { on: { GO: 'b2' } }, b2: { id: 'b2' } } },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'regions leave to different states: the first in the document wins',
    chart: {
      initial: 'p',
      states: {
        p: {
          type: 'parallel',
          states: {
            a: { initial: 'x', states: { x: { on: { GO: '#one' } } } },
            b: { initial: 'x', states: { x: { on: { GO: '#two' } } } },
          },
        },
        one: { id: 'one' },
        two: { id: 'two' },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'three regions with timers of their own',
    chart: {
      type: 'parallel',
      states: {
        a: { initial: 'x', states: { x: { after: { 10_000: 'y' } }, y: { entry: 'a' } } },
        b: { initial: 'x', states: { x: { after: { 20_000: 'y' } }, y: { entry: 'b' } } },
        c: { initial: 'x', states: { x: { after: { 15_000: 'y' } }, y: { entry: 'c' } } },
      },
    },
    steps: [12_000, 13_000],
  },
]

export const finals: readonly Case[] = [
  {
    name: 'a machine is done at a final state of its root',
    chart: { initial: 'a', states: { a: { on: { GO: 'b' } }, b: { type: 'final', entry: 'end' } } },
    steps: ['GO', 'GO'],
  },
  {
    name: 'a machine that begins at its end',
    chart: { initial: 'a', states: { a: { type: 'final', entry: 'end' } }, output: 'at once' },
  },
  { name: 'a root that is final', chart: { type: 'final', entry: 'end', output: 'root' } },
  {
    name: 'onDone of a compound state',
    chart: {
      initial: 'a',
      states: {
        a: {
          initial: 'x',
          states: { x: { on: { GO: 'y' } }, y: { type: 'final' } },
          onDone: { target: 'b', actions: 'done' },
        },
        b: {},
      },
    },
    steps: ['GO'],
  },
  {
    name: 'onDone of states in one another',
    chart: {
      initial: 'a',
      states: {
        a: {
          initial: 'b',
          states: {
            b: {
              initial: 'c',
              states: { c: { on: { GO: 'd' } }, d: { type: 'final', entry: 'in-d' } },
              onDone: { target: 'e', actions: 'b-done' },
            },
            e: { type: 'final', entry: 'in-e' },
          },
          onDone: { target: 'f', actions: 'a-done' },
        },
        f: { entry: 'in-f' },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'onDone is taken only when it stands at a direct final child',
    chart: {
      initial: 'a',
      states: {
        a: {
          initial: 'x',
          states: { x: { initial: 'u', states: { u: { on: { GO: 'v' } }, v: { type: 'final' } } } },
          onDone: 'b',
        },
        b: {},
      },
    },
    steps: ['GO'],
  },
  {
    name: 'the entry of a final child comes before onDone',
    chart: {
      initial: 'a',
      states: {
        a: {
          entry: 'in-a',
          exit: 'out-a',
          initial: 'x',
          states: { x: { type: 'final', entry: 'in-x', exit: 'out-x' } },
          onDone: { target: 'b', actions: 'done' },
        },
        b: { entry: 'in-b' },
      },
    },
  },
  {
    name: 'the output of a final state reaches onDone',
    chart: {
      context: { n: 20 },
      initial: 'a',
      states: {
        a: {
          initial: 'x',
          states: { x: { type: 'final', output: ({ context }) => ({ n: context.n + 1 }) } },
          onDone: { target: 'b', actions: assign({ n: ({ event }) => (event.output as { n: number }).n }) },
        },
        b: {},
      },
    },
  },
  {
    name: 'outputs of final states in one another',
    chart: {
      context: {},
      initial: 'a',
      states: {
        a: {
          initial: 'b',
          states: {
            b: {
              initial: 'c',
              states: { c: { type: 'final', output: 'secret' } },
              onDone: { target: 'd', actions: assign({ what: ({ event }) => event.output }) },
            },
            d: { type: 'final', output: ({ context }) => `the ${context.what}` },
          },
          onDone: { target: 'z', actions: assign({ data: ({ event }) => event.output }) },
        },
        z: {},
      },
    },
  },
  {
    name: 'the output of the root is given the output of its final state',
    chart: {
      initial: 'a',
      states: { a: { on: { GO: 'b' } }, b: { type: 'final', output: ({ event }) => event.n * 2 } },
      output: ({ event }) => ({ type: event.type, got: event.output }),
    },
    steps: [{ type: 'GO', n: 21 }],
  },
  {
    name: 'the output sees what the entry of the final state has assigned',
    chart: {
      context: { n: 1 },
      initial: 'a',
      states: {
        a: { on: { GO: 'b' } },
        b: { type: 'final', entry: assign({ n: 2 }), output: ({ context }) => context.n },
      },
      output: ({ context, event }) => [context.n, event.output],
    },
    steps: ['GO'],
  },
  { name: 'an output of null', chart: { initial: 'a', states: { a: { type: 'final' } }, output: null } },
  {
    name: 'an output of null of the final state',
    chart: {
      initial: 'a',
      states: { a: { type: 'final', output: null as never } },
      output: ({ event }) => event.output,
    },
  },
  {
    name: 'a machine without an output',
    chart: { initial: 'a', states: { a: { on: { GO: 'b' } }, b: { type: 'final' } } },
    steps: ['GO'],
  },
  {
    name: 'a parallel state is done when all its regions are',
    chart: {
      initial: 'p',
      states: {
        p: {
          type: 'parallel',
          states: {
            a: { initial: 'x', states: { x: { on: { A: 'y' } }, y: { type: 'final' } } },
            b: { initial: 'x', states: { x: { on: { B: 'y' } }, y: { type: 'final' } } },
          },
          onDone: { target: 'z', actions: 'done' },
        },
        z: {},
      },
    },
    steps: ['B', 'A'],
  },
  {
    name: 'a parallel state is done by one event in all regions, once',
    chart: {
      initial: 'p',
      states: {
        p: {
          type: 'parallel',
          states: {
            a: { initial: 'x', states: { x: { on: { GO: 'y' } }, y: { type: 'final' } } },
            b: { initial: 'x', states: { x: { on: { GO: 'y' } }, y: { type: 'final' } } },
          },
          onDone: { actions: 'done' },
        },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'each region has its own onDone',
    chart: {
      initial: 'p',
      states: {
        p: {
          type: 'parallel',
          states: {
            a: {
              initial: 'x',
              states: { x: { on: { GO: 'y' } }, y: { type: 'final' } },
              onDone: { actions: 'a-done' },
            },
            b: {
              initial: 'x',
              states: { x: { on: { GO: 'y' } }, y: { type: 'final' } },
              onDone: { actions: 'b-done' },
            },
          },
          onDone: { target: 'z', actions: 'p-done' },
        },
        z: {},
      },
    },
    steps: ['GO'],
  },
  {
    name: 'a parallel root is done when its regions are',
    chart: {
      type: 'parallel',
      states: {
        a: { initial: 'x', states: { x: { on: { A: 'y' } }, y: { type: 'final' } } },
        b: { initial: 'x', states: { x: { on: { B: 'y' } }, y: { type: 'final' } } },
      },
      output: ({ event }) => event.type,
    },
    steps: ['A', 'B'],
  },
  {
    name: 'a parallel root with a final region',
    chart: {
      type: 'parallel',
      states: { a: { type: 'final' }, b: { initial: 'x', states: { x: { on: { GO: 'y' } }, y: { type: 'final' } } } },
      output: 'both',
    },
    steps: ['GO'],
  },
  {
    name: 'parallel in parallel, done from within',
    chart: {
      initial: 'p',
      states: {
        p: {
          type: 'parallel',
          states: {
            a: {
              type: 'parallel',
              states: {
                one: { initial: 'x', states: { x: { on: { GO: 'y' } }, y: { type: 'final' } } },
                two: { initial: 'x', states: { x: { on: { GO: 'y' } }, y: { type: 'final' } } },
              },
              onDone: { actions: 'a-done' },
            },
            b: { initial: 'x', states: { x: { on: { LAST: 'y' } }, y: { type: 'final' } } },
          },
          onDone: 'end',
        },
        end: { type: 'final' },
      },
    },
    steps: ['GO', 'LAST'],
  },
  {
    name: 'exit actions of a machine that is done, in reversed document order',
    chart: {
      exit: 'out-root',
      type: 'parallel',
      states: {
        a: {
          exit: 'out-a',
          initial: 'x',
          states: { x: { exit: 'out-ax', on: { GO: 'y' } }, y: { type: 'final', exit: 'out-ay' } },
        },
        b: {
          exit: 'out-b',
          initial: 'x',
          states: { x: { exit: 'out-bx', on: { GO: 'y' } }, y: { type: 'final', exit: 'out-by' } },
        },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'exit actions of a compound machine that is done',
    chart: {
      exit: 'out-root',
      initial: 'a',
      states: { a: { exit: 'out-a', on: { GO: 'b' } }, b: { type: 'final', entry: 'in-b', exit: 'out-b' } },
    },
    steps: ['GO'],
  },
  {
    name: 'a final state is left by an event of its parent',
    chart: {
      initial: 'a',
      states: { a: { initial: 'x', on: { AGAIN: 'a' }, states: { x: { on: { GO: 'y' } }, y: { type: 'final' } } } },
    },
    steps: ['GO', 'AGAIN', 'GO'],
  },
]

const after = (afters: object, more: object = {}): Config => ({
  initial: 'a',
  states: { a: { exit: 'out-a', after: afters as never, ...more }, b: { entry: 'in-b' }, c: { entry: 'in-c' } },
})

export const time: readonly Case[] = [
  { name: 'a state is left when its time is over', chart: after({ 10_000: 'b' }), steps: [5_000, 10_000] },
  { name: 'an event comes first', chart: after({ 10_000: 'b' }, { on: { GO: 'c' } }), steps: [5_000, 'GO', 20_000] },
  { name: 'the earlier of two times', chart: after({ 20_000: 'c', 10_000: 'b' }), steps: [30_000] },
  {
    name: 'a time without a target',
    chart: after({ 10_000: { actions: 'tick' }, 20_000: 'c' }),
    steps: [15_000, 10_000],
  },
  {
    name: 'a guard when the time is over',
    chart: after({ 10_000: [{ guard: () => false, target: 'b' }, { target: 'c' }] }),
    steps: [15_000],
  },
  {
    name: 'no guard holds when the time is over',
    chart: after({ 10_000: { guard: () => false, target: 'b' } }, { on: { GO: 'c' } }),
    steps: [15_000, 'GO'],
  },
  {
    name: 'a chain of states that time leads through',
    chart: {
      initial: 'a',
      states: {
        a: { after: { 10_000: 'b' } },
        b: { after: { 10_000: 'c' } },
        c: { after: { 10_000: 'd' } },
        d: { type: 'final' },
      },
    },
    steps: [15_000, 30_000],
  },
  {
    name: 'a chain of states that comes back',
    chart: {
      context: { n: 0 },
      initial: 'a',
      states: {
        a: { entry: assign({ n: ({ context }) => context.n + 1 }), after: { 10_000: 'b' } },
        b: { after: { 5_000: [{ guard: ({ context }) => context.n < 3, target: 'a' }, { target: 'c' }] } },
        c: {},
      },
    },
    steps: [60_000],
  },
  {
    name: 'a named time',
    chart: after({ long: 'b' }),
    with: () => ({ delays: { long: 10_000 } }),
    steps: [5_000, 10_000],
  },
  {
    name: 'a time of context and event',
    chart: {
      context: { n: 10_000 },
      initial: 'a',
      states: { a: { on: { GO: 'b' } }, b: { after: { computed: 'c' } }, c: {} },
    },
    with: () => ({ delays: { computed: ({ context, event }) => context.n + event.n } }),
    steps: [{ type: 'GO', n: 5_000 }, 12_000, 10_000],
  },
  { name: 'a time of 0', chart: after({ 0: 'b' }), steps: [1] },
  {
    name: 'a transition to itself does not begin the time anew',
    chart: after({ 20_000: 'b' }, { on: { SELF: { target: 'a', actions: 'self' } } }),
    steps: [10_000, 'SELF', 15_000],
  },
  {
    name: 'a reentering transition begins the time anew',
    chart: after({ 20_000: 'b' }, { on: { SELF: { target: 'a', reenter: true } } }),
    steps: [15_000, 'SELF', 10_000, 15_000],
  },
  {
    name: 'a parent’s time goes on while its children change',
    chart: {
      initial: 'a',
      states: {
        a: {
          after: { 30_000: 'b' },
          initial: 'x',
          states: { x: { after: { 10_000: 'y' } }, y: { on: { BACK: 'x' } } },
        },
        b: {},
      },
    },
    steps: [15_000, 'BACK', 10_000, 20_000],
  },
  {
    name: 'a transition without a target does not touch the time',
    chart: after({ 20_000: 'b' }, { on: { NOTE: { actions: 'note' } } }),
    steps: [15_000, 'NOTE', 10_000],
  },
  {
    name: 'a child’s time is over when its parent is left',
    chart: {
      initial: 'a',
      on: { '*': { actions: 'stray' } },
      states: { a: { on: { GO: 'b' }, initial: 'x', states: { x: { after: { 10_000: 'y' } }, y: {} } }, b: {} },
    },
    steps: [5_000, 'GO', 20_000],
  },
  {
    name: 'times of one instant come in document order',
    chart: {
      type: 'parallel',
      states: {
        a: { initial: 'x', states: { x: { after: { 10_000: { target: 'y', actions: 'a' } } }, y: {} } },
        b: { initial: 'x', states: { x: { after: { 10_000: { target: 'y', actions: 'b' } } }, y: {} } },
      },
    },
    steps: [15_000],
  },
  {
    name: 'the first of one instant takes the second away',
    chart: {
      type: 'parallel',
      states: {
        a: {
          initial: 'x',
          states: { x: { after: { 10_000: { target: 'y', actions: raise({ type: 'R' }) } } }, y: {} },
        },
        b: { initial: 'x', states: { x: { on: { R: 'z' }, after: { 10_000: 'y' } }, y: {}, z: {} } },
      },
    },
    steps: [15_000],
  },
  {
    name: 'a time that is due when a step is taken',
    chart: {
      initial: 'a',
      states: { a: { after: { 10_000: 'b' } }, b: { always: 'c' }, c: { after: { 10_000: 'd' } }, d: { entry: 'd' } },
    },
    steps: [25_000],
  },
  {
    name: 'a time of the root',
    chart: { initial: 'a', after: { 10_000: '.b' }, states: { a: { on: { GO: 'c' } }, b: {}, c: {} } },
    steps: ['GO', 15_000],
  },
  {
    name: 'a time of the root that comes once',
    chart: { context: { n: 0 }, after: { 10_000: { actions: assign({ n: ({ context }) => context.n + 1 }) } } },
    steps: [15_000, 30_000],
  },
  { name: 'a day', chart: after({ [24 * 3_600_000]: 'b' }), steps: [23 * 3_600_000, 2 * 3_600_000] },
]
