import { expect, vi } from 'vitest'
import type { Activity, FailureGroup, QueueRates } from 'jobchart'
import type { JobRecord, JobSummary, ShownJob } from './shapes.ts'
import { email, order, storeTests } from './world.ts'

const test = storeTests()

test('the overview counts jobs, queues and workers', async ({ called }) => {
  const { get } = await called()
  const { counts, queues, workers, activity, rates, deadLastDay } = await get<{
    counts: Record<string, number>
    queues: {
      type: string
      weight: number
      expectedShare: number
      workers: number
      isMachine: boolean
      rates: QueueRates
    }[]
    workers: { alive: number; lost: number }
    activity: Activity
    rates: QueueRates
    deadLastDay: number
  }>('/overview')
  expect(counts).toMatchObject({ done: 2, dead: 1, waiting: 1, running: 0 })
  expect(queues).toMatchObject([
    { type: 'email.send', weight: 3, expectedShare: 0.75, workers: 1, isMachine: false },
    { type: 'order', weight: 1, expectedShare: 0.25, workers: 1, isMachine: true },
  ])
  expect(workers).toEqual({ alive: 1, lost: 0 })
  const sum = (figure: 'done' | 'dead'): number => activity.buckets.reduce((all, bucket) => all + bucket[figure], 0)
  expect([activity.buckets.length, sum('done'), sum('dead'), deadLastDay]).toEqual([60, 2, 1, 1])
  expect(rates.lastFiveMinutes).toMatchObject({ done: 2 / 300, dead: 1 / 300, enqueued: 4 / 300 })
  expect(queues.map((queue) => queue.rates.lastFiveMinutes.enqueued)).toEqual([3 / 300, 1 / 300])
})

test('jobs are listed by their due times, the next one first unless asked otherwise', async ({ called }) => {
  const { get, runtime } = await called()
  const list = (query: string) => get<{ jobs: JobSummary[]; next: string | null }>(`/jobs?orderBy=due${query}`)
  const ids = async (query: string) => (await list(query)).jobs.map(({ id }) => id)
  expect(await ids('')).toEqual([])
  for (const delay of ['3h', '1h', '2h'] as const) await runtime.enqueue(email, { to: 'x' }, { id: delay, delay })
  expect(await ids('&state=scheduled')).toEqual(['1h', '2h', '3h'])
  expect(await ids('&order=newest')).toEqual(['3h', '2h', '1h'])
  const { next } = await list('&limit=2')
  expect(await ids(`&after=${next}`)).toEqual(['3h'])
  expect(await get('/jobs?orderBy=start')).toMatchObject({ error: { code: 'INVALID_OPTION' } })
})

test('jobs are listed newest first, by filters, page by page', async ({ called }) => {
  const { get } = await called()
  const list = (query: string) => get<{ jobs: JobSummary[]; next: string | null }>(`/jobs?${query}`)
  const all = (await list('')).jobs.map(({ id }) => id)
  expect(all[0]).toBe('order-1')
  expect(all).toHaveLength(4)
  const first = await list('limit=3')
  const second = await list(`limit=3&after=${first.next}`)
  expect([...first.jobs, ...second.jobs].map(({ id }) => id)).toEqual(all)
  expect(second.next).toBe(null)
  const ids = async (query: string) => (await list(query)).jobs.map(({ id }) => id)
  expect(await ids('state=dead&state=waiting')).toEqual(['order-1', 'dead-1'])
  expect(await ids('tag=tenant-7')).toEqual(['dead-1'])
  expect(await ids('meta=tenant%3D7')).toEqual(['dead-1'])
  expect(await ids('meta=tenant%3D7&meta=region%3Deu')).toEqual([])
  expect(await get('/jobs?meta=tenant')).toMatchObject({ error: { code: 'INVALID_OPTION' } })
  expect(await ids('machineState=approval')).toEqual(['order-1'])
  expect(await ids('type=order&machineTag=person')).toEqual(['order-1'])
  expect(await ids('enqueuedBefore=2020-01-01')).toEqual([])
  expect(await get('/jobs/count?type=email.send')).toEqual({ count: 3, more: false })
  // Of three that match, two are done: what a change leaves as it is, is not counted for it.
  expect(await get('/jobs/count?type=email.send&change=discard')).toEqual({ count: 3, more: false })
  expect(await get('/jobs/count?type=email.send&change=retry')).toEqual({ count: 1, more: false })
  expect(await get('/jobs/count?type=email.send&change=cancel')).toEqual({ count: 0, more: false })
  expect(await get('/jobs/count?state=waiting&state=done&change=cancel')).toEqual({ count: 1, more: false })
  expect(await get('/jobs/count?tag=tenant-7&change=retry')).toEqual({ count: 1, more: false })
  expect(await get('/jobs/count?tag=tenant-7&change=cancel')).toEqual({ count: 0, more: false })
  expect(await get('/jobs/count?change=delete')).toMatchObject({ error: { code: 'INVALID_OPTION' } })
  expect('input' in ((await list('')).jobs[0] ?? {})).toBe(false)
})

