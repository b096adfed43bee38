/** The figures of the overview and of one queue, and dead jobs in groups. */
import type { ErrorRecord, JobDefinition, QueueStats, StateCounts, WorkerRecord } from '../index.ts'
import { jobStates } from '../core/lifecycle.ts'
import { activity, type Activity, type Feed } from './feed.ts'
import { redacted, type DashboardSettings } from './options.ts'

/** For how many queues figures are read; the others have counts only. */
const queuesMax = 200
/** How many dead jobs are read for the groups. */
const deadMax = 5_000
const groupIdsMax = 1_000

export interface QueueRow {
  readonly type: string
  readonly paused: boolean
  readonly counts: StateCounts
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
}

export interface Overview {
  readonly now: number
  readonly store: { readonly name: string; readonly durable: boolean; readonly shared: boolean }
  readonly runtime: { readonly state: string; readonly concurrency: number; readonly running: number } | null
  readonly counts: StateCounts
  readonly queues: readonly QueueRow[]
  readonly queuesLeftOut: number
  readonly workers: readonly WorkerRecord[]
  readonly activity: Activity
  /** Dead jobs of the last 24 hours; 1,000 stands for as many or more. */
  readonly deadLastDay: number
}

export async function overview(settings: DashboardSettings, feed: Feed): Promise<Overview> {
  const { client, runtime } = settings
  const [{ types: _, ...counts }, workers, all, stats] = await Promise.all([
    client.counts(),
    client.workers(),
    client.queues(),
    runtime?.stats() ?? null,
    feed.catchUp(),
  ])
  const now = client.store.now()
  const shown = all.slice(0, queuesMax)
  const queues = shown.map((queue) => queueRow(settings, queue, workers))
  const dead = await client.list({ state: 'dead', finishedAfter: now - 86_400_000, limit: 1_000, fields: ['id'] })
  return {
    now,
    store: { name: client.store.name, ...client.store.capabilities },
    runtime: stats && { state: stats.state, concurrency: stats.concurrency, running: stats.running },
    counts,
    queues,
    queuesLeftOut: Math.max(0, all.length - queuesMax),
    workers: workers.map((worker) => shownWorker(settings, worker)),
    activity: activity(feed, now, null),
    deadLastDay: dead.length,
  }
}

/** A worker; with `redact`, without the check-ins of its jobs, which are job data. */
export const shownWorker = ({ redact }: DashboardSettings, worker: WorkerRecord): WorkerRecord =>
  redact === null ? worker : { ...worker, running: worker.running.map((run) => ({ ...run, checkin: null })) }

function queueRow(
  { client, runtime }: DashboardSettings,
  { type, paused, counts, weight, expectedShare, share, latencyMs }: QueueStats,
  workers: readonly WorkerRecord[],
): QueueRow {
  const definition = client.jobs.get(type)
  return {
    type,
    paused,
    counts,
    weight: definition === undefined ? null : weight,
    expectedShare: definition === undefined ? null : expectedShare,
    share: runtime === null || definition === undefined ? null : share,
    oldestAt: counts.queued === 0 ? null : client.store.now() - latencyMs,
    workers: workers.filter(({ types, lost }) => !lost && types.includes(type)).length,
    isMachine: (definition?.machine ?? null) !== null,
  }
}

export interface QueueView extends QueueRow {
  readonly now: number
  readonly activity: Activity
  readonly failures: readonly FailureGroup[]
  readonly settings: Pick<JobDefinition, 'maxAttempts' | 'timeoutMs' | 'limits'> | null
  readonly versions: readonly string[]
}

/** @returns null for a type that is neither defined nor stored */
export async function queueView(settings: DashboardSettings, feed: Feed, type: string): Promise<QueueView | null> {
  const { client } = settings
  await feed.catchUp()
  const definition = client.jobs.get(type)
  const row = queueRow(settings, await client.queue(type).stats(), await client.workers())
  if (definition === undefined && jobStates.every((state) => row.counts[state] === 0)) return null
  const now = client.store.now()
  return {
    ...row,
    now,
    activity: activity(feed, now, type),
    failures: (await deadGroups(settings, type)).groups,
    settings:
      definition === undefined
        ? null
        : { maxAttempts: definition.maxAttempts, timeoutMs: definition.timeoutMs, limits: definition.limits },
    versions: definition?.machine?.charts.map(({ version }) => version) ?? [],
  }
}

export interface FailureGroup {
  readonly type: string
  readonly name: string
  /** The message, with `…` for its numbers and ids. */
  readonly message: string
  readonly count: number
  readonly firstAt: number | null
  readonly lastAt: number | null
  /** The newest first; 1,000 at most. */
  readonly ids: readonly string[]
}

/** Dead jobs, newest first, grouped by type and error. */
export async function deadGroups(
  settings: DashboardSettings,
  type: string | null,
): Promise<{ readonly groups: readonly FailureGroup[]; readonly looked: number; readonly more: boolean }> {
  const groups = new Map<string, FailureGroup & { ids: string[] }>()
  let after: string | undefined
  let looked = 0
  do {
    const page = await settings.client.list({
      state: 'dead',
      orderBy: 'finished',
      order: 'newest',
      limit: 1_000,
      fields: ['id', 'type', 'error', 'finishedAt'],
      ...(type !== null && { type }),
      ...(after !== undefined && { after }),
    })
    for (const job of page) addTo(groups, redacted(settings, job))
    looked += page.length
    after = page.next
  } while (after !== undefined && looked < deadMax)
  return { groups: [...groups.values()].toSorted((a, b) => b.count - a.count), looked, more: after !== undefined }
}

interface DeadJob {
  readonly id: string
  readonly type: string
  readonly error?: ErrorRecord | null
  readonly finishedAt?: number | null
}

function addTo(groups: Map<string, FailureGroup & { ids: string[] }>, { id, type, error, finishedAt }: DeadJob): void {
  const name = error?.name ?? 'Error'
  const message = pattern(error?.message ?? '')
  const key = JSON.stringify([type, name, message])
  const at = finishedAt ?? null
  const group = groups.get(key) ?? { type, name, message, count: 0, firstAt: at, lastAt: at, ids: [] }
  if (group.ids.length < groupIdsMax) group.ids.push(id)
  groups.set(key, { ...group, count: group.count + 1, firstAt: at })
}

/** A message without the parts that differ between jobs: long ids and numbers. */
const pattern = (message: string): string =>
  message
    .slice(0, 300)
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/gi, '…')
    .replaceAll(/\b(?=\w*\d)\w{16,}\b/g, '…')
    .replaceAll(/\d+(\.\d+)?/g, '…')
