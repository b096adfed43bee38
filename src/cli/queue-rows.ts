/** The queues of a store as `stats` and `top` show them. */
import type { Client, QueueStats, Rates, WorkerRecord } from '../index.ts'
import { ratesOf } from '../core/activity.ts'
import { statesTagged } from '../core/lifecycle.ts'
import type { Column } from './table.ts'
import { grouped } from '../core/counted.ts'
import { duration, rate } from './words.ts'

interface QueueRow extends Pick<QueueStats, 'type' | 'paused' | 'counts' | 'rates'> {
  /** Since when the first job of the queue is queued, ms since the epoch; null if none is. */
  readonly queuedSince: number | null
  /** Workers of the type that are not lost. */
  readonly workers: number
}

export async function queueRows(client: Client, workers: readonly WorkerRecord[]): Promise<readonly QueueRow[]> {
  const queues = await client.queues()
  const now = client.store.now()
  return queues.map(({ type, paused, counts, rates, latencyMs }) => ({
    type,
    paused,
    counts,
    rates,
    queuedSince: counts.queued === 0 ? null : now - latencyMs,
    workers: workers.filter(({ types, lost }) => !lost && types.includes(type)).length,
  }))
}

/** What happened per second in the last minute, in all queues together. */
export async function totalRates(client: Client): Promise<Rates> {
  const { now, buckets } = await client.activity({ last: '2m' })
  return ratesOf(buckets, now, 1)
}

/** Has the queue work, but no worker? */
export const isUnattended = ({ counts, workers, paused }: QueueRow): boolean =>
  workers === 0 && !paused && [...statesTagged('backlog')].some((state) => counts[state] > 0)

const rateOf = (perSecond: number): string => (perSecond === 0 ? '·' : rate(perSecond))

const count = (number: number): string => (number === 0 ? '·' : grouped(number))

export const queueColumns = (now: number): readonly Column<QueueRow>[] => [
  {
    title: 'QUEUE',
    text: (row) => `${row.type}${row.paused ? ' (paused)' : isUnattended(row) ? ' (no worker)' : ''}`,
    style: (row) => (row.paused || isUnattended(row) ? 'yellow' : 'reset'),
    flexible: true,
  },
  { title: 'QUEUED', text: ({ counts }) => count(counts.queued), right: true },
  { title: 'RUNNING', text: ({ counts }) => count(counts.running + counts.cancelling), right: true },
  { title: 'WAITING', text: ({ counts }) => count(counts.waiting), right: true, optional: 5 },
  { title: 'LATER', text: ({ counts }) => count(counts.scheduled + counts.retrying), right: true, optional: 5 },
  {
    title: 'DEAD',
    text: ({ counts }) => count(counts.dead),
    style: ({ counts }) => (counts.dead > 0 ? 'red' : 'reset'),
    right: true,
  },
  { title: 'DONE', text: ({ counts }) => count(counts.done), right: true, optional: 6 },
  { title: 'DONE RATE', text: ({ rates }) => rateOf(rates.lastMinute.done), right: true, optional: 3 },
  { title: 'FAIL RATE', text: ({ rates }) => rateOf(rates.lastMinute.failed), right: true, optional: 4 },
  {
    title: 'OLDEST QUEUED',
    text: ({ queuedSince }) => (queuedSince === null ? '' : duration(now - queuedSince)),
    right: true,
    optional: 1,
  },
  { title: 'WORKERS', text: ({ workers }) => count(workers), right: true, optional: 2 },
]