test('a job is shown with its record, and only with what may be done to it now', async ({ called }) => {
  const { get } = await called()
  const { job, may, machine } = await get<ShownJob>('/jobs/dead-1')
  expect(job).toMatchObject({ state: 'dead', input: { to: 'nobody' }, checkin: { value: { percent: 50 } } })
  expect(job.logs.map(({ message }) => message)).toEqual(['sends to nobody'])
  expect(may).toEqual({ retry: true, cancel: false, discard: true, send: false, fork: false })
  expect(machine).toBe(null)
})

test('a machine job is shown with its states, its context and the events it takes', async ({ called }) => {
  const { get } = await called()
  const { machine, may, checkpoints } = await get<ShownJob>('/jobs/order-1')
  expect(machine).toMatchObject({ value: 'approval', context: { who: 'ada' }, tags: ['person'], states: ['approval'] })
  expect(machine?.events).toEqual([
    { type: 'APPROVE', accepted: true, schema: null },
    { type: 'REJECT', accepted: false, schema: null },
  ])
  expect(may).toEqual({ retry: false, cancel: true, discard: false, send: true, fork: true })
  expect(checkpoints.at(-1)).toMatchObject({ value: 'approval' })
})

test('jobs are retried, cancelled and discarded by id and by filter', async ({ called }) => {
  const { runtime, post } = await called()
  await runtime.queue('email.send').pause()
  expect(await (await post('/jobs/dead-1/retry')).json()).toMatchObject({ retried: ['dead-1'] })
  expect((await (await runtime.job('dead-1'))!.record()).state).toBe('queued')
  expect((await post('/jobs/dead-1/retry')).status).toBe(409)
  expect(await (await post('/jobs/cancel', { filter: { tag: 'tenant-7' }, reason: 'by hand' })).json()).toMatchObject({
    operation: { kind: 'cancel', state: 'done', counts: { cancelled: 1 }, filter: { tag: 'tenant-7' }, error: null },
  })
  expect((await (await runtime.job('dead-1'))!.record()).cancelReason).toBe('by hand')
  expect(await (await post('/jobs/discard', { ids: ['dead-1', 'order-1'] })).json()).toEqual({
    discarded: ['dead-1'],
    refused: ['order-1'],
    notFound: [],
  })
  expect((await post('/jobs/dead-1/discard')).status).toBe(404)
  for (const body of [{}, { ids: [] }, { ids: [1] }, { filter: {} }, { ids: ['a'], filter: { state: 'dead' } }]) {
    expect((await post('/jobs/discard', body)).status, JSON.stringify(body)).toBe(400)
  }
})

test('an event is sent to the machine of a job, or refused', async ({ called }) => {
  const { runtime, post } = await called()
  const refused = await post('/jobs/order-1/send', { event: { type: 'REJECT' } })
  expect([refused.status, await refused.json()]).toMatchObject([409, { error: { code: 'NOT_ACCEPTED' } }])
  expect((await post('/jobs/order-1/send', { event: 'APPROVE' })).status).toBe(400)
  expect((await post('/jobs/order-1/send', { event: { type: 'APPROVE' } })).status).toBe(200)
  await (await runtime.job('order-1'))!.result()
  expect((await (await runtime.job('order-1'))!.snapshot()).value).toBe('shipped')
})

test('a queue is paused and resumed, and shows why its attempts fail', async ({ called }) => {
  const { runtime, post, get } = await called()
  const view = () => get<{ paused: boolean; failures: { message: string; count: number }[] }>('/queues/email.send')
  expect((await view()).failures).toMatchObject([
    { message: '550 mailbox … unavailable', count: 1, dead: 1, lastId: 'dead-1' },
  ])
  await post('/queues/email.send/pause')
  expect([(await view()).paused, (await runtime.queue('email.send').stats()).paused]).toEqual([true, true])
  await post('/queues/email.send/resume')
  expect((await view()).paused).toBe(false)
  expect(await get('/queues/nothing')).toMatchObject({ error: { code: 'NOT_FOUND' } })
})

