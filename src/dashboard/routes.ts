/** The routes of the dashboard: its page, and the JSON API under `/api/v1` that the page uses. */
import { Hono } from 'hono'
import type { ScheduleRecord } from '../index.ts'
import { version } from '../core/version.ts'
import { consoleLogger } from '../core/logger.ts'
import { userOf, type Peer, type RouteEnv } from './access.ts'
import {
  changeFailures,
  changeJob,
  changeJobs,
  changeQueue,
  changeSchedule,
  forkJob,
  sendEvent,
  stopBulk,
} from './actions.ts'
import { readBody } from './body.ts'
import { operations } from './bulk.ts'
import { failure, headersOf, json, notFound, problem } from './answers.ts'
import { Assets } from './assets.ts'
import { countMatching } from './count-matching.ts'
import { familyQueryIn, familyView } from './family.ts'
import { condition, queuesAndWorkers, type Condition } from './condition.ts'
import { failureView } from './failure-view.ts'
import { Feed } from './feed.ts'
import { jobView } from './job-view.ts'
import { inTurns } from './in-turns.ts'
import { largeJson } from './json-pieces.ts'
import { Live } from './live.ts'
import { Metrics } from './metrics.ts'
import { prometheusText, prometheusType } from './prometheus.ts'
import { pastView } from './machine-shown.ts'
import type { DashboardSettings } from './options.ts'
import { endedRuns } from './worker-runs.ts'
import { find } from './find.ts'
import { heatView } from './heat.ts'
import { failures, overview, queueView, shownWorkers } from './overview.ts'
import { checkFilter, redacted, type ShownRecord } from './redaction.ts'
import { troubleShown } from './trouble.ts'
import { Recent } from './recent.ts'
import { answered } from './within-time.ts'
import { Pictures } from './pictures.ts'
import { testProgram } from './test-program.ts'
import {
  activityOptionsIn,
  failureQueryIn,
  changeIn,
  changesOfJobs,
  filterIn,
  heatOptionsIn,
  listOptionsIn,
} from './queries.ts'

/** How old the condition of the queues may be that is answered, ms. */
const conditionMs = 3_000
/** The same of the queues and workers. */
const presentMs = 500
/** The same of the runs that have ended. */
const runsMs = 2_000

interface Routes {
  readonly app: Hono<RouteEnv>
  readonly live: Live
  /** The condition of the queues, read once for all readers. */
  readonly recent: Recent<Condition>
}

/** @param pathOf the part of a request's path behind the dashboard's prefix */
export function routes(settings: DashboardSettings, pathOf: (request: Request) => string): Routes {
  const { client } = settings
  const app = new Hono<RouteEnv>({ getPath: (request, options) => options?.env?.path ?? pathOf(request) })
  const feed = new Feed(client)
  const live = new Live(settings, feed)
  const present = new Recent(() => answered(queuesAndWorkers(client)), presentMs)
  const recent = new Recent(() => answered(condition(client, present.get())), conditionMs)
  const runs = new Recent(() => answered(endedRuns(client)), runsMs)

  app.onError((error, c) => {
    const response = failure(error, c.env.role)
    if (response.status === 500) consoleLogger.error('the dashboard could not answer', { error })
    return response
  })
  app.notFound(() => notFound('the path', 'The API is under api/v1: docs/dashboard-api.json describes it.'))

  // Who changes something sees it at once.
  app.post('*', async (_c, next) => {
    await next()
    present.forget()
  })
  app.get('/api/v1', (c) => {
    const push = settings.push?.publicKey ?? null
    return json({ title: settings.title, role: c.env.role, version, now: client.store.now(), push })
  })
  app.get('/api/v1/overview', async () => json(await overview(settings, recent, present)))
  app.get('/api/v1/trouble', async () =>
    json({ now: client.store.now(), ...troubleShown((await recent.get()).trouble) }),
  )
  app.get('/api/v1/workers', async () => {
    const [workers, ended] = await Promise.all([client.workers(), runs.get()])
    return largeJson({ now: client.store.now(), workers: await shownWorkers(settings, workers), ended })
  })
  app.get('/api/v1/activity', async (c) => json(await client.activity(activityOptionsIn(queryOf(c.req.url)))))
  app.get('/api/v1/failures', async (c) => json(await failures(settings, failureQueryIn(queryOf(c.req.url)))))
  app.get('/api/v1/failures/:fingerprint', async (c) => {
    const { fingerprint } = c.req.param()
    const view = await failureView(settings, c.req.query('type') ?? '', fingerprint)
    return view === null ? notFound(`failure ${fingerprint}`, 'Name its type, too: ?type=') : json(view)
  })
  for (const action of ['merge', 'split'] as const) {
    app.post(`/api/v1/failures/${action}`, (c) => changeFailures(settings, action, c))
  }
  app.get('/api/v1/find', async (c) => json(await find(settings, queryOf(c.req.url))))
  app.get('/api/v1/events', (c) => {
    const from = c.req.header('last-event-id') ?? c.req.query('from') ?? ''
    return live.open({
      from: from === '' ? null : from,
      job: c.req.query('job') || null,
      role: c.env.role,
      user: userOf(c.req.raw, c.env.peer),
      http: c.req.raw,
    })
  })
  const metrics = new Metrics(settings)
  app.get(
    '/metrics',
    async () => new Response(prometheusText(await metrics.families()), { headers: headersOf(prometheusType) }),
  )
  queueRoutes(app, settings)
  jobRoutes(app, settings)
  scheduleRoutes(app, settings)
  chartRoutes(app, settings)
  pushRoutes(app, settings)
  const assets = new Assets(settings.title)
  // A listener of Node writes the bytes that it is given; what others do with a `Response` is not known.
  const writesBytes = ({ address }: Peer): boolean => address !== undefined
  app.get('/', (c) => assets.response(c.req.raw, 'index.html', writesBytes(c.env.peer)))
  app.get('/assets/:name', (c) => assets.response(c.req.raw, c.req.param('name'), writesBytes(c.env.peer)))
  return { app, live, recent }
}

