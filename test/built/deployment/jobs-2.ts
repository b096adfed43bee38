/** The second version: an order is labelled before it is packed. It takes over orders of the first. */
import { defineJob } from 'jobchart'
import { setup } from 'xstate'
import type { OrderEvent } from './jobs-1.ts'

export const order = defineJob({
  type: 'order',
  version: '2',
  machine: setup({ types: { events: {} as OrderEvent | { readonly type: 'LABELLED' } } }).createMachine({
    id: 'order',
    initial: 'payment',
    states: {
      payment: { on: { PAID: 'labelling' } },
      labelling: { on: { LABELLED: 'packing' } },
      packing: { on: { PACKED: 'shipped' } },
      shipped: { type: 'final' },
    },
    output: () => 'version 2',
  }),
  migrate: (snapshot) => snapshot,
})

export const jobs = [order]
