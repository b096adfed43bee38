/** The life of an order. Every state is kept: a process that dies goes on from the last one. */
import { assign, fromPromise, setup } from 'xstate'

export const orderMachine = setup({
  types: {
    input: {} as { item: string },
    context: {} as { item: string; parcel: string | null },
    events: {} as { type: 'PAY' } | { type: 'CANCEL' },
  },
  actors: {
    pack: fromPromise<{ parcel: string }, { item: string }>(async ({ input }) => ({
      parcel: `parcel of ${input.item}`,
    })),
  },
  delays: { paymentTime: 3_600_000 },
}).createMachine({
  id: 'order',
  context: ({ input }) => ({ item: input.item, parcel: null }),
  initial: 'awaitingPayment',
  states: {
    // It waits without taking a slot; the timer survives a restart.
    awaitingPayment: { on: { PAY: 'packing', CANCEL: 'cancelled' }, after: { paymentTime: 'cancelled' } },
    packing: {
      invoke: {
        src: 'pack',
        input: ({ context }) => ({ item: context.item }),
        onDone: { target: 'shipped', actions: assign({ parcel: ({ event }) => event.output.parcel }) },
      },
    },
    shipped: { type: 'final' },
    cancelled: { type: 'final' },
  },
  output: ({ context }) => ({ parcel: context.parcel }),
})
