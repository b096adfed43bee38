/** The queues of a store as `stats` and `top` show them. */
import type { Client, QueueStats, WorkerRecord } from '../index.ts'
import { statesTagged } from '../core/lifecycle.ts'
import type { Column } from './table.ts'
import { grouped, relative } from './words.ts'

interface QueueRow extends Pick<QueueStats, 'type' | 'paused' | 'counts'> {
  /** When the oldest job that is queued was enqueued, ms since the epoch; null if none is. */
  readonly oldestAt: number | null
  /** Workers of the type that are not lost. */
  readonly workers: number
}

/** For how many queues the oldest job is read, those with most work first. */
const oldestMax = 200

export async function queueRows(client: Client, workers: readonly WorkerRecord[]): Promise<readonly QueueRow[]> {
  const queues = await client.queues()
  const waiting = queues.filter(({ counts }) => counts.queued > 0).toSorted((a, b) => b.counts.queued - a.counts.queued)
  const oldest = new Map<string, number>()
  for (const { type } of waiting.slice(0, oldestMax)) {
    const [job] = await client.list({ type, state: 'queued', limit: 1, fields: ['enqueuedAt'] })
    if (job !== undefined) oldest.set(type, job.enqueuedAt)
  }
  return queues.map(({ type, paused, counts }) => ({
    type,
    paused,
    counts,
    oldestAt: oldest.get(type) ?? null,
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
  { title: 'OLDEST', text: ({ oldestAt }) => relative(oldestAt, now), optional: 1 },
  { title: 'WORKERS', text: ({ workers }) => count(workers), right: true, optional: 2 },
]
