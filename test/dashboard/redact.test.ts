/**
 * What leaves the process of jobs with data that must not be shown: on every screen, by every filter, to every role.
 */
import { createRuntime, defineJob, fatal, JobchartError, memoryStore, type FindResult } from 'jobchart'
import { createDashboard, redactKeys, type Redact, type ShownRecord } from 'jobchart/dashboard'
import { expect, onTestFinished, test } from 'vitest'
import { assign, setup } from 'xstate'
import type { JobView } from '../../src/dashboard/job-view.ts'
import type { PastView } from '../../src/dashboard/machine-shown.ts'
import { messages } from './world.ts'

const secret = 'ada@example.org'

interface Order {
  readonly orderId: string
  readonly customer: { readonly email: string; readonly city: string }
}

const machine = setup({
  types: {
    context: {} as { order: Order; note: string },
    input: {} as Order,
    events: {} as { type: 'NOTE'; text: string },
  },
}).createMachine({
  id: 'order',
  context: ({ input }) => ({ order: input, note: '' }),
  initial: 'open',
  states: { open: { on: { NOTE: { actions: assign({ note: ({ event }) => event.text }) } } } },
})
const order = defineJob({ type: 'order', machine })

const mail = defineJob<Order, { sent: string }>({
  type: 'mail',
  retry: { maxAttempts: 1 },
  run: ({ customer: { email }, orderId }, { log, checkin }) => {
    log(`mails ${email}`, { email })
    checkin({ to: email, orderId })
    if (orderId === 'o-2') throw fatal(Object.assign(new Error(`no mailbox ${email}`), { hint: `ask ${email}` }))
    return { sent: email }
  },
})

const input = (orderId: string): Order => ({ orderId, customer: { email: secret, city: 'Paris' } })

/** A dashboard of jobs that have the secret in every field that a user fills. */
async function shop(redact?: Redact) {
  const runtime = createRuntime({ jobs: [order, mail], store: memoryStore(), logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  await runtime.schedule('nightly', '0 3 * * *', mail, input('o-0'), { tags: [secret] })
  const own = { tags: [secret], meta: { email: secret }, unique: { key: secret } }
  await runtime.run(mail, input('o-1'), { ...own, id: 'm-1' })
  await (await runtime.enqueue(mail, input('o-2'), { ...own, id: 'm-2' })).result().catch(() => {})
  await runtime.enqueue(mail, input('o-3'), { id: 'm-3', delay: '1h' })
  await runtime.cancel('m-3', { reason: `asked by ${secret}` })
  const job = await runtime.enqueue(order, input('o-4'), { ...own, id: 'order-1' })
  await job.waitFor('open')
  await job.send({ type: 'NOTE', text: secret })
  await job.waitFor(({ context }) => context.note !== '')
  await runtime.bulk.run({ kind: 'cancel', filter: { tag: secret, type: 'none' } })
  const dashboard = createDashboard({ runtime, ...(redact !== undefined && { redact }) })
  const call = (path: string): Promise<Response> => dashboard.fetch(new Request(`http://localhost/api/v1/${path}`))
  const get = async <Answer = JobView>(path: string): Promise<Answer> => (await (await call(path)).json()) as Answer
  const { checkpoints } = await get('jobs/order-1')
  const screens = [
    ...['overview', 'workers', 'activity', 'failures', 'queues/mail', 'queues/order', 'schedules', 'bulk', 'jobs'],
    ...['m-1', 'm-2', 'm-3', 'order-1'].map((id) => `jobs/${id}`),
    ...checkpoints.map(({ seq }) => `jobs/order-1/checkpoints/${seq}`),
    ...['charts', 'charts/job.svg?job=m-2', 'charts/machine.svg?job=order-1'],
  ]
  return { runtime, call, get, screens, dashboard }
}

test('the inputs of running jobs go through redact, in the list of workers', async () => {
  const slow = defineJob<Order>({
    type: 'slow',
    run: (_input, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined))),
  })
  const runtime = createRuntime({ jobs: [slow], store: memoryStore(), logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  const job = await runtime.enqueue(slow, input('o-5'))
  await expect.poll(async () => (await job.record()).state).toBe('running')
  const workersBy = async (redact: Redact): Promise<string> => {
    const dashboard = createDashboard({ runtime, redact })
    return (await dashboard.fetch(new Request('http://localhost/api/v1/workers'))).text()
  }
  const shown = await workersBy(redactKeys(['orderId', 'customer', 'city']))
  expect(shown).toContain('"input":{"orderId":"o-5","customer":{"email":"(hidden)","city":"Paris"}}')
  expect(await workersBy(({ id, type }) => ({ id, type }))).not.toContain('o-5')
})

test('redactKeys shows what is named, on every screen, and hides all else that a user has filled in', async () => {
  const { call, get, screens } = await shop(redactKeys(['orderId', 'order', 'customer', 'city', 'sent']))
  for (const path of screens.filter((each) => each !== 'jobs/m-1')) {
    expect(await (await call(path)).text(), path).not.toContain('example.org')
  }
  const { job } = await get('jobs/m-2')
  expect(job.input).toEqual({ orderId: 'o-2', customer: { email: '(hidden)', city: 'Paris' } })
  expect(job.error).toMatchObject({ name: 'Error', message: '(hidden)', hint: '(hidden)' })
  expect(job.logs).toMatchObject([{ message: '(hidden)', fields: { email: '(hidden)' } }])
  expect([job.tags, job.key, job.meta]).toEqual([[], '(hidden)', { email: '(hidden)' }])
  const { machine, job: parked } = await get('jobs/order-1')
  const context = { order: { orderId: 'o-4', customer: { email: '(hidden)', city: 'Paris' } }, note: '(hidden)' }
  expect(machine?.context).toEqual(context)
  expect(parked.checkpoint).toEqual({ number: 2, context })
  // Without redact the same screens have it, so that the test above can fail.
  const open = await shop()
  const telling = ['schedules', 'bulk', 'jobs', 'jobs/m-1', 'jobs/m-2', 'jobs/m-3', 'jobs/order-1']
  for (const path of telling) expect(await (await open.call(path)).text(), path).toContain('example.org')
})

test('what redact hides in the input is hidden where a machine and a handler carry it on', async () => {
  const { get } = await shop((job) => {
    const { customer, ...rest } = (job.input ?? {}) as Partial<Order>
    return customer === undefined ? job : { ...job, input: { ...rest, customer: { ...customer, email: '?' } } }
  })
  const { machine, job, checkpoints } = await get('jobs/order-1')
  expect(job.input).toMatchObject({ customer: { email: '?', city: 'Paris' } })
  const context = { order: { orderId: 'o-4', customer: { email: '(hidden)', city: 'Paris' } } }
  expect(machine?.context).toMatchObject(context)
  expect(job.checkpoint?.context).toEqual(machine?.context)
  const past = await get<PastView>(`jobs/order-1/checkpoints/${checkpoints[0]?.seq}`)
  expect(past.machine.context).toMatchObject(context)
})

test('what waits in the inbox of a machine is hidden as well, with the keys of its events', async () => {
  const entry = {
    number: 1,
    at: 5,
    message: { kind: 'event', event: { type: 'NOTE', text: secret }, key: secret },
  } as const
  const child = {
    number: 2,
    at: 6,
    message: { kind: 'ended', child: 'c', state: 'done', output: { to: secret } },
  } as const
  const job: ShownRecord = { id: 'a', type: 'order', inbox: [entry, child] }
  expect(redactKeys(['status'])(job).inbox).toEqual([
    { ...entry, message: { kind: 'event', event: { type: 'NOTE', text: '(hidden)' }, key: '(hidden)' } },
    { ...child, message: { ...child.message, output: { to: '(hidden)' } } },
  ])
})

test('jobs are neither listed nor counted nor changed by what is hidden, and are by what is shown', async () => {
  const { call, dashboard, runtime } = await shop(redactKeys(['email', 'tags']))
  const hidden = [`key=${secret}`, 'concurrencyKey=a', 'meta=tenant=7']
  const shown = [`tag=${secret}`, `meta=email=${secret}`, 'state=dead', 'machineState=open', 'type=mail']
  for (const path of ['jobs', 'jobs/count']) {
    for (const filter of hidden) {
      const response = await call(`${path}?${filter}`)
      expect([response.status, await response.json()], filter).toMatchObject([403, { error: { code: 'HIDDEN' } }])
    }
    for (const filter of shown) expect((await call(`${path}?${filter}`)).status, filter).toBe(200)
  }
  const change = await dashboard.fetch(
    new Request('http://localhost/api/v1/jobs/discard', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ filter: { key: secret } }),
    }),
  )
  expect(change.status).toBe(403)
  expect(await runtime.counts()).toMatchObject({ dead: 1 })
})

