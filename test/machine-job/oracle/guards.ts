/** Guards: named, with params, composed, and of the state. */
import { and, assign, not, or, raise, stateIn } from 'xstate'
import type { Config, Implementations } from './chart.ts'
import type { Case } from './lives-twice.ts'

/** One step that is taken only if the guard holds. */
const gate = (guard: unknown): Config => ({
  context: { n: 3 },
  initial: 'a',
  states: { a: { on: { GO: [{ guard: guard as never, target: 'open' }, { target: 'shut' }] } }, open: {}, shut: {} },
})

const named = (): Implementations => ({
  guards: {
    yes: () => true,
    no: () => false,
    above: ({ context }: { context: { n: number } }, { min }: { min: number }) => context.n > min,
    both: and(['yes', { type: 'above', params: { min: 2 } }]),
    neither: not(or(['yes', 'no'])),
    nested: and([not('no'), or(['no', 'both'])]),
    bare: (_: unknown, params: unknown) => params === undefined,
  },
})

const passes = (name: string, guard: unknown): Case => ({ name, chart: gate(guard), with: named, steps: ['GO'] })

export const guards: readonly Case[] = [
  passes('a named guard that holds', 'yes'),
  passes('a named guard that does not', 'no'),
  passes('a guard with params that holds', { type: 'above', params: { min: 2 } }),
  passes('a guard with params that does not', { type: 'above', params: { min: 5 } }),
  passes('params of the context', {
    type: 'above',
    params: ({ context }: { context: { n: number } }) => ({ min: context.n }),
  }),
  passes('params of the event', {
    type: 'above',
    params: ({ event }: { event: { n?: number } }) => ({ min: event.n ?? 0 }),
  }),
  passes('a guard without params is given none', 'bare'),
  passes(
    'not, of a function',
    not(() => false),
  ),
  passes('not, of a name', not('yes')),
  passes('not, of a guard with params', not({ type: 'above', params: { min: 5 } })),
  passes('not, of a composed guard', not(and([not('yes'), 'no']))),
  passes('and, of functions', and([() => true, () => true])),
  passes('and, of names of which one does not hold', and(['yes', 'no'])),
  passes(
    'and, of guards with params',
    and([
      { type: 'above', params: { min: 1 } },
      { type: 'above', params: { min: 2 } },
    ]),
  ),
  passes('and, of composed guards', and(['yes', or(['no', 'yes'])])),
  passes('or, of functions', or([() => false, () => true])),
  passes('or, of names', or(['no', 'yes'])),
  passes(
    'or, of guards with params',
    or([
      { type: 'above', params: { min: 9 } },
      { type: 'above', params: { min: 8 } },
    ]),
  ),
  passes('or, of composed guards', or(['no', and(['yes', 'yes'])])),
  passes('a name for a composed guard', 'both'),
  passes('a name for a composed guard of names', 'nested'),
  passes('a name for a negated alternative', 'neither'),
  {
    name: 'a guard that looks at the event',
    chart: {
      initial: 'a',
      states: {
        a: { on: { GO: { guard: ({ event }) => event.n > 50, target: 'b' } } },
        b: { on: { GO: { guard: ({ event }) => event.n > 90, target: 'c' } } },
        c: {},
      },
    },
    steps: [
      { type: 'GO', n: 10 },
      { type: 'GO', n: 51 },
      { type: 'GO', n: 60 },
      { type: 'GO', n: 91 },
    ],
  },
  {
    name: 'guards in two regions see the context before either has assigned',
    chart: {
      context: { n: 0 },
      type: 'parallel',
      states: {
        a: {
          initial: 'x',
          states: {
            x: { on: { GO: { guard: ({ context }) => context.n === 0, target: 'y', actions: assign({ n: 1 }) } } },
            y: {},
          },
        },
        b: {
          initial: 'x',
          states: { x: { on: { GO: { guard: ({ context }) => context.n === 0, target: 'y' } } }, y: {} },
        },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'a guard on the state of another region',
    chart: {
      type: 'parallel',
      states: {
        a: { initial: 'x', states: { x: { on: { GO: { guard: stateIn('#b2'), target: 'y' } } }, y: {} } },
        b: { initial: 'b1', states: { b1: { on: { NEXT: 'b2' } }, b2: { id: 'b2' } } },
      },
    },
    steps: ['GO', 'NEXT', 'GO'],
  },
  {
    name: 'a guard on a state value',
    chart: {
      type: 'parallel',
      states: {
        a: { initial: 'x', states: { x: { on: { GO: { guard: stateIn({ b: 'b2' }), target: 'y' } } }, y: {} } },
        b: { initial: 'b1', states: { b1: { on: { NEXT: 'b2' } }, b2: {} } },
      },
    },
    steps: ['GO', 'NEXT', 'GO'],
  },
  {
    name: 'a guard on an id with a path',
    chart: {
      type: 'parallel',
      states: {
        a: { initial: 'x', states: { x: { on: { GO: { guard: stateIn('#b.two.deep'), target: 'y' } } }, y: {} } },
        b: {
          id: 'b',
          initial: 'one',
          states: { one: { on: { NEXT: 'two' } }, two: { initial: 'deep', states: { deep: {} } } },
        },
      },
    },
    steps: ['GO', 'NEXT', 'GO'],
  },
  {
    name: 'a name for a guard on the state',
    chart: {
      type: 'parallel',
      states: {
        a: { initial: 'x', states: { x: { on: { GO: { guard: 'ready', target: 'y' } } }, y: {} } },
        b: { initial: 'b1', states: { b1: { on: { NEXT: 'b2' } }, b2: { id: 'b2' } } },
      },
    },
    with: () => ({ guards: { ready: stateIn('#b2') } }),
    steps: ['GO', 'NEXT', 'GO'],
  },
  {
    name: 'an event is forbidden as long as another region is busy',
    chart: {
      type: 'parallel',
      states: {
        form: {
          initial: 'open',
          states: { open: { on: { CLOSE: [{ guard: stateIn('#busy') }, { target: 'closed' }] } }, closed: {} },
        },
        work: { initial: 'busy', states: { busy: { id: 'busy', on: { DONE: 'idle' } }, idle: {} } },
      },
    },
    steps: ['CLOSE', 'DONE', 'CLOSE'],
  },
]

export const always: readonly Case[] = [
  {
    name: 'the first candidate whose guard holds',
    chart: {
      context: { n: 5 },
      initial: 'a',
      states: {
        a: {
          always: [
            { guard: ({ context }) => context.n > 9, target: 'b' },
            { guard: ({ context }) => context.n > 4, target: 'c' },
            { target: 'd' },
          ],
        },
        b: {},
        c: {},
        d: {},
      },
    },
  },
  {
    name: 'the last candidate where no guard holds',
    chart: {
      initial: 'a',
      states: {
        a: { on: { GO: 'g' } },
        g: { always: [{ guard: () => false, target: 'b' }, { target: 'c' }] },
        b: {},
        c: {},
      },
    },
    steps: ['GO'],
  },
  {
    name: 'actions on the way are all executed, in order',
    chart: {
      initial: 'a',
      states: {
        a: { exit: 'out-a', on: { GO: { target: 'b', actions: 'to-b' } } },
        b: { entry: 'in-b', exit: 'out-b', always: { target: 'c', actions: 'to-c' } },
        c: { entry: 'in-c', always: { target: 'd', actions: 'to-d' } },
        d: { entry: 'in-d' },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'raised events come after all steps without an event',
    chart: {
      initial: 'a',
      states: {
        a: { on: { GO: { target: 'b', actions: raise({ type: 'R' }) } } },
        b: { always: 'c', on: { R: 'wrong' } },
        c: { always: 'd', on: { R: 'wrong' } },
        d: { on: { R: 'right' } },
        right: {},
        wrong: {},
      },
    },
    steps: ['GO'],
  },
  {
    name: 'raised events one after the other',
    chart: {
      context: { list: [] },
      initial: 'a',
      states: {
        a: {
          on: {
            GO: { target: 'b', actions: [raise({ type: 'ONE' }), raise({ type: 'TWO' }), raise({ type: 'THREE' })] },
          },
        },
        b: {
          on: { '*': { actions: [assign({ list: ({ context, event }) => [...context.list, event.type] }), 'heard'] } },
        },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'both regions step until neither can',
    chart: {
      type: 'parallel',
      states: {
        a: {
          initial: 'a1',
          states: {
            a1: { on: { GO: 'a2' } },
            a2: { always: 'a3' },
            a3: { id: 'a3', always: { guard: stateIn('#b3'), target: 'a4' } },
            a4: { entry: 'a4' },
          },
        },
        b: {
          initial: 'b1',
          states: {
            b1: { on: { GO: 'b2' } },
            b2: { always: { guard: stateIn('#a3'), target: 'b3' } },
            b3: { id: 'b3', entry: 'b3' },
          },
        },
      },
    },
    steps: ['GO'],
  },
  {
    name: 'an initial state that is left at once',
    chart: { initial: 'a', states: { a: { entry: 'in-a', exit: 'out-a', always: 'b' }, b: { entry: 'in-b' } } },
  },
  {
    name: 'initial states that depend on the context',
    chart: {
      context: ({ input }) => ({ on: input.on }),
      initial: 'a',
      states: {
        a: { always: [{ guard: ({ context }) => context.on, target: 'b.c' }, { target: 'd' }] },
        b: { initial: 'x', states: { x: {}, c: {} } },
        d: {},
      },
    },
    input: { on: true },
  },
  {
    name: 'a step of the root',
    chart: {
      context: { n: 0 },
      initial: 'a',
      always: { guard: ({ context }) => context.n === 2, target: '.b' },
      states: { a: { on: { ADD: { actions: assign({ n: ({ context }) => context.n + 1 }) } } }, b: {} },
    },
    steps: ['ADD', 'ADD'],
  },
  {
    name: 'a step of the parent after a transition of the child',
    chart: {
      initial: 'p',
      states: {
        p: {
          always: { guard: stateIn('#two'), target: 'end' },
          initial: 'one',
          states: { one: { on: { GO: 'two' } }, two: { id: 'two', entry: 'two' } },
        },
        end: {},
      },
    },
    steps: ['GO'],
  },
  {
    name: 'an assign without a target, until its guard fails',
    chart: {
      context: { n: 0 },
      initial: 'a',
      states: {
        a: {
          always: {
            guard: ({ context }) => context.n < 5,
            actions: [assign({ n: ({ context }) => context.n + 1 }), 'count'],
          },
        },
      },
    },
  },
  {
    name: 'a step of an action that changes nothing is taken once',
    chart: { initial: 'a', states: { a: { always: { actions: 'only-once' }, on: { GO: { actions: 'go' } } } } },
    steps: ['GO'],
  },
  {
    name: 'the event that led there is seen by guards and actions on the way',
    chart: {
      initial: 'a',
      states: {
        a: { on: { GO: 'b' } },
        b: {
          always: [
            { guard: ({ event }) => event.type === 'GO' && event.n === 1, target: 'c', actions: 'to-c' },
            { target: 'd' },
          ],
        },
        c: {},
        d: {},
      },
    },
    steps: [{ type: 'GO', n: 1 }],
  },
  {
    name: 'a step after a raised event that changes no state',
    chart: {
      context: { n: 0 },
      initial: 'a',
      states: {
        a: {
          on: { GO: { actions: raise({ type: 'R' }) }, R: { actions: assign({ n: ({ context }) => context.n + 1 }) } },
          always: { guard: ({ context }) => context.n === 1, target: 'b' },
        },
        b: {},
      },
    },
    steps: ['GO'],
  },
  {
    name: 'an event is taken again after steps that came back',
    chart: {
      context: { n: 0 },
      initial: 'a',
      states: {
        a: { on: { GO: 'b' } },
        b: {
          entry: assign({ n: ({ context }) => context.n + 1 }),
          always: [{ guard: ({ context }) => context.n < 3, target: 'a' }, { target: 'c' }],
        },
        c: {},
      },
    },
    steps: ['GO', 'GO', 'GO'],
  },
  {
    name: 'a fallback to the state itself does not run in circles',
    chart: {
      initial: 'a',
      states: { a: { on: { GO: 'b' } }, b: { always: [{ guard: () => false, target: 'a' }, { target: 'b' }] } },
    },
    steps: ['GO'],
  },
  {
    name: 'a final state reached by steps alone',
    chart: {
      initial: 'a',
      states: { a: { always: 'b' }, b: { always: 'c' }, c: { type: 'final' } },
      output: 'through',
    },
  },
]
