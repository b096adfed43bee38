/** What `defineJob` refuses of a machine: everything at once, each with its place. */
import { defineJob, fromJob } from 'jobchart'
import {
  and,
  assign,
  createMachine,
  enqueueActions,
  fromPromise,
  not,
  raise,
  sendTo,
  setup,
  spawnChild,
  type AnyStateMachine,
} from 'xstate'
import { expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

const define = (machine: AnyStateMachine) => defineJob({ type: 'refused', machine })

function refusalOf(machine: AnyStateMachine): { code: string; message: string; hint?: string } {
  try {
    define(machine)
  } catch (error) {
    return error as { code: string; message: string; hint?: string }
  }
  throw new Error('the machine was not refused')
}

test.each<[what: string, machine: AnyStateMachine, ...parts: string[]]>([
  ['an action', createMachine({ id: 'm', entry: 'greet' }), 'm, entry', 'action greet is not implemented'],
  [
    'an action with params, on an event',
    createMachine({
      id: 'm',
      initial: 'a',
      states: { a: { on: { GO: { actions: [{ type: 'greet', params: { n: 1 } }] } } } },
    }),
    'm.a, on GO',
    'action greet is not implemented',
  ],
  [
    'a guard',
    createMachine({ id: 'm', initial: 'a', states: { a: { always: { guard: 'paid', target: 'b' } }, b: {} } }),
    'm.a, always',
    'guard paid is not implemented',
  ],
  [
    'a guard inside others',
    setup({ guards: { known: () => true, both: and(['known' as never, not('lost' as never)]) } }).createMachine({
      id: 'm',
      on: { GO: { guard: 'both', actions: assign({}) } },
    }),
    'm, on GO',
    'guard lost is not implemented',
  ],
  [
    'an actor',
    createMachine({ id: 'm', initial: 'a', states: { a: { invoke: { src: 'charge' } } } }),
    'm.a, invoke[0]',
    'actor charge is not implemented',
  ],
  [
    'an actor of a named spawnChild',
    createMachine({ id: 'm', entry: 'begin' }, { actions: { begin: spawnChild('charge', { id: 'c' }) } }),
    'm, actions.begin',
    'actor charge is not implemented',
  ],
  ['no actor at all', createMachine({ id: 'm', invoke: { src: {} as never } }), 'm, invoke[0]', 'is no actor logic'],
  [
    'a delay of after',
    createMachine({ id: 'm', initial: 'a', states: { a: { after: { soon: 'b' } }, b: {} } }),
    'm.a, after soon',
    'delay soon is not implemented',
  ],
  [
    'a delay of raise',
    createMachine({ id: 'm', entry: raise({ type: 'X' }, { delay: 'soon' as never }) }),
    'm, entry',
    'delay soon is not implemented',
  ],
  [
    'a delay of sendTo',
    createMachine({ id: 'm', on: { GO: { actions: sendTo('x', { type: 'X' }, { delay: 'soon' as never }) } } }),
    'm, on GO',
    'delay soon is not implemented',
  ],
  [
    'a delay that is no time',
    setup({ delays: { soon: Number.NaN } }).createMachine({ id: 'm', after: { soon: { actions: assign({}) } } }),
    'm, delays.soon',
    'NaN',
  ],
  ['a delay without an end', createMachine({ id: 'm', after: { Infinity: {} } }), 'm, after Infinity', 'Infinity'],
  [
    'two actors of one id',
    setup({ actors: { work: fromPromise(async () => 1) } }).createMachine({
      id: 'm',
      type: 'parallel',
      states: { a: { invoke: { id: 'w', src: 'work' } }, b: { invoke: { id: 'w', src: 'work' } } },
    }),
    'm.b, invoke[0]',
    'm.a',
    'id w',
  ],
  [
    'a place in a child machine',
    setup({ actors: { kid: createMachine({ id: 'kid', entry: 'greet' }) } }).createMachine({ id: 'm' }),
    'kid, entry',
    'action greet is not implemented',
  ],
])('%s that is not there is refused with its place', (_, machine, place, ...parts) => {
  const { code, message } = refusalOf(machine)
  expect(code).toBe('INVALID_OPTION')
  for (const part of [place, ...parts]) expect(message).toContain(part)
})

test('all that is refused is named at once, with what to do', () => {
  const machine = createMachine({
    id: 'm',
    entry: ['greet', spawnChild(fromPromise(async () => 1) as never, { id: 'kid' })],
    initial: 'a',
    states: {
      a: { invoke: { src: 'charge' }, on: { GO: { guard: 'paid', target: 'b' } }, after: { soon: 'b' } },
      b: {},
    },
  })
  const { code, message, hint } = refusalOf(machine)
  expect(code).toBe('NOT_DURABLE')
  for (const part of ['5 problems', 'greet', 'inline logic', 'charge', 'guard paid', 'delay soon']) {
    expect(message).toContain(part)
  }
  expect(hint).toContain('setup({ actions')
})

test('what is there is not refused, nor are actors of one id that are never there at once', () => {
  const work = fromPromise(async () => 1)
  const job = defineJob({ type: 'child', run: () => 1 })
  const machine = setup({
    actors: { work, job: fromJob(job) },
    actions: { greet: () => {}, begin: spawnChild('work', { id: 'c' }), more: enqueueActions(() => {}) },
    guards: { paid: () => true },
    delays: { soon: 5, later: () => 7 },
  }).createMachine({
    id: 'm',
    entry: ['greet', 'begin', 'more', { type: 'greet' }],
    initial: 'a',
    states: {
      a: { invoke: { id: 'w', src: 'work', onDone: 'b' }, after: { soon: 'b', later: 'b', 100: 'b' } },
      b: { invoke: [{ id: 'w', src: 'work' }, { src: 'job' }], on: { GO: { guard: 'paid', target: 'a' } } },
    },
  })
  expect(() => define(machine)).not.toThrow()
})

test.each<[what: string, value: unknown, path: string]>([
  ['a Set', { of: { all: new Set() } }, 'context.of.all'],
  ['a RegExp', { pattern: /x/ }, 'context.pattern'],
  ['an object of a class', { at: new URL('http://a.example') }, 'context.at'],
  ['a Date', { at: new Date(0) }, 'context.at'],
  ['NaN', { n: Number.NaN }, 'context.n'],
  ['undefined in a list', { list: [1, undefined] }, 'context.list[1]'],
])('%s in a first context that needs no input is refused, naming the path', (_, context, path) => {
  for (const machine of [
    createMachine({ id: 'm', context: context as object }),
    createMachine({ id: 'm', context: () => context as object }),
    setup({ actors: { kid: createMachine({ id: 'kid', context: context as object }) } }).createMachine({}),
  ]) {
    const { code, message } = refusalOf(machine)
    expect(code).toBe('NOT_DURABLE')
    expect(message).toContain(path)
  }
})

test('only what is kept must be JSON: a value that the entry action replaces is not', () => {
  const machine = createMachine({ context: { at: new Date(0) as unknown }, entry: assign({ at: () => 0 }) })
  expect(() => define(machine)).not.toThrow()
})

test('an action that enqueueActions names and nobody has implemented fails the attempt', async () => {
  const at = world()
  const job = defineJob({
    type: 'm',
    machine: createMachine({ id: 'm', entry: enqueueActions(({ enqueue }) => enqueue('greet')) }),
    retry: { maxAttempts: 1 },
  })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined)
  await at.clock.settle()
  const { state, error } = await handle.record()
  expect(state).toBe('dead')
  expect(error).toMatchObject({ code: 'INVALID_OPTION', message: expect.stringContaining('action greet') as string })
})

test('waiting for a state that the machine does not have is refused with the nearest name', async () => {
  const at = world()
  const machine = createMachine({
    id: 'article',
    initial: 'review',
    states: {
      review: { tags: 'person', initial: 'first', states: { first: {}, second: {} }, on: { GO: 'published' } },
      published: { type: 'final' },
    },
  })
  const job = defineJob({ type: 'article', machine })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined)
  for (const [wanted, nearest] of [
    ['reveiw', 'review'],
    ['persn', 'person'],
    ['review.frist', 'review.first'],
    ['publishd', 'published'],
  ] as const) {
    await expect(handle.waitFor(wanted), wanted).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining(wanted) as string,
      hint: expect.stringContaining(nearest) as string,
    })
  }
  for (const wanted of ['review', 'person', 'review.first']) await handle.waitFor(wanted)
})
