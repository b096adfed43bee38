/** The machines of the examples, written again without what they do, because an example runs when it is imported. */
import { createMachine, type AnyStateMachine } from 'xstate'

export const exampleCharts: readonly AnyStateMachine[] = [
  createMachine({
    id: 'newsletter',
    initial: 'editing',
    states: {
      editing: { on: { SEND: { target: 'sending', actions: 'keep' } } },
      sending: {
        invoke: {
          src: 'sendMails',
          onSnapshot: { actions: 'count' },
          onDone: 'sent',
          onError: { target: 'editing', actions: 'log' },
        },
      },
      sent: { type: 'final' },
    },
  }),
  createMachine({
    id: 'an-order',
    initial: 'charge',
    states: {
      charge: { invoke: { src: 'charge', onDone: 'approval', onError: 'refused' } },
      approval: { on: { APPROVE: 'ship', 'job.cancel': 'refund' }, after: { twoDays: 'refund' } },
      ship: { on: { 'job.cancel': 'refund' }, invoke: { src: 'ship', onDone: 'thank', onError: 'refund' } },
      refund: { invoke: { src: 'refund', onDone: 'apologise' } },
      thank: { invoke: { src: 'sendEmail', onDone: 'shipped' } },
      apologise: { invoke: { src: 'sendEmail', onDone: 'refunded' } },
      shipped: { type: 'final' },
      refunded: { type: 'final' },
      refused: { type: 'final' },
    },
  }),
  createMachine({
    id: 'order',
    initial: 'charging',
    states: {
      charging: { invoke: { src: 'charge', onDone: { target: 'paid', actions: 'setDeadline' } } },
      paid: {
        initial: 'approval',
        on: { 'job.cancel': 'refunding' },
        states: {
          approval: {
            entry: 'noteTimer',
            on: { APPROVE: { target: 'shipping', actions: 'noteApproved' } },
            after: { patience: { target: 'shipping', actions: 'noteFired' } },
          },
          shipping: { invoke: { src: 'ship', onDone: '#order.thanking', onError: '#order.refunding' } },
        },
      },
      thanking: { invoke: { src: 'email', onDone: 'shipped' } },
      refunding: { invoke: { src: 'refund', onDone: 'apologising' } },
      apologising: { invoke: { src: 'email', onDone: 'refunded' } },
      shipped: { type: 'final', entry: 'noteEnd' },
      refunded: { type: 'final', entry: 'noteEnd' },
    },
  }),
  createMachine({
    id: 'document',
    type: 'parallel',
    states: {
      drawing: {
        initial: 'cover',
        states: { cover: { invoke: { id: 'cover', src: 'draw', onDone: 'drawn' } }, drawn: { type: 'final' } },
      },
      reading: {
        entry: 'readAll',
        on: { 'xstate.done.actor.page.*': { actions: 'count' } },
        initial: 'pages',
        states: { pages: { always: { guard: 'allRead', target: 'read' } }, read: { type: 'final' } },
      },
    },
  }),
  createMachine({
    id: 'webhooks',
    initial: 'open',
    states: {
      open: { on: { paid: { target: 'paid', actions: 'hear' } } },
      paid: { on: { sent: { target: 'sent', actions: 'hear' } } },
      sent: { type: 'final' },
    },
  }),
  createMachine({
    id: 'article',
    initial: 'draft',
    states: {
      draft: { on: { SUBMIT: { target: 'review', actions: 'count' } } },
      review: {
        on: { APPROVE: 'published', REJECT: [{ guard: 'enough', target: 'withdrawn' }, { target: 'draft' }] },
        after: { threeDays: 'draft' },
      },
      published: { type: 'final' },
      withdrawn: { type: 'final' },
    },
  }),
]
