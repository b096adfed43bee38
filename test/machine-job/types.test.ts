/** What is known of a machine job by its types: all of it comes from the machine. */
import { defineJob, type JobHandle } from 'jobchart'
import { setup } from 'xstate'
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
