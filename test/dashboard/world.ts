/** A runtime with a few jobs in each of the states that the dashboard shows, and calls to its API. */
import { createRuntime, defineJob, fatal } from 'jobchart'
import { createDashboard, type DashboardOptions } from 'jobchart/dashboard'
import { onTestFinished } from 'vitest'
import { assign, setup } from 'xstate'
import { z } from 'zod'

export const email = defineJob<{ to: string }, { sent: string }>({
  type: 'email.send',
  priority: 3,
  run: ({ to }, { log, checkin }) => {
    log(`sends to ${to}`)
    checkin({ percent: 50 })
    if (to === 'nobody') throw fatal(new Error('550 mailbox 4711 unavailable'))
    return { sent: to }
  },
})

const machine = setup({
  types: { context: {} as { who: string }, input: {} as { who: string }, events: {} as { type: 'APPROVE' | 'REJECT' } },
  guards: { never: () => false },
}).createMachine({
  id: 'order',
  context: ({ input }) => input,
  initial: 'approval',
  states: {
    approval: { tags: ['person'], on: { APPROVE: 'shipped', REJECT: { guard: 'never', target: 'refused' } } },
    shipped: { type: 'final' },
    refused: { type: 'final' },
  },
})
export const order = defineJob({ type: 'order', machine })

const reviewMachine = setup({
  types: {
    context: {} as { by: string | null; reminders: number },
    events: {} as { type: 'APPROVE'; by: string; amount?: number | undefined; urgent: boolean } | { type: 'REMIND' },
  },
  actions: {
    remind: assign({ reminders: ({ context }) => context.reminders + 1 }),
    take: assign({ by: ({ event }) => (event.type === 'APPROVE' ? event.by : null) }),
  },
}).createMachine({
  id: 'review',
  context: { by: null, reminders: 0 },
  initial: 'asked',
  states: {
    asked: {
      on: { REMIND: { target: 'reminded', actions: 'remind' }, APPROVE: { target: 'approved', actions: 'take' } },
      after: { '2d': 'expired' },
    },
    reminded: { id: 'reminded', on: { APPROVE: { target: 'approved', actions: 'take' } }, after: { '3h': 'expired' } },
    approved: { type: 'final' },
    expired: { type: 'final' },
  },
})
/** A machine with timers, and an event that has fields. */
export const review = defineJob({
  type: 'review',
  machine: reviewMachine,
  events: {
    APPROVE: z.object({
      by: z.enum(['ada', 'bob']),
      amount: z.int().min(1).optional().describe('in cents'),
      urgent: z.boolean(),
    }),
  },
})

/** A started runtime: a review was reminded of, and waits. */
export async function reviews() {
  const runtime = createRuntime({ jobs: [review], logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  const job = await runtime.enqueue(review, undefined, { id: 'review-1' })
  await job.waitFor('asked')
  await job.send({ type: 'REMIND' })
  await job.waitFor('reminded')
  return runtime
}

/** A started runtime: two e-mails are done, one is dead, an order waits. */
export async function jobs() {
  const runtime = createRuntime({ jobs: [email, order], logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  await Promise.all(['ada', 'bob'].map((to) => runtime.run(email, { to })))
  const dead = await runtime.enqueue(email, { to: 'nobody' }, { id: 'dead-1', tags: ['tenant-7'] })
  await dead.result().catch(() => {})
  const waiting = await runtime.enqueue(order, { who: 'ada' }, { id: 'order-1' })
  await waiting.waitFor('approval')
  return runtime
}

export type Call = (path: string, init?: RequestInit) => Promise<Response>

/** Calls of a dashboard's `fetch`, under a prefix; a body is sent as JSON. */
export async function called(options: Omit<DashboardOptions, 'runtime'> = {}, start = jobs, prefix = '/admin/jobs') {
  const runtime = await start()
  const dashboard = createDashboard({ runtime, ...options })
  const call: Call = (path, init = {}) =>
    dashboard.fetch(new Request(`http://localhost:4000${prefix}${path}`, { ...init }))
  const post = (path: string, body: unknown = {}, headers: Record<string, string> = {}): Promise<Response> =>
    call(`/api/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const get = async <Answer>(path: string): Promise<Answer> => (await (await call(`/api/v1${path}`)).json()) as Answer
  return { runtime, dashboard, call, post, get }
}

/** The messages of a live stream, one by one. */
export async function* messages(response: Response): AsyncGenerator<{ event: string; id: string; data: unknown }> {
  let text = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const fields = text
        .slice(0, end)
        .split('\n')
        .map((line) => line.split(/: (.*)/s) as [string, string])
      text = text.slice(end + 2)
      const of = (name: string): string => fields.find(([field]) => field === name)?.[1] ?? ''
      if (of('event') !== '') yield { event: of('event'), id: of('id'), data: JSON.parse(of('data')) }
    }
  }
}
