/** What is known of a machine job by its types: all of it comes from the machine. */
import { defineJob, durable, type DurableScope, type JobHandle } from 'jobchart'
import { assign, fromPromise, setup, type InputFrom, type OutputFrom, type PromiseActorLogic } from 'xstate'
import { expectTypeOf, test } from 'vitest'

const machine = setup({
  types: {
    input: {} as { readonly pounds: number },
    context: {} as { readonly pounds: number },
    events: {} as { type: 'APPROVE' } | { type: 'REJECT'; why: string },
    output: {} as { readonly receipt: string },
  },
}).createMachine({
  context: ({ input }) => input,
  initial: 'open',
  states: { open: { on: { APPROVE: 'paid', REJECT: 'paid' } }, paid: { type: 'final' } },
  output: ({ context }) => ({ receipt: `${context.pounds}` }),
})

const order = defineJob({ type: 'order', machine })
type Order = NonNullable<(typeof order)['~types']>

test('input, output and events of a job are those of its machine', () => {
  expectTypeOf<Order['input']>().toEqualTypeOf<{ readonly pounds: number }>()
  expectTypeOf<Order['output']>().toEqualTypeOf<{ readonly receipt: string }>()
  expectTypeOf<Order['event']>().toEqualTypeOf<{ type: 'APPROVE' } | { type: 'REJECT'; why: string }>()
})

test('a handle takes the events of the machine, and no others', () => {
  type Handle = JobHandle<Order['output'], Order['event']>
  expectTypeOf<Parameters<Handle['send']>[0]>().toEqualTypeOf<Order['event']>()
  expectTypeOf<Parameters<Handle['can']>[0]>().toEqualTypeOf<Order['event']>()
  expectTypeOf<Awaited<ReturnType<Handle['result']>>>().toEqualTypeOf<{ readonly receipt: string }>()
})

test('a job is either a handler or a machine', () => {
  // @ts-expect-error -- not both
  const both = () => defineJob({ type: 'both', machine, run: async () => {} })
  expectTypeOf(both).toBeFunction()
})

test('a durable promise infers its input and output, and stands where one of fromPromise would', () => {
  const charge = durable(async ({ input, step }: DurableScope<{ readonly pounds: number }>) =>
    step('charge', () => `charged ${input.pounds}`),
  )
  expectTypeOf(charge).toEqualTypeOf<PromiseActorLogic<string, { readonly pounds: number }>>()
  expectTypeOf<InputFrom<typeof charge>>().toEqualTypeOf<{ readonly pounds: number }>()
  expectTypeOf<OutputFrom<typeof charge>>().toEqualTypeOf<string>()
  expectTypeOf(durable<string, number>(async ({ input }) => input.toFixed())).toEqualTypeOf(
    fromPromise<string, number>(async ({ input }) => input.toFixed()),
  )
  const paying = setup({
    types: { context: {} as { end: string } },
    actors: { charge, mail: fromPromise<number, string>(async () => 1) },
  }).createMachine({
    context: { end: '' },
    initial: 'at',
    states: {
      at: {
        invoke: {
          src: 'charge',
          input: { pounds: 1 },
          onDone: { actions: assign({ end: ({ event }) => event.output }) },
        },
      },
    },
  })
  paying.provide({
    actors: {
      charge: fromPromise(async ({ input }) => `${input.pounds}`),
      mail: durable(async ({ input }) => input.length),
    },
  })
  // @ts-expect-error -- its output is a string
  paying.provide({ actors: { charge: durable(async () => 1) } })
})
