/** A small shop whose jobs are in every state that the dashboard shows, for the pictures of its screens. */
import { createRuntime, defineJob, schedule, fatal } from 'jobchart'
import { createDashboard } from 'jobchart/dashboard'
import { createTestRuntime } from 'jobchart/testing'
import { assign, setup } from 'xstate'

const orderMachine = setup({
  types: {
    context: {} as { customer: string; approvedBy: string | null },
    input: {} as { customer: string },
    events: {} as { type: 'APPROVE'; by: string } | { type: 'REJECT' },
  },
  actions: { approve: assign({ approvedBy: ({ event }) => (event.type === 'APPROVE' ? event.by : null) }) },
}).createMachine({
  id: 'order',
  context: ({ input }) => ({ customer: input.customer, approvedBy: null }),
  initial: 'review',
  states: {
    review: {
      tags: ['person'],
      on: { APPROVE: { target: 'shipping', actions: 'approve' }, REJECT: 'refused' },
      after: { '2d': 'expired' },
    },
    shipping: { after: { '1h': 'delivered' } },
    delivered: { type: 'final' },
    refused: { type: 'final' },
    expired: { type: 'final' },
  },
})

const email = defineJob<{ to: string }, void>({
  type: 'email.send',
  weight: 60,
  retry: { maxAttempts: 5, backoff: () => '20m' },
  run: async ({ to }, { log }) => {
    log(`sends to ${to}`)
    if (to.startsWith('gone')) throw fatal(new Error(`550 mailbox ${to} unavailable`))
    if (to.startsWith('busy')) throw new Error('421 try again later')
  },
})

const resize = defineJob<{ file: string }, void>({
  type: 'image.resize',
  weight: 30,
  run: async ({ file }, { checkin, signal }) => {
    checkin({ file, percent: 40 })
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  },
})

const report = defineJob<{ name: string }, void>({ type: 'report', weight: 10, run: async () => {} })
const order = defineJob({ type: 'order', machine: orderMachine })

export interface Shop {
  /** The address of its dashboard. */
  readonly url: string
  /** Jobs that a screen shows alone. */
  readonly dead: string
  readonly waiting: string
  readonly close: () => Promise<void>
}

export async function openShop(): Promise<Shop> {
  const runtime = createRuntime({
    jobs: [email, resize, report, order],
    concurrency: 8,
    logger: {},
    schedules: [
      schedule('report of the day', '0 3 * * *', report, { name: 'day' }, { timezone: 'Europe/Berlin' }),
      schedule('report of the hour', '@hourly', report, { name: 'hour' }),
    ],
  })
  await runtime.start()
  const to = (name: string, count: number) =>
    Array.from({ length: count }, (_, i) => ({ to: `${name}-${i}@shop.example` }))
  await runtime.enqueueMany(email, [...to('ada', 940), ...to('gone', 14), ...to('busy', 9)])
  await runtime.drain()
  await runtime.enqueueMany(email, to('later', 12), { delay: '2h', tags: ['newsletter'] })
  const orders = await runtime.enqueueMany(
    order,
    ['Ada', 'Grace', 'Linus', 'Edsger', 'Barbara'].map((customer) => ({ customer })),
  )
  const [first, second] = orders
  if (first === undefined || second === undefined) throw new Error('the shop has no orders')
  await first.waitFor('review')
  await second.waitFor('review')
  await second.send({ type: 'APPROVE', by: 'Mary' })
  await second.waitFor('shipping')
  const [dead] = await runtime.list({ state: 'dead', limit: 1 })
  if (dead === undefined) throw new Error('the shop has no dead job')
  await runtime.enqueueMany(
    resize,
    ['cat', 'dog', 'owl', 'elk'].map((name) => ({ file: `${name}.png` })),
  )
  const dashboard = await createDashboard({ runtime, title: 'shop' }).listen()
  return {
    url: dashboard.url,
    dead: dead.id,
    waiting: first.id,
    close: async () => {
      await dashboard.close()
      await runtime.stop({ mode: 'abort', timeout: '1s' })
    },
  }
}

/** A day of orders in virtual time: most are approved within minutes, some wait for hours, and one is forgotten. */
export async function openDay(): Promise<Pick<Shop, 'url' | 'close'>> {
  const { runtime, clock } = await createTestRuntime({ jobs: [order], logger: {} })
  await runtime.enqueue(order, { customer: 'Hedy' })
  for (let hour = 0; hour < 20; hour++) {
    const inputs = Array.from({ length: 12 }, (_, i) => ({ customer: `customer ${hour * 12 + i}` }))
    const orders = await runtime.enqueueMany(order, inputs)
    await clock.settle()
    for (const [i, { id }] of orders.entries()) {
      await clock.advance(i === 11 ? '40m' : '90s')
      await runtime.send(id, i % 6 === 5 ? { type: 'REJECT' } : { type: 'APPROVE', by: 'Mary' })
      await clock.settle()
    }
  }
  const dashboard = await createDashboard({ runtime, title: 'shop' }).listen()
  const close = async (): Promise<void> => {
    await dashboard.close()
    await runtime.stop({ mode: 'abort', timeout: '1s' })
  }
  return { url: dashboard.url, close }
}
