/** The figures of the overview and of one queue, and failures in groups. */
import type {
  Activity,
  ErrorRecord,
  MergedFailureGroup,
  FailureQuery,
  JobDefinition,
  QueueRates,
  QueueStats,
  StateCounts,
  WorkerRecord,
} from '../index.ts'
import { ratesOf } from '../core/activity.ts'
import { isKnownType } from '../core/figures.ts'
import { shownQueues, workersByType, type Condition, type QueueCondition, type QueuesAndWorkers } from './condition.ts'
import { inTurns } from './in-turns.ts'
import type { DashboardSettings } from './options.ts'
import { redacted, type Redact, type ShownRecord } from './redaction.ts'
import type { Recent } from './recent.ts'
import { troubleShown, type TroubleShown } from './trouble.ts'

const runsMax = 12

export interface QueueRow {
  readonly type: string
  readonly paused: boolean
  readonly counts: StateCounts
  readonly rates: QueueRates
  /** Null if this process does not have the definition. */
  readonly weight: number | null
  /** Its share by weight, and its share of the actual picks, 0…1; null for a client. */
  readonly expectedShare: number | null
  readonly share: number | null
  /** Since when its first queued job is queued, ms since the epoch. */
  readonly oldestAt: number | null
  /** Workers of the type that are not lost. */
  readonly workers: number
  readonly isMachine: boolean
  /** Of machines that are done: how many ended in each final state, and with each `status` of their output. */
  readonly outcomes: Readonly<Record<string, number>>
}

/** A queue among all. */
export interface OverviewQueue extends QueueRow, QueueCondition {}

type OverviewRun = Pick<WorkerRecord['running'][number], 'id' | 'type' | 'attempt' | 'since'> & {
  /** The name of its worker. */
  readonly worker: string
}

export interface Overview extends TroubleShown {
  readonly now: number
  readonly store: { readonly name: string; readonly durable: boolean; readonly shared: boolean }
  readonly runtime: { readonly state: string; readonly concurrency: number; readonly running: number } | null
  readonly counts: StateCounts
  readonly queues: readonly OverviewQueue[]
  readonly queuesLeftOut: number
  readonly workers: { readonly alive: number; readonly lost: number }
  /** The runs that were claimed first. */
  readonly running: readonly OverviewRun[]
  /** Of all queues together, in each minute of the last hour. */
  readonly activity: Activity
  readonly rates: QueueRates
  /** Jobs that have died in the current hour and the 23 before it. */
  readonly deadLastDay: number
}

export async function overview(
  settings: DashboardSettings,
  recent: Recent<Condition>,
  present: Recent<QueuesAndWorkers>,
): Promise<Overview> {
  const { client, runtime } = settings
  const [{ trouble, queues: conditions }, { types: _, ...counts }, { queues: all, workers }, activity, day, stats] =
    await Promise.all([
      recent.get(),
      client.counts(),
      present.get(),
      client.activity(),
      client.activity({ period: 'hour', last: '1d' }),
      runtime?.stats() ?? null,
    ])
  const { now, buckets } = activity
  const { durable, shared } = client.store.capabilities
  const shown = shownQueues(all)
  const lost = workers.filter((worker) => worker.lost).length
  const workersOf = workersByType(workers)
  const queues = await Promise.all(
    shown.map(async (queue) => ({
      ...(await queueRow(settings, queue, workersOf)),
      ...(conditions.get(queue.type) ?? noCondition),
    })),
  )
  return {
    now,
    store: { name: client.store.name, durable, shared },
    runtime: stats && { state: stats.state, concurrency: stats.concurrency, running: stats.running },
    counts,
    ...troubleShown(trouble),
    queues,
    queuesLeftOut: all.length - shown.length,
    workers: { alive: workers.length - lost, lost },
    running: firstClaimed(workers),
    activity,
    rates: { lastMinute: ratesOf(buckets, now, 1), lastFiveMinutes: ratesOf(buckets, now, 5) },
    deadLastDay: day.buckets.reduce((sum, { dead }) => sum + dead, 0),
  }
}

