/** Reading: pages of jobs, counts, queues, and workers as they are now. */
import { isForgotten, isLost } from '../../core/workers.ts'
import { bucketsOf, firstPeriod, periodStart } from '../../core/activity.ts'
import { valueOf } from '../../core/cell.ts'
import { caps } from '../../core/caps.ts'
import { mergesAfter, type FailureMerge, type FailureMergeChange } from '../../core/failure-merges.ts'
import { inSequence, isListed, pageCursor, positionAt, type Position } from '../../core/cursor.ts'
import type { JobRecord } from '../../core/record.ts'
import type {
  ActivityBucket,
  ActivityQuery,
  Counts,
  FoundTerms,
  ListQuery,
  MachineCounts,
  QueueActivity,
  QueueInfo,
  QueueChange,
  TermQuery,
  WorkerInfo,
  WorkerRecord,
} from '../../store.ts'
import { MachineTally } from '../../core/machine-tally.ts'
import type { CheckpointEntry } from '../../core/machine-record.ts'
import type { JobFile } from './job-file.ts'
import { countsOf, noCounts, type Queue } from './queue.ts'
import { allQueues } from './queues.ts'
import { columns, columnsFor, type ActivityValues } from './columns.ts'
import { fieldsOf, recordOf } from './record.ts'
import type { Row } from './row.ts'
import { find } from './search.ts'
import { termsOf } from './terms.ts'

const shown = (file: JobFile, row: Row): JobRecord => recordOf(row, file.machines.keptOf(row))

export function get(file: JobFile, ids: readonly string[]): (JobRecord | null)[] {
  file.writer.write()
  return ids.map((id) => {
    const row = file.rows.find(id)
    return row === undefined ? null : shown(file, row)
  })
}

/** An answer, and the number of the last transition when it was read. */
// An alias, because the types of calls are inferred: declarations cannot name an interface of this file.
type ReadAt<Answer> = {
  readonly answer: Answer
  readonly seq: number
}

/** A page without the members of an array that structured clones lose. */
type ListedJobs<Job> = {
  readonly jobs: Job[]
  readonly next: string | undefined
}

export function list<Field extends keyof JobRecord>(
  file: JobFile,
  { after, limit = caps.page, order, orderBy, fields, ...filter }: ListQuery<Field>,
): ReadAt<ListedJobs<Pick<JobRecord, Field>>> {
  const by = orderBy ?? 'enqueued'
  const positionOf = (id: string): Position | undefined => {
    const row = file.rows.find(id)
    if (row === undefined || !isListed(by, row.state)) return undefined
    if (by !== 'due') return inSequence(by === 'finished' ? row.lastSeq : row.seq)
    return row.dueAt === null ? undefined : { dueAt: row.dueAt, number: row.seq }
  }
  const { found, next } = find(file, filter, {
    by,
    newestFirst: order === 'newest',
    after: after === undefined ? null : positionAt(by, after, positionOf),
    limit: Math.min(limit, caps.pageMax),
    columns: fields === undefined ? columns : columnsFor(fields),
  })
  const jobs =
    fields === undefined
      ? found.map((values) => shown(file, file.rows.from(values)))
      : found.map((values) => {
          const row = file.rows.partOf(values)
          return fieldsOf(row, file.machines.keptOf(row), fields)
        })
  return { answer: { jobs, next: next === null ? undefined : pageCursor(by, next) }, seq: file.seq }
}

/** Terms of ids, keys, tags and meta, with what the transaction has written. */
export function terms(file: JobFile, query: TermQuery): FoundTerms {
  file.flush()
  return termsOf(file.sql, query)
}

export function counts(file: JobFile): ReadAt<Omit<Counts, 'cursor'>> {
  return { answer: countsOf(file.queues.all().map((queue) => [queue.type, queue.stateCounts()])), seq: file.seq }
}

export function machineCounts(file: JobFile, type: string): MachineCounts {
  file.writer.write()
  return (file.queues.known(type)?.machineTally ?? new MachineTally()).counts()
}

