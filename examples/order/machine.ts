/** The life of an order: what happens when. What is done then stands in effects.ts. */
import { constant, defineJob, fromJob } from 'jobchart'
import { assign, fromPromise, setup } from 'xstate'
import type { Effects } from './effects.ts'
import type { Order } from './order.ts'

interface OrderContext extends Order {
  /** When it counts as approved, ms since the epoch. */
  readonly deadline: number
  readonly outcome: 'open' | 'shipped' | 'refunded'
}

// Processes are killed all the time here, and each kill is an attempt of what was under way.
const retry = { maxAttempts: 1_000, backoff: constant({ base: '100ms', jitter: false }) }

const input = ({ context }: { context: OrderContext }): OrderContext => context
const mail = (text: string) => (args: { context: OrderContext }) => ({ order: args.context, text })

export function orderJobs(effects: Effects) {
  const email = defineJob<{ order: Order; text: string }, string>({
    type: 'email',
    retry,
    run: async ({ order, text }, { id }) => effects.email(order, id, text),
  })

  const machine = setup({
    types: {
      input: {} as Order,
      context: {} as OrderContext,
      events: {} as { type: 'APPROVE' } | { type: 'job.cancel' },
      output: {} as { outcome: string },
    },
    actors: {
      // `self.sessionId` names this beginning of this actor, however often a kill makes it begin again.
      charge: fromPromise<string, OrderContext>(({ input: order, self }) => effects.charge(order, self.sessionId)),
      ship: fromPromise<string, OrderContext>(({ input: order, self }) => effects.ship(order, self.sessionId)),
      refund: fromPromise<string, OrderContext>(({ input: order, self }) => effects.refund(order, self.sessionId)),
      email: fromJob(email),
    },
    actions: {
      setDeadline: assign({ deadline: ({ context }) => Date.now() + context.patienceMs }),
      noteTimer: ({ context }) => effects.note(context, 'timer', { deadline: context.deadline }),
      noteFired: ({ context }) => effects.note(context, 'fired', { deadline: context.deadline }),
      noteApproved: ({ context }) => effects.note(context, 'approved'),
      noteEnd: ({ context }) => effects.note(context, 'ended', { state: context.outcome }),
    },
    delays: { patience: ({ context }) => context.deadline - Date.now() },
  }).createMachine({
    id: 'order',
    context: ({ input: order }) => ({ ...order, deadline: 0, outcome: 'open' }),
    initial: 'charging',
    states: {
      charging: { invoke: { src: 'charge', input, onDone: { target: 'paid', actions: 'setDeadline' } } },
      paid: {
        initial: 'approval',
        on: { 'job.cancel': 'refunding' },
        states: {
          approval: {
            entry: 'noteTimer',
            on: { APPROVE: { target: 'shipping', actions: 'noteApproved' } },
            after: { patience: { target: 'shipping', actions: 'noteFired' } },
          },
          shipping: { invoke: { src: 'ship', input, onDone: '#order.thanking', onError: '#order.refunding' } },
        },
      },
      thanking: { invoke: { src: 'email', input: mail('it is on its way'), onDone: 'shipped' } },
      refunding: { invoke: { src: 'refund', input, onDone: 'apologising' } },
      apologising: { invoke: { src: 'email', input: mail('here is your money'), onDone: 'refunded' } },
      shipped: { type: 'final', entry: [assign({ outcome: 'shipped' }), 'noteEnd'] },
      refunded: { type: 'final', entry: [assign({ outcome: 'refunded' }), 'noteEnd'] },
    },
    output: ({ context }) => ({ outcome: context.outcome }),
  })

  return { order: defineJob({ type: 'order', machine, retry }), email }
}
