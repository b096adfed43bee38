/** Definitions that a generated test imports: it runs by itself, without this repository's tests. */
import { defineJob, fatal, fromJob } from 'jobchart'
import { assign, setup } from 'xstate'

const charge = defineJob<{ amount: number }, string>({
  type: 'charge',
  retry: { maxAttempts: 3, backoff: () => 60_000 },
  run: async ({ amount }, { attempt }) => {
    if (attempt === 1) throw new Error('the bank is closed')
    return `charged ${amount}`
  },
})

const mail = defineJob<{ to: string }, string>({
  type: 'mail',
  run: async ({ to }) => {
    throw fatal(new Error(`550 no mailbox ${to}`))
  },
})

const order = defineJob({
  type: 'order',
  machine: setup({
    types: {
      input: {} as { amount: number },
      context: {} as { amount: number; by: string | null; note: string },
      events: {} as { type: 'APPROVE'; by: string; 'a "note"'?: string } | { type: 'PACKED' },
    },
    actors: { charge: fromJob(charge) },
  }).createMachine({
    id: 'order',
    context: ({ input }) => ({ amount: input.amount, by: null, note: '' }),
    initial: 'review',
    states: {
      review: {
        on: { APPROVE: { target: 'paying', actions: assign({ by: ({ event }) => event.by }) } },
        after: { '1d': 'expired' },
      },
      paying: {
        invoke: {
          src: 'charge',
          input: ({ context }) => ({ amount: context.amount }),
          onDone: 'packing',
          onError: 'expired',
        },
      },
      packing: { on: { PACKED: 'cooling' } },
      cooling: { after: { '3h': 'sent' } },
      sent: { type: 'final' },
      expired: { type: 'final' },
    },
  }),
})

export const jobs = [charge, mail, order]
