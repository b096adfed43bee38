/**
 * The metrics that Prometheus asks for. What the store counts in its writes becomes counters without a reading of jobs:
 * of all processes, and with the attempts within machines. The durations of single attempts are those of this process.
 * A type of jobs is the only name in the labels: ids, tags and errors would be as many series.
 */
import type { JobEvent, QueueStats } from '../index.ts'
import { activityPeriods, periodStart } from '../core/activity.ts'
import type { ActivityBucket, ActivityFigure } from '../core/figures.ts'
import type { DashboardSettings } from './options.ts'
import { Histogram, type Family, type Labels } from './prometheus.ts'

/** Types with series of their own; the others are left out, and counted. */
const typesMax = 200
/** Jobs of this process whose attempts are timed at once. */
const attemptsMax = 10_000
/** A period may be written to for a while after its end, ms. */
const lateMs = 2 * activityPeriods.minute.ms
/** Upper bounds, seconds. */
const durations = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600] as const

type Figures = Readonly<Record<ActivityFigure, number>>

/** The figures of a queue since its first request: those of periods that are over, and of those that may still grow. */
class QueueTotals {
  private readonly over: Record<ActivityFigure, number> = { ...noFigures }
  /** Periods before this time are in `over`, ms since the epoch. */
  private overUntil = 0

  /** @param now the store's time @returns the totals, which never fall */
  add(buckets: readonly ActivityBucket[], now: number): Figures {
    const until = periodStart('minute', now - lateMs)
    const totals = { ...this.over }
    for (const bucket of buckets) {
      if (bucket.at < this.overUntil) continue
      addFigures(totals, bucket)
      if (bucket.at < until) addFigures(this.over, bucket)
    }
    this.overUntil = Math.max(this.overUntil, until)
    return totals
  }
}

const noFigures: Figures = {
  enqueued: 0,
  started: 0,
  done: 0,
  failed: 0,
  dead: 0,
  cancelled: 0,
  queuedMs: 0,
  runMs: 0,
}

function addFigures(totals: Record<ActivityFigure, number>, more: Figures): void {
  for (const figure of Object.keys(noFigures) as ActivityFigure[]) totals[figure] += more[figure]
}

/** How long attempts of this process took, by type and by what ended them. */
class AttemptTimes {
  private readonly begun = new Map<string, number>()
  private readonly histograms = new Map<string, { readonly labels: Labels; readonly histogram: Histogram }>()

  readonly observe = ({ id, type, event, at, from, to }: JobEvent): void => {
    if (event === 'CLAIM') return this.begin(id, at)
    const isOver = to !== 'running' && to !== 'cancelling' && (from === 'running' || from === 'cancelling')
    const begunAt = isOver ? this.begun.get(id) : undefined
    if (begunAt === undefined) return
    this.begun.delete(id)
    const labels = { type, event: event.toLowerCase() }
    const key = JSON.stringify(labels)
    let series = this.histograms.get(key)
    if (series === undefined) {
      if (this.histograms.size >= typesMax * 4) return
      this.histograms.set(key, (series = { labels, histogram: new Histogram(durations) }))
    }
    series.histogram.observe(Math.max(0, at - begunAt) / 1_000)
  }

  get samples(): Family['samples'] {
    return [...this.histograms.values()].flatMap(({ labels, histogram }) => histogram.samples(labels))
  }

  /** Where another process ends an attempt, this one does not see its end. */
  private begin(id: string, at: number): void {
    const [oldest] = this.begun.size >= attemptsMax ? this.begun.keys() : []
    if (oldest !== undefined) this.begun.delete(oldest)
    this.begun.set(id, at)
  }
}

export class Metrics {
  private readonly settings: DashboardSettings
  private readonly totals = new Map<string, QueueTotals>()
  /** Null before the first request: without one, nothing is listened to. */
  private attempts: AttemptTimes | null = null

  constructor(settings: DashboardSettings) {
    this.settings = settings
  }

