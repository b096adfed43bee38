/** The machine of docs/charts.md: it has one of everything that a chart can show. */
import { fromPromise, setup } from 'xstate'

export const checkout = setup({
  types: {
    children: {} as { charge: 'chargeCard' },
    events: {} as { type: 'PAY' | 'ADD' | 'CARD' | 'INVOICE' | 'BACK' | 'PACKED' | 'ARRIVED' | 'SENT' | 'CANCEL' },
  },
  actors: { chargeCard: fromPromise(async () => {}) },
  guards: { hasItems: () => true },
  actions: { addItem: () => {}, remindCustomer: () => {}, thank: () => {} },
}).createMachine({
  id: 'checkout',
  description: 'From the cart to the door',
  initial: 'cart',
  on: { CANCEL: '.abandoned' },
  states: {
    cart: {
      description: 'the customer chooses',
      tags: ['open'],
      on: { ADD: { actions: 'addItem' }, PAY: { guard: 'hasItems', target: 'paying' } },
      after: { 86_400_000: { target: 'abandoned', actions: 'remindCustomer' } },
    },
    paying: {
      initial: 'method',
      on: { BACK: 'cart' },
      onDone: 'delivery',
      states: {
        method: { on: { CARD: 'card', INVOICE: 'paid' } },
        card: { invoke: { id: 'charge', src: 'chargeCard', onDone: 'paid', onError: 'method' } },
        paid: { type: 'final' },
      },
    },
    delivery: {
      type: 'parallel',
      onDone: { target: 'delivered', actions: 'thank' },
      states: {
        parcel: {
          initial: 'packing',
          states: { packing: { on: { PACKED: 'way' } }, way: { on: { ARRIVED: 'there' } }, there: { type: 'final' } },
        },
        letter: { initial: 'written', states: { written: { on: { SENT: 'sent' } }, sent: { type: 'final' } } },
      },
    },
    delivered: { type: 'final' },
    abandoned: { type: 'final' },
  },
})
