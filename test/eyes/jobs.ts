/** The jobs of the data set: a shop with many tenants, whose orders are machines with child jobs. */
import { constant, defineJob, fromJob, type JobDefinition } from 'jobchart'
import { assign, setup } from 'xstate'
import { z } from 'zod'

/** What a child job of the set is to do: a handler ends as its input says. */
export interface Scripted {
  /** The text of the error that it dies with; absent: it is done. */
  readonly fails?: string
}

class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly code = 'GATEWAY_TIMEOUT'
}

const scripted = (type: string): JobDefinition<Scripted & Readonly<Record<string, unknown>>, void> =>
  defineJob<Scripted & Readonly<Record<string, unknown>>, void>({
    type,
    retry: { maxAttempts: 1, backoff: constant('1h') },
    run: async ({ fails }, { checkin }) => {
      checkin({ percent: 100 })
      if (fails !== undefined) throw new GatewayError(fails)
    },
  })

export const charge = scripted('payment.charge')
export const reserve = scripted('stock.reserve')
export const label = scripted('label.print')
export const row = scripted('catalog.row')

export interface OrderInput {
  readonly orderId: string
  readonly customer: string
  readonly amount: number
  /** What the payment fails with, if it does. */
  readonly fails?: string
}

type OrderEvent =
  | { type: 'APPROVE'; by: string }
  | { type: 'REJECT' }
  | { type: 'PACKED' }
  | { type: 'RETRY_PAYMENT' }
  | { type: 'GIVE_UP' }

const orderMachine = setup({
  types: {
    context: {} as OrderInput & { readonly approvedBy: string | null; readonly isForgiven: boolean },
    input: {} as OrderInput,
    events: {} as OrderEvent,
  },
  actors: { charge: fromJob(charge), reserve: fromJob(reserve), label: fromJob(label) },
  guards: { isLarge: ({ context }) => context.amount > 900 },
  actions: {
    approve: assign({ approvedBy: ({ event }) => (event.type === 'APPROVE' ? event.by : null) }),
    forget: assign({ isForgiven: true }),
  },
}).createMachine({
  id: 'order',
  context: ({ input }) => ({ ...input, approvedBy: null, isForgiven: false }),
  initial: 'received',
  states: {
    received: { always: [{ guard: 'isLarge', target: 'approval' }, { target: 'payment' }] },
    approval: {
      tags: ['person'],
      on: { APPROVE: { target: 'payment', actions: 'approve' }, REJECT: 'declined' },
      after: { '3d': 'declined' },
    },
    payment: {
      invoke: {
        src: 'charge',
        input: ({ context: { orderId, amount, fails, isForgiven } }) => ({
          orderId,
          amount,
          ...(fails !== undefined && !isForgiven && { fails }),
        }),
        onDone: 'fulfilment',
        onError: 'attention',
      },
    },
    attention: {
      tags: ['person'],
      on: { RETRY_PAYMENT: { target: 'payment', actions: 'forget' }, GIVE_UP: 'declined' },
    },
    fulfilment: {
      type: 'parallel',
      states: {
        stock: {
          initial: 'reserving',
          states: {
            reserving: {
              invoke: {
                src: 'reserve',
                input: ({ context }) => ({ orderId: context.orderId }),
                onDone: 'reserved',
                onError: 'reserved',
              },
            },
            reserved: { type: 'final' },
          },
        },
        label: {
          initial: 'printing',
          states: {
            printing: {
              invoke: {
                src: 'label',
                input: ({ context }) => ({ orderId: context.orderId }),
                onDone: 'printed',
                onError: 'printed',
              },
            },
            printed: { type: 'final' },
          },
        },
      },
      onDone: 'packing',
    },
    packing: { tags: ['warehouse'], on: { PACKED: 'shipped' }, after: { '2d': 'late' } },
    late: { tags: ['warehouse', 'person'], on: { PACKED: 'shipped' } },
    shipped: { type: 'final' },
    declined: { type: 'final' },
  },
})

export const order = defineJob({
  type: 'order',
  version: '2',
  input: z.object({ orderId: z.string(), customer: z.string(), amount: z.number(), fails: z.string().optional() }),
  machine: orderMachine,
  events: { APPROVE: z.object({ by: z.string() }) },
})

interface ImportInput {
  readonly rows: number
  /** Each row of which this is a divisor fails. */
  readonly failsEach: number
}

const importMachine = setup({
  types: {
    context: {} as ImportInput & { readonly ended: number; readonly failed: number },
    input: {} as ImportInput,
  },
  actors: { row: fromJob(row) },
  guards: {
    isComplete: ({ context: { rows, ended, failed } }) => ended === rows && failed === 0,
    hasEnded: ({ context: { rows, ended } }) => ended === rows,
  },
  actions: {
    done: assign({ ended: ({ context }) => context.ended + 1 }),
    failed: assign({
      ended: ({ context }) => context.ended + 1,
      failed: ({ context }) => context.failed + 1,
    }),
  },
}).createMachine({
  id: 'catalog',
  context: ({ input }) => ({ ...input, ended: 0, failed: 0 }),
  initial: 'importing',
  states: {
    importing: {
      entry: assign(({ context: { rows, failsEach }, spawn }) => {
        for (let i = 1; i <= rows; i++) {
          const isBad = i % failsEach === 0
          const input = { row: i, ...(isBad && { fails: `row ${i}: price is missing` }) }
          spawn('row', { id: `row-${i}`, input })
        }
        return {}
      }),
      on: { 'xstate.done.actor.*': { actions: 'done' }, 'xstate.error.actor.*': { actions: 'failed' } },
      always: [
        { guard: 'isComplete', target: 'published' },
        { guard: 'hasEnded', target: 'incomplete' },
      ],
    },
    incomplete: { tags: ['person'], on: { PUBLISH: 'published' } },
    published: { type: 'final' },
  },
})

export const catalog = defineJob({ type: 'catalog.import', machine: importMachine })

/** What the makers of the set run themselves: all of it is done without a run. */
const plain = (type: string, weight: number): JobDefinition<unknown, unknown> =>
  defineJob<unknown, unknown>({
    type,
    weight,
    retry: { maxAttempts: 3, backoff: constant('40m') },
    run: async () => {},
  })

export const plainJobs = [
  plain('email.send', 60),
  plain('webhook.deliver', 40),
  plain('search.index', 20),
  plain('image.resize', 20),
  plain('invoice.render', 10),
  plain('sms.send', 10),
  plain('report.build', 5),
  plain('ledger.export', 5),
] as const

/** What a runtime runs while the set is made. */
export const machineJobs = [order, catalog, charge, reserve, label, row] as const

/** All definitions of the set, for its dashboard. */
export const eyesJobs: readonly JobDefinition<never, unknown>[] = [...machineJobs, ...plainJobs] as never
