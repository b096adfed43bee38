/** The definitions of the application whose store the command line is tested on. */
import { defineJob, fatal } from 'jobchart'
import { setup } from 'xstate'

interface Email {
  readonly to: string
  readonly isFull?: boolean
}

export const email = defineJob({
  type: 'email.send',
  run: async ({ to, isFull }: Email, { log }) => {
    log(`to ${to}`)
    if (isFull === true) throw fatal(Object.assign(new Error('the mailbox is full'), { hint: 'Empty it.' }))
    return { sent: to }
  },
})

export const machine = setup({ types: { events: {} as { type: 'APPROVE'; by?: string } } }).createMachine({
  id: 'order',
  initial: 'review',
  states: {
    review: { tags: 'human', on: { APPROVE: 'paid' }, after: { '2d': 'late' } },
    paid: { type: 'final' },
    late: { type: 'final' },
  },
})

export const order = defineJob({ type: 'order', machine })
