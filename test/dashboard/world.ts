/** A runtime with a few jobs in each of the states that the dashboard shows, and calls to its API. */
import { randomUUID } from 'node:crypto'
import { createRuntime, defineJob, fatal, memoryStore, type Store } from 'jobchart'
import { createDashboard, type DashboardOptions } from 'jobchart/dashboard'
import { redisStore } from 'jobchart/redis'
import { onTestFinished, test as memoryTest } from 'vitest'
import { assign, setup } from 'xstate'
import { z } from 'zod'
import { putDeadJobs } from '../support/dead-jobs.ts'
import { redisTest, serverOfFile } from '../support/redis-server.ts'

export const email = defineJob<{ to: string }, { sent: string }>({
  type: 'email.send',
  weight: 3,
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
export async function jobs(store: Store = memoryStore()) {
  const runtime = createRuntime({ jobs: [email, order], store, logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  await Promise.all(['ada', 'bob'].map((to) => runtime.run(email, { to })))
  const dead = await runtime.enqueue(email, { to: 'nobody' }, { id: 'dead-1', tags: ['tenant-7'], meta: { tenant: 7 } })
  await dead.result().catch(() => {})
  const waiting = await runtime.enqueue(order, { who: 'ada' }, { id: 'order-1' })
  await waiting.waitFor('approval')
  return runtime
}

/**
 * A started runtime with 1,000 dead e-mails, and a store that does each batch of a bulk operation but the first when it
 * is `let` to.
 */
export async function deadEmails() {
  const inner = memoryStore()
  const waiting: (() => void)[] = []
  let allowed = 0
  const allow = (batches: number): void => {
    allowed += batches
    for (const resolve of waiting.splice(0, allowed)) {
      allowed--
      resolve()
    }
  }
  const advance: (typeof inner)['bulk']['advance'] = async (request) => {
    if (allowed === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    else allowed--
    const answer = await inner.bulk.advance(request)
    // On a busy machine the lease ends while a batch waits here, and the runtime goes on with another token: the old
    // one does no batch.
    if (answer.outcome !== 'advanced') allow(1)
    return answer
  }
  const store = { ...inner, bulk: { ...inner.bulk, advance } }
  await putDeadJobs(inner, 1_000, 'email.send')
  const runtime = createRuntime({ jobs: [email], store, logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.queue('email.send').pause()
  await runtime.start()
  return { runtime, let: allow }
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

interface World {
  readonly called: typeof called
  readonly jobs: typeof jobs
}

/** Tests on each store: in memory, and on a Redis server of the file. */
export function storeTests(): (name: string, run: (world: World) => Promise<void>) => void {
  const server = serverOfFile()
  const onRedis = () => jobs(redisStore({ url: server().url, prefix: randomUUID() }))
  return (name, run) => {
    memoryTest(`${name}, in memory`, () => run({ called, jobs }))
    redisTest(`${name}, on Redis`, () =>
      run({ jobs: onRedis, called: (options, start = onRedis, prefix) => called(options, start, prefix) }),
    )
  }
}