test('a queue is paused before its first job, and the answer says that its type is not known', async ({ called }) => {
  const { runtime, post, get } = await called()
  const pausing = async (path: string): Promise<unknown> => (await post(`/queues/${path}`)).json()
  expect(await pausing('email.send/pause')).toEqual({ type: 'email.send', paused: true, known: true })
  expect(await pausing('email.sned/pause')).toEqual({ type: 'email.sned', paused: true, known: false })
  expect((await runtime.queue('email.sned').stats()).paused).toBe(true)
  expect(await get('/queues/email.sned')).toMatchObject({ type: 'email.sned', paused: true, workers: 0 })
  expect(await pausing('email.sned/resume')).toEqual({ type: 'email.sned', paused: false, known: false })
  expect(await get('/queues/email.sned')).toMatchObject({ error: { code: 'NOT_FOUND' } })
})

test('the overview shares the figures of queues for a moment, until a change by the dashboard', async ({ called }) => {
  const { runtime, post, get } = await called()
  let asked = 0
  const queues = runtime.queues.bind(runtime)
  runtime.queues = (...args) => {
    asked++
    return queues(...args)
  }
  const paused = async (): Promise<unknown> =>
    (await get<{ queues: { type: string; paused: boolean }[] }>('/overview')).queues.find(
      ({ type }) => type === 'email.send',
    )?.paused
  expect(await Promise.all(Array.from({ length: 20 }, paused))).toEqual(Array.from({ length: 20 }, () => false))
  expect(asked).toBe(1)
  await post('/queues/email.send/pause')
  expect(await paused()).toBe(true)
})

test('activity is of a queue or of all, by minutes or hours, and what cannot be asked for is refused', async ({
  called,
}) => {
  const { get } = await called()
  const enqueued = async (path: string): Promise<[number, number]> => {
    const { buckets } = await get<Activity>(path)
    return [buckets.length, buckets.reduce((sum, bucket) => sum + bucket.enqueued, 0)]
  }
  expect(await enqueued('/activity')).toEqual([60, 4])
  expect(await enqueued('/activity?period=hour&last=7d')).toEqual([168, 4])
  expect(await enqueued('/queues/order/activity?last=10m')).toEqual([10, 1])
  expect(await enqueued('/queues/nothing/activity')).toEqual([60, 0])
  for (const path of ['/activity?period=day', '/activity?last=3h', '/failures?limit=0', '/failures?limit=many']) {
    expect(await get(path), path).toMatchObject({ error: { code: 'INVALID_OPTION' } })
  }
})

test('failures are groups, and the dead jobs of one are listed and retried by its fingerprint', async ({ called }) => {
  const { runtime, get, post } = await called()
  await runtime.queue('email.send').pause()
  const { groups } = await get<{ groups: FailureGroup[] }>('/failures')
  expect(groups).toMatchObject([{ type: 'email.send', dead: 1 }])
  expect(await get('/failures?type=order')).toEqual({ groups: [] })
  const failure = groups[0]?.fingerprint ?? ''
  const { jobs } = await get<{ jobs: JobSummary[] }>(`/jobs?state=dead&failure=${failure}`)
  expect(jobs.map(({ id }) => id)).toEqual(['dead-1'])
  const report = await post('/jobs/retry', { filter: { type: 'email.send', state: 'dead', failure } })
  expect(await report.json()).toMatchObject({ operation: { state: 'done', counts: { retried: 1 } } })
  expect(await get('/failures')).toMatchObject({ groups: [{ count: 1, dead: 0 }] })
})

test('redact is given the error of a group', async ({ called }) => {
  const { get } = await called({
    redact: (job) => ('error' in job ? { ...job, error: { name: 'Error', message: 'hidden' } } : job),
  })
  for (const path of ['/failures', '/queues/email.send']) {
    const text = JSON.stringify(await get(path))
    expect(text).toMatch('hidden')
    expect(text).not.toMatch('mailbox')
  }
})

test('a schedule is shown, paused, resumed and fired', async ({ called }) => {
  const { runtime, post, get } = await called()
  await runtime.schedule('nightly', '0 3 * * *', email, { to: 'ops' })
  const shown = async () => (await get<{ schedules: { name: string; paused: boolean }[] }>('/schedules')).schedules
  expect(await shown()).toMatchObject([
    { name: 'nightly', spec: '0 3 * * *', type: 'email.send', paused: false, fired: 0 },
  ])
  expect((await post('/schedules/nightly/pause')).status).toBe(200)
  expect(await shown()).toMatchObject([{ paused: true, nextRuns: [] }])
  await post('/schedules/nightly/resume')
  const { job } = (await (await post('/schedules/nightly/trigger')).json()) as { job: string }
  expect(await (await runtime.job(job))!.result()).toEqual({ sent: 'ops' })
  expect(await shown()).toMatchObject([{ paused: false, fired: 1 }])
  expect((await post('/schedules/hourly/trigger')).status).toBe(404)
})

