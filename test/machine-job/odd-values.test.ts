/** What actors give and throw need not be JSON: it reaches the machine, whatever of it can be stored. */
import { defineJob } from 'jobchart'
import { assign, fromCallback, fromObservable, fromPromise, setup } from 'xstate'
import { of } from 'rxjs'
import { describe, expect, test } from 'vitest'
import { world } from '../support/leaks.ts'

function cyclic(): object {
  const value: Record<string, unknown> = { list: [] }
  Object.assign(value, { self: value, again: value, list: [value, value] })
  return value
}

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = { value }
  return value
}

const odd: readonly (readonly [what: string, value: unknown])[] = [
  ['half a surrogate pair', 'a\ud83d'],
  ['half a pair within', { list: ['\ude00'] }],
  ['half a pair as a key', { '\ud83d': 1 }],
  ['a value within itself', cyclic()],
  ['2,000 levels', deep(2_000)],
  ['a BigInt', 1n],
  ['a Date', new Date(0)],
  ['NaN', NaN],
  ['a function', (): number => 1],
]

interface Seen {
  readonly output?: unknown
  readonly error?: unknown
  readonly snapshot?: { readonly context?: unknown }
}

type Way = 'gives' | 'throws' | 'sends' | 'shows'

/** A machine that stays beside its actor until a timer ends it, and says of what type the actor's value was. */
function chart(value: unknown, initial: Way) {
  const end = { '1m': 'end' } as const
  return setup({
    types: { context: {} as { seen: string } },
    actors: {
      gives: fromPromise(async () => value),
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- it is asked what happens then
      throws: fromPromise(() => Promise.reject(value)),
      sends: fromCallback(({ sendBack }) => sendBack({ type: 'SENT', output: value })),
      shows: fromObservable(() => of(value)),
    },
    actions: {
      keep: assign({
        seen: ({ event }) => {
          const { output, error, snapshot } = event as Seen
          return typeof (output ?? error ?? snapshot?.context)
        },
      }),
    },
    guards: { hasValue: ({ event }) => (event as Seen).snapshot?.context !== undefined },
  }).createMachine({
    context: { seen: 'nothing' },
    on: { SENT: { actions: 'keep' } },
    initial,
    states: {
      gives: { invoke: { src: 'gives', onDone: { actions: 'keep' } }, after: end },
      throws: { invoke: { src: 'throws', onError: { actions: 'keep' } }, after: end },
      sends: { invoke: { src: 'sends' }, after: end },
      shows: { invoke: { src: 'shows', onSnapshot: { guard: 'hasValue', actions: 'keep' } }, after: end },
      end: { type: 'final' },
    },
    output: ({ context }) => context.seen,
  })
}

describe.each(odd)('%s', (_, value) => {
  test.each(['gives', 'throws', 'sends', 'shows'] as const)('which an actor %s', async (actor) => {
    const at = world()
    const job = defineJob({ type: 'odd', machine: chart(value, actor), retry: { maxAttempts: 1 } })
    const runtime = await at.runtime({ jobs: [job] })
    const handle = await runtime.enqueue(job, undefined)
    await at.clock.advance('2m')
    const { state, output, error } = await handle.record()
    expect({ state, output, error }).toEqual({ state: 'done', output: typeof value, error: null })
  })
})

test('an action that reads what refers to itself makes the job dead, with the path', async () => {
  const at = world()
  const machine = setup({
    actors: { gives: fromPromise(async () => ({ ok: 1, tree: cyclic() as { self: unknown } })) },
    actions: { read: (_, { tree }: { tree: { self: unknown } }) => tree.self },
  }).createMachine({
    invoke: { src: 'gives', onDone: { actions: { type: 'read', params: ({ event }) => event.output } } },
  })
  const job = defineJob({ type: 'reads', machine })
  const runtime = await at.runtime({ jobs: [job] })
  const handle = await runtime.enqueue(job, undefined)
  await at.clock.advance('1m')
  const { state, error } = await handle.record()
  expect(state).toBe('dead')
  expect(error).toMatchObject({
    code: 'NOT_DURABLE',
    message: expect.stringContaining('read reads params.tree.self, which is a cycle') as string,
  })
})
