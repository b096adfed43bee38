/** The first version of an order: paid, then packed by a person. */
import { defineJob } from 'jobchart'
import { setup } from 'xstate'

export type OrderEvent = { readonly type: 'PAID' } | { readonly type: 'PACKED' }

export const order = defineJob({
  type: 'order',
  version: '1',
  machine: setup({ types: { events: {} as OrderEvent } }).createMachine({
    id: 'order',
    initial: 'payment',
    states: {
      payment: { on: { PAID: 'packing' } },
      packing: { on: { PACKED: 'shipped' } },
      shipped: { type: 'final' },
    },
    output: () => 'version 1',
  }),
})

export const jobs = [order]