function firstClaimed(workers: readonly WorkerRecord[]): readonly OverviewRun[] {
  const runs = workers.flatMap(({ name, running }) =>
    running.map(({ id, type, attempt, since }) => ({ id, type, attempt, since, worker: name })),
  )
  return runs.toSorted((a, b) => a.since - b.since).slice(0, runsMax)
}

const noCondition: QueueCondition = { done: [], failed: [], wait: null, run: null, states: {} }

/** Workers, with what their jobs have as that of jobs. */
export async function shownWorkers(
  { redact }: DashboardSettings,
  workers: readonly WorkerRecord[],
): Promise<readonly WorkerRecord[]> {
  if (redact === null) return workers
  const shown: WorkerRecord[] = []
  for (const worker of workers) {
    shown.push({ ...worker, running: await inTurns(worker.running, (run) => shownRun(redact, run)) })
  }
  return shown
}

function shownRun(redact: Redact, { input, ...run }: WorkerRecord['running'][number]): WorkerRecord['running'][number] {
  const { id, type, checkin } = run
  const shown = redacted<ShownRecord>(redact, { id, type, checkin, ...(input !== undefined && { input }) })
  return { ...run, checkin: shown.checkin ?? null, ...(shown.input !== undefined && { input: shown.input }) }
}

async function queueRow(
  { client, runtime }: DashboardSettings,
  { type, paused, counts, rates, weight, expectedShare, share, latencyMs }: QueueStats,
  workersOf: (type: string) => number,
): Promise<QueueRow> {
  const definition = client.jobs.get(type)
  const isMachine = (definition?.machine ?? null) !== null
  return {
    type,
    paused,
    counts,
    rates,
    weight: definition === undefined ? null : weight,
    expectedShare: definition === undefined ? null : expectedShare,
    share: runtime === null || definition === undefined ? null : share,
    oldestAt: counts.queued === 0 ? null : client.store.now() - latencyMs,
    workers: workersOf(type),
    isMachine,
    outcomes: isMachine ? (await client.store.machineCounts(type)).outcomes : {},
  }
}

export interface QueueView extends QueueRow {
  readonly now: number
  readonly failures: readonly MergedFailureGroup[]
  readonly settings: Pick<JobDefinition, 'maxAttempts' | 'attemptTimeoutMs' | 'limits'> | null
  readonly versions: readonly string[]
}

/** @returns null for a type that is neither known nor paused */
export async function queueView(settings: DashboardSettings, type: string): Promise<QueueView | null> {
  const { client } = settings
  const definition = client.jobs.get(type)
  const [stats, workers] = [await client.queue(type).stats(), await client.workers({ inputs: false })]
  const row = await queueRow(settings, stats, workersByType(workers))
  if (!row.paused && !isKnownType(client.jobs, type, row.counts)) return null
  return {
    ...row,
    now: client.store.now(),
    failures: (await failures(settings, { type })).groups,
    settings:
      definition === undefined
        ? null
        : {
            maxAttempts: definition.maxAttempts,
            attemptTimeoutMs: definition.attemptTimeoutMs,
            limits: definition.limits,
          },
    versions: definition?.machine?.charts.map(({ version }) => version) ?? [],
  }
}

/** Failed attempts in groups, the one that has occurred last first. */
export async function failures(
  settings: DashboardSettings,
  options: FailureQuery,
): Promise<{ readonly groups: readonly MergedFailureGroup[] }> {
  const groups = await settings.client.failures(options)
  return { groups: groups.map((group) => shownGroup(settings, group)) }
}

/** A group as it may leave the process: `redact` is given its error as that of its last job. */
function shownGroup(settings: DashboardSettings, group: MergedFailureGroup): MergedFailureGroup {
  const { lastId: id, type, name, code, message } = group
  const error: ErrorRecord = { name, message, ...(code !== null && { code }) }
  const job = redacted<ShownRecord>(settings.redact, { id, type, error })
  return {
    ...group,
    name: job.error?.name ?? 'Error',
    code: job.error?.code ?? null,
    message: job.error?.message ?? '',
  }
}