export function queueInfo(file: JobFile, type: string): QueueInfo {
  const queue = file.queues.known(type)
  return { type, paused: queue?.paused ?? false, counts: queue?.stateCounts() ?? { ...noCounts } }
}

export const queueInfos = (file: JobFile): QueueInfo[] =>
  file.queues
    .all()
    .map((queue) => ({ type: queue.type, paused: queue.paused, counts: queue.stateCounts() }))
    .toSorted((a, b) => (a.type < b.type ? -1 : 1))

export const failureMerges = (file: JobFile): readonly FailureMerge[] =>
  JSON.parse(file.sql.get('failureMerges')?.[0] ?? '[]') as readonly FailureMerge[]

export function changeFailureMerges(file: JobFile, change: FailureMergeChange): readonly FailureMerge[] {
  const merges = mergesAfter(failureMerges(file), change)
  file.sql.run('setFailureMerges', JSON.stringify(merges))
  return merges
}

export function changeQueue(file: JobFile, type: string, { paused }: QueueChange): QueueInfo {
  const queue = file.queues.of(type)
  if (queue.paused === paused) return queueInfo(file, type)
  file.queues.changing(queue).paused = paused
  file.queues.pauseChanged(queue)
  file.hints.switched(queue)
  return queueInfo(file, type)
}

export function worker(file: JobFile, id: string, info: WorkerInfo | null): void {
  const { sql, now } = file
  if (info === null) return sql.run('removeWorker', id)
  sql.run('writeWorker', id, JSON.stringify(info), now)
  // A worker that was killed has not removed itself.
  for (const [other, text, seenAt] of sql.all('workers')) {
    if (isForgotten(JSON.parse(text) as WorkerInfo, now - seenAt)) sql.run('removeWorker', other)
  }
}

/** The workers in the order of their registration, each with its running jobs, the longest-running first. */
export function workers(file: JobFile): WorkerRecord[] {
  file.writer.write()
  const byWorker = Map.groupBy(
    file.claims.jobs().flatMap((job) => {
      const values = file.sql.get('checkinOf', job)
      return values === undefined ? [] : file.rows.partOf(values)
    }),
    (row) => row.worker,
  )
  return file.sql.all('workers').flatMap(([id, text, seenAt]) => {
    const info = JSON.parse(text) as WorkerInfo
    const silentMs = file.now - seenAt
    if (isForgotten(info, silentMs)) return []
    const running = (byWorker.get(id) ?? []).map((row) => ({
      id: row.id,
      type: row.type,
      attempt: row.attempt,
      since: row.startedAt ?? 0,
      checkin: valueOf(row.rarely.checkin),
    }))
    return [{ ...info, seenAt, lost: isLost(info, silentMs), running }]
  })
}

export function checkpoints(file: JobFile, id: string): CheckpointEntry[] {
  file.writer.write()
  const row = file.rows.find(id)
  return row === undefined || !row.isMachine ? [] : file.machines.checkpoints(row)
}

/** The current minute of a queue is in its own row; the others are rows of `activity`, of all queues together, too. */
export function activity({ sql, queues, now }: JobFile, query: ActivityQuery): QueueActivity[] {
  const { period } = query
  const first = firstPeriod(query, now)
  const buckets = (rows: readonly ActivityValues[], own: readonly Queue[]): ActivityBucket[] => {
    const current = own.map(({ minuteAt, minute }) => [periodStart(period, minuteAt), minute] as const)
    const kept = rows.map(([at, ...figures]) => [at, figures] as const)
    return bucketsOf([...kept, ...current.filter(([at]) => at >= first)])
  }
  const ofQueue = (queue: Queue): ActivityBucket[] =>
    buckets(sql.all('activityOf', queue.number, period, first), [queue])
  if (query.queues === 'total') {
    return [{ type: null, buckets: buckets(sql.all('activityOf', allQueues, period, first), queues.all()) }]
  }
  if (query.queues === 'each') return queues.all().map((queue) => ({ type: queue.type, buckets: ofQueue(queue) }))
  return query.queues.map((type) => {
    const queue = queues.known(type)
    return { type, buckets: queue === undefined ? [] : ofQueue(queue) }
  })
}
