/** The queues of a store as `stats` and `top` show them. */
import type { Client, QueueStats, WorkerRecord } from '../index.ts'
import { statesTagged } from '../core/lifecycle.ts'
import type { Column } from './table.ts'
import { grouped, relative } from './words.ts'

interface QueueRow extends Pick<QueueStats, 'type' | 'paused' | 'counts'> {
  /** Since when the first job of the queue is queued, ms since the epoch; null if none is. */
  readonly queuedSince: number | null
  /** Workers of the type that are not lost. */
  readonly workers: number
}

export async function queueRows(client: Client, workers: readonly WorkerRecord[]): Promise<readonly QueueRow[]> {
  const queues = await client.queues()
  const now = client.store.now()
  return queues.map(({ type, paused, counts, latencyMs }) => ({
    type,
    paused,
    counts,
    queuedSince: counts.queued === 0 ? null : now - latencyMs,
    workers: workers.filter(({ types, lost }) => !lost && types.includes(type)).length,
  }))
}

/** Has the queue work, but no worker? */
export const isUnattended = ({ counts, workers, paused }: QueueRow): boolean =>
  workers === 0 && !paused && [...statesTagged('backlog')].some((state) => counts[state] > 0)

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
  { title: 'WAITING', text: ({ counts }) => count(counts.waiting), right: true, optional: 3 },
  { title: 'LATER', text: ({ counts }) => count(counts.scheduled + counts.retrying), right: true, optional: 4 },
  {
    title: 'DEAD',
    text: ({ counts }) => count(counts.dead),
    style: ({ counts }) => (counts.dead > 0 ? 'red' : 'reset'),
    right: true,
  },
  { title: 'DONE', text: ({ counts }) => count(counts.done), right: true, optional: 5 },
  { title: 'NEXT', text: ({ queuedSince }) => relative(queuedSince, now), optional: 1 },
  { title: 'WORKERS', text: ({ workers }) => count(workers), right: true, optional: 2 },
]