test('the search does not find what is hidden, nor what is near to it', async () => {
  const { call } = await shop(redactKeys(['tags']))
  const found = async (text: string) => {
    const { hits, near } = (await (await call(`find?text=${encodeURIComponent(text)}`)).json()) as FindResult
    return { kinds: hits.map(({ kind }) => kind), near }
  }
  expect(await found(secret)).toEqual({ kinds: ['tag'], near: null })
  expect(await found('no mailbox')).toEqual({ kinds: [], near: null })
  expect(await found('malbox')).toEqual({ kinds: [], near: null })
  const { call: hiding } = await shop(redactKeys([]))
  const nothing = (await (await hiding(`find?text=${secret}x`)).json()) as FindResult
  expect([nothing.hits, nothing.near]).toEqual([[], null])
  const upper = (await (await hiding(`find?text=${secret.toUpperCase()}`)).json()) as FindResult
  expect([upper.hits, upper.as]).toEqual([[], undefined])
  const { call: showing } = await shop()
  const all = (await (await showing(`find?text=${secret}`)).json()) as FindResult
  expect(all.hits.map(({ kind, exact }) => [kind, exact])).toEqual([
    ['key', true],
    ['meta', true],
    ['tag', true],
  ])
})

test('who may only read is not told where the store is', async () => {
  const inner = memoryStore()
  const path = '/srv/secret/jobs.db'
  let isBroken = false
  const store = {
    ...inner,
    counts: async () => {
      if (isBroken) throw new JobchartError('STORE_UNAVAILABLE', `${path} is locked`, { hint: `Look at ${path}.` })
      return inner.counts()
    },
  }
  const runtime = createRuntime({ jobs: [], store, logger: {} })
  onTestFinished(() => void runtime.stop({ mode: 'abort' }))
  await runtime.start()
  const answers = async (role: 'admin' | 'read'): Promise<readonly string[]> => {
    const dashboard = createDashboard({ runtime, authorize: () => role })
    isBroken = false
    const live = messages(await dashboard.fetch(new Request('http://localhost/api/v1/events')))
    await live.next()
    isBroken = true
    const overview = await dashboard.fetch(new Request('http://localhost/api/v1/overview'))
    expect(overview.status).toBe(503)
    let said = await live.next()
    while (!said.done && said.value.event !== 'store') said = await live.next()
    return [await overview.text(), JSON.stringify(said.value)]
  }
  for (const text of await answers('admin')) expect(text).toContain(path)
  for (const text of await answers('read')) expect(text).not.toContain('/srv')
})