test('charts are pictures without styles: the life of jobs, of the runtime, of each machine, and the path of a job', async ({
  called,
}) => {
  const { call, get } = await called()
  const { charts } = await get<{ charts: { kind: string; type: string | null }[] }>('/charts')
  expect(charts.map(({ kind, type }) => [kind, type])).toEqual([
    ['machine', 'order'],
    ['job', null],
    ['runtime', null],
  ])
  const svg = async (path: string): Promise<string> => {
    const response = await call(`/api/v1/charts/${path}`)
    expect(response.headers.get('content-type')).toMatch('image/svg+xml')
    const text = await response.text()
    expect(text).not.toMatch(/<style|style=|<script/)
    return text
  }
  expect(await svg('job.svg?type=email.send')).toMatch(/data-count="job.done"/)
  expect(await svg('runtime.svg')).toMatch(/jc-active[^>]*data-state="runtime.running"/)
  expect(await svg('machine.svg?type=order')).toMatch(/data-count="order.approval"/)
  expect(await svg('job.svg?job=dead-1')).toMatch(/jc-step/)
  expect(await svg('machine.svg?job=order-1')).toMatch(/jc-active[^>]*data-state="order.approval"/)
  expect((await call('/api/v1/charts/machine.svg?type=email.send')).status).toBe(404)
})

test('the chart of a machine has the number of its jobs in each state, and lists none', async ({ called, jobs }) => {
  const { call, runtime } = await called({}, jobs)
  const { store } = runtime
  const list = vi.spyOn(store, 'list')
  for (const id of ['order-2', 'order-3'])
    await (await runtime.enqueue(order, { who: 'bob' }, { id })).waitFor('approval')
  const orders = async (): Promise<string | undefined> => {
    const svg = await (await call('/api/v1/charts/machine.svg?type=order')).text()
    return /data-count="order.approval".*?<text[^>]*>(\d+)</s.exec(svg)?.[1]
  }
  expect(await orders()).toBe('3')
  await runtime.cancel(['order-2'])
  expect(await orders()).toBe('2')
  expect(list).not.toHaveBeenCalled()
})

test('every change is told to onAudit, also one that was refused', async ({ called }) => {
  const told: unknown[] = []
  const { post } = await called({ onAudit: ({ action, target, outcome }) => void told.push([action, target, outcome]) })
  await post('/jobs/dead-1/cancel')
  await post('/jobs/dead-1/discard')
  await post('/queues/order/pause')
  expect(told).toMatchObject([
    ['cancel', 'dead-1', { code: 'NOT_ACCEPTED' }],
    ['discard', 'dead-1', { discarded: ['dead-1'] }],
    ['pause', 'order', { paused: true }],
  ])
})

test('nothing that is redacted leaves the process', async ({ called }) => {
  const secret = 'nobody'
  const { call, runtime } = await called({
    redact: (job) => ({
      ...job,
      ...('input' in job && { input: '(hidden)' }),
      ...('logs' in job && { logs: [] }),
      ...('checkpoint' in job && { checkpoint: null }),
    }),
  })
  await runtime.enqueue(email, { to: secret }, { id: 'again', delay: '1h' })
  for (const path of ['overview', 'jobs', 'jobs/dead-1', 'jobs/order-1', 'jobs/again', 'failures', 'workers']) {
    const text = await (await call(`/api/v1/${path}`)).text()
    expect(text, path).not.toMatch(/nobody|"who"/)
  }
})

test('a machine whose definition is not known here says so', async ({ called }) => {
  const { runtime } = await called()
  const { createClient } = await import('jobchart')
  const { createDashboard } = await import('jobchart/dashboard')
  const dashboard = createDashboard({ client: createClient({ store: runtime.store, jobs: [], logger: {} }) })
  const response = await dashboard.fetch(new Request('http://localhost/api/v1/jobs/order-1'))
  const { job, machine, machineProblem } = (await response.json()) as { job: JobRecord } & ShownJob
  expect([job.machineStates, machine]).toEqual([['approval'], null])
  expect(machineProblem).toMatch('does not know the machine')
})
