/** Queues as a client or runtime gives them to its users: the handle of one, and the figures. */
import { ratesFrom, ratesOf } from '../core/activity.ts'
import {
  activityOf,
  activityQuery,
  checkActivity,
  type Activity,
  type ActivityOptions,
} from '../core/activity-options.ts'
import type { Connection } from '../client/connection.ts'
import { followFigure } from '../client/follow.ts'
import type { JobDefinition } from '../core/definition.ts'
import { chartHeat, checkHeat, type ChartHeat, type HeatOptions } from '../core/heat.ts'
import { jobStates } from '../core/lifecycle.ts'
import type { Stream } from '../core/stream.ts'
import type { ActivityBucket, ActivityQuery, QueueInfo, StateCounts, Store } from '../store.ts'
import type { KeyedQueueStats, QueueHandle, QueueRates, QueueStats } from './queue-handle.ts'

/** Callbacks to the runtime or client that made the handle. */
interface QueueOwner {
  /** Number of picks so far, by type. */
  given(): ReadonlyMap<string, number>
  /** The concurrency keys of a type with the most picks so far. */
  topKeys(type: string, count: number): readonly { readonly key: string; readonly picks: number }[]
  /** Called when the queue was paused in the store. Resolves when none of its jobs starts in this process any more. */
  queuePaused(type: string): Promise<void>
}

/** Concurrency keys in the figures of a queue. */
const shownKeys = 20

export class ClientQueueHandle implements QueueHandle {
  readonly type: string
  private readonly connection: Connection
  private readonly owner: QueueOwner

  constructor(connection: Connection, owner: QueueOwner, type: string) {
    this.connection = connection
    this.owner = owner
    this.type = type
  }

  async pause(): Promise<void> {
    await this.setPaused(true)
    await this.owner.queuePaused(this.type)
  }

  resume(): Promise<void> {
    return this.setPaused(false)
  }

  async stats(): Promise<KeyedQueueStats> {
    const { type, connection, owner } = this
    await connection.ready()
    const { store, settings } = connection
    const info = await store.queue(type)
    const stats = queueStats(settings.jobs, owner.given(), await figuresIn(store, [info]))(info)
    const keys = owner.topKeys(type, shownKeys)
    return {
      ...stats,
      keys: keys.map(({ key, picks }) => ({ key, given: picks, share: picks / Math.max(1, stats.given) })),
    }
  }

  async activity(options: ActivityOptions = {}): Promise<Activity> {
    const asked = checkActivity(options)
    await this.connection.ready()
    return activityIn(this.connection.store, asked, [this.type])
  }

  async heat(options: HeatOptions = {}): Promise<ChartHeat> {
    const { period, version } = checkHeat(options)
    const { type, connection } = this
    await connection.ready()
    return chartHeat(type, period, await connection.store.heat({ type, period }), version)
  }

  get stats$(): Stream<KeyedQueueStats> {
    return followFigure(this.connection.follow, () => this.stats(), withoutTime)
  }

  private async setPaused(paused: boolean): Promise<void> {
    await this.connection.ready()
    await this.connection.store.queue(this.type, { paused })
  }
}

/** What a change of is a new value: rates and latency change with time alone. */
const withoutTime = (stats: QueueStats): unknown => ({ ...stats, rates: null, latencyMs: null })

/** What happened in one queue, or in all together. */
export async function activityIn(
  store: Store,
  asked: ReturnType<typeof checkActivity>,
  queues: ActivityQuery['queues'],
): Promise<Activity> {
  const now = store.now()
  return activityOf(asked, await store.activity(activityQuery(asked, queues, now)), now)
}

/** Figures of a queue that are not part of its `QueueInfo`. */
type QueueFigures = Pick<QueueStats, 'latencyMs' | 'rates'>

/** The figures of these queues, by type. */
export async function figuresIn(store: Store, queues: readonly QueueInfo[]): Promise<(type: string) => QueueFigures> {
  const now = store.now()
  const types = queues.map(({ type }) => type)
  const queued = queues.filter(({ counts }) => counts.queued > 0).map(({ type }) => type)
  const [activity, since] = await Promise.all([
    store.activity({ period: 'minute', from: ratesFrom(now), queues: types }),
    store.queuedSince(queued),
  ])
  const queuedSince = new Map(queued.map((type, i) => [type, since[i] ?? null]))
  const buckets = new Map(activity.map((queue) => [queue.type, queue.buckets]))
  const ratesOfLast = (type: string, minutes: number): QueueRates['lastMinute'] =>
    ratesOf(buckets.get(type) ?? noBuckets, now, minutes)
  return (type) => ({
    latencyMs: Math.max(0, now - (queuedSince.get(type) ?? now)),
    rates: { lastMinute: ratesOfLast(type, 1), lastFiveMinutes: ratesOfLast(type, 5) },
  })
}

const noBuckets: readonly ActivityBucket[] = []

const noJobs = Object.fromEntries(jobStates.map((state) => [state, 0])) as unknown as StateCounts

/** A queue that the store does not know. */
export const emptyQueue = (type: string): QueueInfo => ({ type, paused: false, counts: noJobs })

/** Makes the figures of queues, of which there may be thousands: what is the same for all is summed up once. */
export function queueStats(
  jobs: ReadonlyMap<string, Pick<JobDefinition, 'weight' | 'capacity'>>,
  given: ReadonlyMap<string, number>,
  figures: (type: string) => QueueFigures,
): (info: QueueInfo) => QueueStats {
  const givenToAll = Math.max(1, sum(given.values()))
  // A client may know no jobs.
  const weightSum = Math.max(1, sum(jobs.values().map(({ weight }) => weight)))
  return ({ type, paused, counts }) => {
    const weight = jobs.get(type)?.weight ?? 0
    const own = given.get(type) ?? 0
    const capacity = jobs.get(type)?.capacity ?? null
    return {
      type,
      paused,
      weight,
      capacity,
      counts,
      ...figures(type),
      given: own,
      share: own / givenToAll,
      expectedShare: weight / weightSum,
    }
  }
}

function sum(numbers: Iterable<number>): number {
  let total = 0
  for (const each of numbers) total += each
  return total
}