function queueRoutes(app: Hono<RouteEnv>, settings: DashboardSettings): void {
  app.get('/api/v1/queues/:type', async (c) => {
    const view = await queueView(settings, c.req.param('type'))
    const hint = 'The store has no job of this type, and this process does not define it.'
    return view === null ? notFound(`queue ${c.req.param('type')}`, hint) : json(view)
  })
  app.get('/api/v1/queues/:type/activity', async (c) =>
    json(await settings.client.queue(c.req.param('type')).activity(activityOptionsIn(queryOf(c.req.url)))),
  )
  app.get('/api/v1/queues/:type/heat', async (c) => {
    const type = c.req.param('type')
    const view = await heatView(settings, type, heatOptionsIn(queryOf(c.req.url), 'period'))
    return view === null ? notFound(`the machine of ${type}`, 'List its definition in jobs.') : largeJson(view)
  })
  for (const action of ['pause', 'resume'] as const) {
    app.post(`/api/v1/queues/:type/${action}`, (c) => changeQueue(settings, action, c.req.param('type') ?? '', c))
  }
}

function scheduleRoutes(app: Hono<RouteEnv>, settings: DashboardSettings): void {
  const { client } = settings
  app.get('/api/v1/schedules', async () => {
    const schedules = await client.schedules()
    const shown = await inTurns(schedules, (each) => shownSchedule(settings, each))
    return largeJson({ now: client.store.now(), schedules: shown })
  })
  for (const action of ['pause', 'resume', 'trigger'] as const) {
    app.post(`/api/v1/schedules/:name/${action}`, (c) => changeSchedule(settings, action, c.req.param('name') ?? '', c))
  }
}

/** A schedule: what its jobs have is shown as that of a job. */
function shownSchedule({ redact }: DashboardSettings, schedule: ScheduleRecord): ScheduleRecord {
  const { type, input, tags } = schedule
  const { input: shownInput, tags: shownTags = [] } = redacted<ShownRecord>(redact, { id: '', type, input, tags })
  return { ...schedule, input: shownInput, tags: shownTags }
}

