/** The condition of all queues together: what is not as usual, an hour of each, how long its jobs wait and run. */
import type { ActivityBucket, Client, QueueStats, WorkerRecord } from '../index.ts'
import { everyBucket } from '../core/activity.ts'
import { isEnded, jobStates } from '../core/lifecycle.ts'
import { innermost } from '../core/state-paths.ts'
import { nextTurn } from './in-turns.ts'
import { someAtOnce } from './some-at-once.ts'
import { mayBeUnlike, troubleOf, type QueueFacts, type Trouble, type TroubleFacts } from './trouble.ts'

/** Queues of which figures are shown, and of which activity is read in one call. */
const queuesMax = 200
/** Queues whose jobs are read for durations, those with most ends first. */
const measuredMax = 40
/** Queues that are read at once: one after the other takes as many round trips as there are queues. */
const atOnceMax = 10
/** The jobs of a queue that have ended last, of which durations are taken. */
const sampleMax = 200
const hourMs = 3_600_000
const unsupportedMax = 1_000
/** States of waiting machines that are shown of a queue, those with most jobs. */
const statesMax = 12

/** Of the jobs of a queue that have ended in the last hour, 200 at most: the last ones. ms. */
interface Percentiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

export interface QueueCondition {
  /** Jobs done and failed attempts in each minute of the last hour, oldest first. */
  readonly done: readonly number[]
  readonly failed: readonly number[]
  /** From enqueue, or due time, to the claim, of jobs that ended in their first attempt; null: there is none. */
  readonly wait: Percentiles | null
  /** From the claim to the end of the last attempt. */
  readonly run: Percentiles | null
  /** Jobs whose machines stand in each innermost state: those that have not ended. */
  readonly states: Readonly<Record<string, number>>
}

export interface Condition {
  readonly trouble: readonly Trouble[]
  readonly queues: ReadonlyMap<string, QueueCondition>
}

/** What takes long to read where there are thousands of types or workers. */
export interface QueuesAndWorkers {
  readonly queues: readonly QueueStats[]
  readonly workers: readonly WorkerRecord[]
}

export async function queuesAndWorkers(client: Client): Promise<QueuesAndWorkers> {
  const [queues, workers] = await Promise.all([client.queues(), client.workers({ inputs: false })])
  return { queues, workers }
}

export async function condition(client: Client, present = queuesAndWorkers(client)): Promise<Condition> {
  const [{ queues: all, workers }, schedules, unsupported] = await Promise.all([
    present,
    client.schedules({ next: 1 }),
    client.list({ unsupported: true, limit: unsupportedMax, fields: ['type'] }),
  ])
  const now = client.store.now()
  const shown = shownQueues(all)
  const minutesOf = await activityOf(client, shown, 'minute', now - 59 * 60_000)
  const facts: TroubleFacts = {
    now,
    schedules,
    workers,
    unsupported: byType(unsupported, unsupported.next !== undefined),
    queues: await queueFacts(client, all, workers, now),
  }
  return { trouble: troubleOf(facts), queues: await conditions(client, shown, minutesOf, now) }
}

/** The queues of which figures are shown: those with most jobs that have not ended, in the order given. */
export function shownQueues(all: readonly QueueStats[]): readonly QueueStats[] {
  if (all.length <= queuesMax) return all
  const live = all.map((queue) => ({ queue, jobs: liveJobs(queue) })).toSorted((a, b) => b.jobs - a.jobs)
  const chosen = new Set(live.slice(0, queuesMax).map(({ queue }) => queue))
  return all.filter((queue) => chosen.has(queue))
}

const liveStates = jobStates.filter((state) => !isEnded(state))
const liveJobs = ({ counts }: QueueStats): number => liveStates.reduce((sum, state) => sum + counts[state], 0)

/** The number of workers of a type that are not lost. */
export function workersByType(workers: readonly WorkerRecord[]): (type: string) => number {
  const counts = new Map<string, number>()
  for (const { lost, types } of workers) {
    if (!lost) for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1)
  }
  return (type) => counts.get(type) ?? 0
}

/** What is known of each queue. Days are read only of those of which they may tell trouble. */
async function queueFacts(
  client: Client,
  queues: readonly QueueStats[],
  workers: readonly WorkerRecord[],
  now: number,
): Promise<readonly QueueFacts[]> {
  const workersOf = workersByType(workers)
  const known = queues.map((queue) => ({ ...queue, workers: workersOf(queue.type) }))
  const lastOf = await activityOf(client, known, 'hour', now - hourMs)
  const looked = known.filter((queue) => mayBeUnlike(queue, lastOf(queue.type)))
  const hoursOf = await activityOf(client, looked, 'hour', now - 25 * hourMs)
  const minutesOf = await activityOf(client, looked, 'minute', now - 59 * 60_000)
  return known.map((queue) => ({ ...queue, hours: hoursOf(queue.type), minutes: minutesOf(queue.type) }))
}

