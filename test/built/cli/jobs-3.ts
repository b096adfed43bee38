/** The release after it: the state has another name, and `migrate` sees to it and to its timer. */
import { defineJob } from 'jobchart'
import { setup } from 'xstate'

const machine = setup({ types: { events: {} as { type: 'APPROVE' } } }).createMachine({
  id: 'order',
  initial: 'asked',
  states: {
    asked: { on: { APPROVE: 'paid' }, after: { '2d': 'late' } },
    paid: { type: 'final' },
    late: { type: 'final' },
  },
})

export const order = defineJob({
  type: 'order',
  machine,
  version: '3',
  migrate: (snapshot, _, { timers }) => ({
    snapshot: { ...(snapshot as object), value: 'asked' },
    timers: timers.map((timer) => ({ ...timer, state: 'order.asked' })),
  }),
})
