/** The next release of the application: a state has gone, and `migrate` does not see to it. */
import { defineJob } from 'jobchart'
import { setup } from 'xstate'

const machine = setup({ types: { events: {} as { type: 'APPROVE' } } }).createMachine({
  id: 'order',
  initial: 'approval',
  states: { approval: { on: { APPROVE: 'paid' } }, paid: { type: 'final' } },
})

export const order = defineJob({ type: 'order', machine, version: '2', migrate: (snapshot) => snapshot })