/** What happened in queues, of which there may be thousands. */
async function activityOf(
  { store }: Client,
  queues: readonly Pick<QueueStats, 'type'>[],
  period: 'hour' | 'minute',
  from: number,
): Promise<(type: string) => readonly ActivityBucket[]> {
  const found = new Map<string, readonly ActivityBucket[]>()
  for (let at = 0; at < queues.length; at += queuesMax) {
    const types = queues.slice(at, at + queuesMax).map(({ type }) => type)
    for (const { type, buckets } of await store.activity({ period, from, queues: types })) {
      if (type !== null) found.set(type, buckets)
    }
    await nextTurn()
  }
  return (type) => found.get(type) ?? []
}

function byType(jobs: readonly { readonly type: string }[], more: boolean): TroubleFacts['unsupported'] {
  const groups = Map.groupBy(jobs, ({ type }) => type)
  return new Map(Array.from(groups, ([type, own]) => [type, { jobs: own.length, more }]))
}

const endsIn = (buckets: readonly ActivityBucket[]): number =>
  buckets.reduce((sum, { done, dead }) => sum + done + dead, 0)

/** Of some queues at once, each begun in a turn of the event loop of its own. */
async function conditions(
  client: Client,
  queues: readonly QueueStats[],
  minutesOf: (type: string) => readonly ActivityBucket[],
  now: number,
): Promise<ReadonlyMap<string, QueueCondition>> {
  const busiest = queues
    .map(({ type }) => ({ type, ends: endsIn(minutesOf(type)) }))
    .filter(({ ends }) => ends > 0)
    .toSorted((a, b) => b.ends - a.ends)
  const measured = new Set(busiest.slice(0, measuredMax).map(({ type }) => type))
  const found = new Map<string, QueueCondition>()
  const read = async ({ type, counts }: QueueStats): Promise<void> => {
    const minutes = everyBucket(minutesOf(type), { period: 'minute', count: 60, now })
    const mayStand = counts.waiting + counts.scheduled + counts.running + counts.queued + counts.retrying > 0
    found.set(type, {
      done: minutes.map(({ done }) => done),
      failed: minutes.map(({ failed }) => failed),
      ...(measured.has(type) ? await durations(client, type, now) : { wait: null, run: null }),
      states: mayStand ? innermostOf((await client.store.machineCounts(type)).states) : {},
    })
  }
  let turn = nextTurn()
  await someAtOnce(queues, atOnceMax, async (queue) => {
    await (turn = turn.then(nextTurn))
    await read(queue)
  })
  return found
}

async function durations({ store }: Client, type: string, now: number): Promise<Pick<QueueCondition, 'wait' | 'run'>> {
  const jobs = await store.list({
    type,
    orderBy: 'finished',
    order: 'newest',
    finishedAfter: now - hourMs,
    limit: sampleMax,
    fields: ['attempt', 'enqueuedAt', 'startedAt', 'finishedAt', 'history'],
  })
  const waits: number[] = []
  const runs: number[] = []
  for (const { attempt, startedAt, finishedAt, history } of jobs) {
    if (startedAt === null || finishedAt === null) continue
    runs.push(finishedAt - startedAt)
    // The transition before the claim has queued the job.
    const claim = history.findLastIndex(({ event }) => event === 'CLAIM')
    const queued = history[claim - 1]
    if (attempt <= 1 && queued !== undefined) waits.push(startedAt - queued.at)
  }
  return { wait: percentiles(waits), run: percentiles(runs) }
}

/** The least value that so many hundredths are not above. */
export function percentiles(values: readonly number[]): Percentiles | null {
  if (values.length === 0) return null
  const sorted = values.map((value) => Math.max(0, value)).toSorted((a, b) => a - b)
  const at = (part: number): number => sorted[Math.ceil(part * sorted.length) - 1] ?? 0
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

/** The states without those that have child states here, those with most jobs first. */
function innermostOf(states: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const inner = innermost(Object.keys(states)).map((path) => [path, states[path] ?? 0] as const)
  return Object.fromEntries(inner.toSorted(([, a], [, b]) => b - a).slice(0, statesMax))
}