  async families(): Promise<readonly Family[]> {
    const { client, runtime } = this.settings
    if (runtime !== null && this.attempts === null) {
      this.attempts = new AttemptTimes()
      runtime.events$.subscribe(this.attempts.observe)
    }
    const [all, workers] = await Promise.all([client.queues(), client.workers({ inputs: false })])
    const queues = all.slice(0, typesMax)
    const live = workers.filter(({ lost }) => !lost)
    const attempts = this.attempts === null ? [] : [ofAttempts(this.attempts)]
    return [
      ...ofQueues(queues),
      gauge('queues_left_out', `Queues beyond ${typesMax}, which have no series.`, [[{}, all.length - queues.length]]),
      gauge('workers', 'Runtimes with a heartbeat.', [[{}, live.length]]),
      gauge('slots', 'Jobs that they may run at once.', [[{}, live.reduce((sum, { slots }) => sum + slots, 0)]]),
      ...ofTotals(await this.totalsOf(queues)),
      ...attempts,
    ]
  }

  /** The totals of each queue, from two hours before the first request on. */
  private async totalsOf(queues: readonly QueueStats[]): Promise<ReadonlyMap<string, Figures>> {
    const { store } = this.settings.client
    const { ms, kept } = activityPeriods.minute
    const from = store.now() - (kept - 1) * ms
    const answers = await store.activity({ period: 'minute', from, queues: queues.map(({ type }) => type) })
    const now = store.now()
    const found = new Map(answers.map(({ type, buckets }) => [type, buckets]))
    return new Map(
      queues.map(({ type }) => {
        const totals = this.totals.get(type) ?? new QueueTotals()
        this.totals.set(type, totals)
        return [type, totals.add(found.get(type) ?? [], now)]
      }),
    )
  }
}

type Series = readonly (readonly [labels: Labels, value: number])[]

const family = (kind: Family['kind'], name: string, help: string, samples: Family['samples']): Family => ({
  kind,
  name: `jobchart_${name}`,
  help,
  samples,
})

const plain = (series: Series): Family['samples'] => series.map(([labels, value]) => ({ labels, value }))

const gauge = (name: string, help: string, series: Series): Family => family('gauge', name, help, plain(series))

const ofQueues = (queues: readonly QueueStats[]): readonly Family[] => [
  gauge(
    'jobs',
    'Jobs by state. Of those that have ended, the ones that are kept.',
    queues.flatMap(({ type, counts }) =>
      Object.entries(counts).map(([state, count]): Series[number] => [{ type, state }, count]),
    ),
  ),
  gauge(
    'queue_age_seconds',
    'Since when the first queued job waits.',
    queues.map(({ type, latencyMs }) => [{ type }, latencyMs / 1_000]),
  ),
  gauge(
    'queue_paused',
    '1 while nothing of the queue is started.',
    queues.map(({ type, paused }) => [{ type }, paused ? 1 : 0]),
  ),
]

const counters: readonly (readonly [figure: ActivityFigure, name: string, help: string])[] = [
  ['enqueued', 'jobs_enqueued_total', 'New jobs.'],
  ['started', 'attempts_started_total', 'Claims.'],
  ['done', 'jobs_done_total', 'Jobs that were completed.'],
  ['failed', 'attempts_failed_total', 'Attempts that failed, those of promises within machines included.'],
  ['dead', 'jobs_dead_total', 'Jobs after whose last attempt none was left.'],
  ['cancelled', 'jobs_cancelled_total', 'Jobs that were cancelled.'],
]

function ofTotals(totals: ReadonlyMap<string, Figures>): readonly Family[] {
  const summary = (name: string, help: string, ms: (of: Figures) => number, count: (of: Figures) => number): Family =>
    family(
      'summary',
      name,
      help,
      [...totals].flatMap(([type, of]) => [
        { suffix: '_sum', labels: { type }, value: ms(of) / 1_000 },
        { suffix: '_count', labels: { type }, value: count(of) },
      ]),
    )
  return [
    ...counters.map(([figure, name, help]) =>
      family('counter', name, help, plain([...totals].map(([type, of]) => [{ type }, of[figure]]))),
    ),
    summary(
      'queue_time_seconds',
      'From the transition that queued a job to its claim.',
      ({ queuedMs }) => queuedMs,
      ({ started }) => started,
    ),
    summary(
      'run_time_seconds',
      'Attempts that were completed or failed, those of promises within machines that failed included.',
      ({ runMs }) => runMs,
      ({ done, failed }) => done + failed,
    ),
  ]
}

const ofAttempts = ({ samples }: AttemptTimes): Family =>
  family(
    'histogram',
    'attempt_duration_seconds',
    'Attempts of this process since the first request, by the event that ended them.',
    samples,
  )
