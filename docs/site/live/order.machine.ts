/** The order of the first page. */
import { assign, fromPromise, setup } from 'xstate'

const seconds = (n: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, n * 1_000)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    })
  })

export const orderMachine = setup({
  types: {
    context: {} as { parcel: string | null },
    events: {} as { type: 'PAY' } | { type: 'CANCEL' } | { type: 'DELIVERED' },
  },
  actors: {
    pack: fromPromise<string>(async ({ signal }) => {
      await seconds(4, signal)
      return 'parcel 7'
    }),
  },
  delays: { paymentTime: 600_000 },
}).createMachine({
  id: 'order',
  context: { parcel: null },
  initial: 'awaitingPayment',
  states: {
    awaitingPayment: { on: { PAY: 'packing', CANCEL: 'cancelled' }, after: { paymentTime: 'cancelled' } },
    packing: {
      invoke: { src: 'pack', onDone: { target: 'shipping', actions: assign({ parcel: ({ event }) => event.output }) } },
    },
    shipping: { on: { DELIVERED: 'delivered' } },
    delivered: { type: 'final' },
    cancelled: { type: 'final' },
  },
})
