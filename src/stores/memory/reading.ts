/** Reading: pages of jobs, counts, queues and workers as they are now. */
import { isForgotten, isLost } from '../../core/workers.ts'
import { caps } from '../../core/caps.ts'
import { isListed, pageCursor, positionAt, withCursor, type Position } from '../../core/cursor.ts'
import { MachineTally } from '../../core/machine-tally.ts'
import type { JobState } from '../../core/lifecycle.ts'
import type { JobRecord } from '../../core/record.ts'
import { firstPeriod } from '../../core/activity.ts'
import type {
  ActivityQuery,
  Counts,
  FailureGroup,
  FailureQuery,
  JobPage,
  ListQuery,
  HeatQuery,
  MachineCounts,
  QueueActivity,
  QueueInfo,
  StateCounts,
  StoredHeat,
  WorkerRecord,
} from '../../store.ts'
import { Heap, type HeapItem } from '../../core/heap.ts'
import type { LatestGroup } from './failure-groups.ts'
import { Heat } from './heat.ts'
import type { Tables } from './tables.ts'
import { leasedPhases, noCounts, phases } from './phases.ts'
import { fieldsOf, recordOf } from './fields.ts'
import { checkinOf } from './records.ts'
import type { Row } from './row.ts'
import { find, positionIn } from './selection.ts'
import { bucketsSince, totalSince } from './series.ts'

export function list<Field extends keyof JobRecord>(
  tables: Tables,
  { after, limit = caps.page, order, orderBy, fields, ...filter }: ListQuery<Field>,
): JobPage<Pick<JobRecord, Field>> {
  const by = orderBy ?? 'enqueued'
  const positionOf = (id: string): Position | undefined => {
    const row = tables.rows.get(id)
    const isThere = row !== undefined && isListed(by, row.phase.name) && (by !== 'due' || row.dueAt !== null)
    return isThere ? positionIn(by, row) : undefined
  }
  const { rows, next } = find(tables, filter, () => true, {
    by,
    newestFirst: order === 'newest',
    after: after === undefined ? null : positionAt(by, after, positionOf),
    limit: Math.min(limit, caps.pageMax),
  })
  const jobs = rows.map((row) => (fields === undefined ? recordOf(row) : fieldsOf(row, fields)))
  return withCursor(
    Object.assign(jobs, { next: next === null ? undefined : pageCursor(by, next) }),
    tables.transitions.cursor,
  )
}

const noStateCounts = Object.fromEntries(phases.map(({ name }) => [name, 0])) as Record<JobState, number>

function named(counts: readonly number[]): StateCounts {
  const named = { ...noStateCounts }
  for (const { name, index } of phases) named[name] = counts[index] as number
  return named
}

export function counts(tables: Tables): Counts {
  const types: [string, StateCounts][] = [...tables.queues.values()].map((queue) => [queue.type, named(queue.counts)])
  return withCursor({ ...named(tables.counts), types: Object.fromEntries(types) }, tables.transitions.cursor)
}

export const machineCounts = (tables: Tables, type: string): MachineCounts =>
  (tables.queues.get(type)?.machineTally ?? new MachineTally()).counts()

export function queueInfo(tables: Tables, type: string): QueueInfo {
  const queue = tables.queues.get(type)
  return { type, paused: queue?.paused ?? false, counts: named(queue?.counts ?? noCounts()) }
}

export const queueInfos = (tables: Tables): QueueInfo[] =>
  [...tables.queues.values()]
    .map(({ type, paused, counts: byPhase }) => ({ type, paused, counts: named(byPhase) }))
    .toSorted((a, b) => (a.type < b.type ? -1 : 1))

export const queuedSince = (tables: Tables, types: readonly string[]): (number | null)[] =>
  types.map((type) => tables.queues.get(type)?.first?.movedAt ?? null)

export function activity(tables: Tables, query: ActivityQuery, now: number): QueueActivity[] {
  const { period, queues } = query
  const first = firstPeriod(query, now)
  if (queues === 'total') {
    const all = tables.queues.values().map((queue) => queue.activity)
    return [{ type: null, buckets: totalSince(tables.pastActivity, all, period, first) }]
  }
  return (queues === 'each' ? [...tables.queues.keys()] : queues).map((type) => {
    return { type, buckets: bucketsSince(tables.queues.get(type)?.activity, period, first) }
  })
}

export const heat = (tables: Tables, { type, period }: HeatQuery, now: number): StoredHeat =>
  (tables.queues.get(type)?.heat ?? new Heat()).since(period, now)

/** The latest group of a type that is not in the answer yet. */
interface NextGroup extends HeapItem {
  latest: LatestGroup
  readonly others: Iterator<LatestGroup, undefined>
}

export function failures(tables: Tables, { type, limit = caps.page }: FailureQuery): FailureGroup[] {
  const most = Math.min(limit, caps.pageMax)
  const next = new Heap<NextGroup>((a, b) => a.latest.lastSeq > b.latest.lastSeq)
  for (const queue of type === undefined ? tables.queues.values() : [tables.queues.get(type) ?? []].flat()) {
    const others = queue.failures.latestFirst(queue.type)
    const { value: latest } = others.next()
    if (latest !== undefined) next.push({ latest, others, heapIndex: -1 })
  }
  const found: FailureGroup[] = []
  for (let first = next.peek(); first !== undefined && found.length < most; first = next.peek()) {
    found.push(first.latest.group)
    const { value: following } = first.others.next()
    if (following === undefined) next.remove(first)
    else {
      first.latest = following
      next.update(first)
    }
  }
  return found
}

/** The workers in the order of their registration, each with its running jobs, the longest-running first. */
export function workerRecords(tables: Tables, now: number): WorkerRecord[] {
  const rows = leasedPhases.flatMap((phase) => tables.rowsByPhase[phase.index]?.toArray() ?? [])
  const byWorker = Map.groupBy(rows.toSorted(byStart), (row) => row.worker)
  const listed = [...tables.workers.values()].filter(({ info, seenAt }) => !isForgotten(info, now - seenAt))
  return listed.map(({ info, seenAt }) => {
    const running = (byWorker.get(info.id) ?? []).map(runningRow)
    return { ...info, types: [...info.types], seenAt, lost: isLost(info, now - seenAt), running }
  })
}

const byStart = (a: Row, b: Row): number => (a.startedAt ?? 0) - (b.startedAt ?? 0) || a.seq - b.seq

const runningRow = (row: Row): WorkerRecord['running'][number] => ({
  id: row.id,
  type: row.type,
  attempt: row.attempt,
  since: row.startedAt ?? 0,
  checkin: checkinOf(row),
})