function jobRoutes(app: Hono<RouteEnv>, settings: DashboardSettings): void {
  const { client } = settings
  app.get('/api/v1/jobs', async (c) => {
    const options = listOptionsIn(queryOf(c.req.url))
    checkFilter(settings.redact, options, client.jobs.keys())
    const page = await client.list({ ...options, fields: 'summary' })
    const jobs = page.map((job) => redacted(settings.redact, job))
    return json({ now: client.store.now(), jobs, next: page.next ?? null })
  })
  app.get('/api/v1/jobs/count', async (c) => {
    const query = queryOf(c.req.url)
    const filter = filterIn(query)
    checkFilter(settings.redact, filter, client.jobs.keys())
    return json(await countMatching(client, filter, changeIn(query)))
  })
  for (const action of changesOfJobs) {
    app.post(`/api/v1/jobs/${action}`, (c) => changeJobs(settings, action, c))
    app.post(`/api/v1/jobs/:id/${action}`, (c) => changeJob(settings, action, c.req.param('id') ?? '', c))
  }
  app.get('/api/v1/bulk', async () => json(await operations(settings)))
  app.post('/api/v1/bulk/:id/stop', (c) => stopBulk(settings, c.req.param('id'), c))
  app.post('/api/v1/jobs/:id/send', (c) => sendEvent(settings, c.req.param('id'), c))
  app.post('/api/v1/jobs/:id/fork', (c) => forkJob(settings, c.req.param('id'), c))
  app.get('/api/v1/jobs/:id/checkpoints/:seq', async (c) => {
    const { id, seq } = c.req.param()
    const record = await (await client.job(id))?.record()
    const view = record === undefined ? null : await pastView(settings, record, Number(seq))
    return view === null
      ? notFound(
          `checkpoint ${seq} of job ${id}`,
          'It is not kept any more, or this process does not define its machine.',
        )
      : largeJson(view)
  })
  app.get('/api/v1/jobs/:id/family', async (c) => {
    const view = await familyView(settings, c.req.param('id'), familyQueryIn(queryOf(c.req.url)))
    return view === null ? noJob(c.req.param('id')) : largeJson(view)
  })
  app.get('/api/v1/jobs/:id/test', async (c) => {
    const id = c.req.param('id')
    const record = await (await client.job(id))?.record()
    return record === undefined ? noJob(id) : largeJson(await testProgram(settings, record))
  })
  app.get('/api/v1/jobs/:id', async (c) => {
    const view = await jobView(settings, c.req.param('id'))
    return view === null ? noJob(c.req.param('id')) : largeJson(view)
  })
}

function chartRoutes(app: Hono<RouteEnv>, settings: DashboardSettings): void {
  const pictures = new Pictures(settings)
  const svg = (picture: string | null): Response =>
    picture === null
      ? problem(404, 'NOT_FOUND', 'This process does not know the chart.', { hint: 'List the definition in jobs.' })
      : new Response(picture, { headers: headersOf('image/svg+xml; charset=utf-8') })
  const recordOf = async (id: string) => (await settings.client.job(id))?.record()

  app.get('/api/v1/charts', async () => json({ charts: await pictures.list() }))
  app.get('/api/v1/charts/runtime.svg', async () => svg(await pictures.runtimeChart()))
  app.get('/api/v1/charts/job.svg', async (c) => {
    const id = c.req.query('job')
    if (id === undefined) return svg(await pictures.jobChart(c.req.query('type') ?? null))
    const record = await recordOf(id)
    return record === undefined ? noJob(id) : svg(await pictures.jobPath(record))
  })
  app.get('/api/v1/charts/machine.svg', async (c) => {
    const { job: id, type, version: named } = c.req.query()
    if (id === undefined) {
      const { period = null } = heatOptionsIn(queryOf(c.req.url), 'heat')
      return svg(await pictures.machineChart(type ?? '', named || null, period))
    }
    const record = await recordOf(id)
    return record === undefined ? noJob(id) : svg(await pictures.machinePath(record))
  })
}

/** A reader may subscribe as well: what is told is what the page shows. */
function pushRoutes(app: Hono<RouteEnv>, { push }: DashboardSettings): void {
  const none = (): Response => notFound('web push', 'Pass `push` to createDashboard.')
  app.post('/api/v1/push/subscribe', async (c) => {
    if (push === null) return none()
    await push.add(await readBody(c.req.raw, c.env.peer))
    return json({ subscribed: true })
  })
  app.post('/api/v1/push/unsubscribe', async (c) => {
    if (push === null) return none()
    const { endpoint } = await readBody(c.req.raw, c.env.peer)
    await push.remove(endpoint)
    return json({ subscribed: false })
  })
}

const noJob = (id: string): Response => notFound(`job ${id}`, 'It was pruned or discarded.')

const queryOf = (url: string): URLSearchParams => new URL(url).searchParams
