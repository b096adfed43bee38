/** Reading: pages of jobs, counts, queues and workers as they are now. */
import { isForgotten, isLost } from '../../core/workers.ts'
import { JobchartError } from '../../core/errors.ts'
import { caps } from '../../core/caps.ts'
import type { JobRecord } from '../../core/record.ts'
import type { Counts, JobPage, ListQuery, QueueInfo, StateCounts, WorkerRecord } from '../../store.ts'
import type { MemoryUnit } from './unit.ts'
import { heldPhases, noCounts, phases } from './phases.ts'
import { checkinOf, recordOf } from './records.ts'
import type { Row } from './row.ts'
import { walk } from './selection.ts'

export function list(unit: MemoryUnit, { after, limit = caps.page, ...filter }: ListQuery): JobPage {
  const max = Math.min(limit, caps.pageMax)
  const records: JobRecord[] = []
  let last: Row | null = null
  let next: string | undefined
  walk(
    unit,
    filter,
    () => true,
    after === undefined ? 0 : seqAfter(unit, after),
    (row) => {
      if (records.length === max) {
        // There is one more: the page ends where its last job was, whatever becomes of that job.
        next = last === null ? undefined : `~${last.seq.toString(36)}`
        return 'enough'
      }
      records.push(recordOf(row))
      last = row
      return 'more'
    },
  )
  return Object.assign(records, { next })
}

function seqAfter(unit: MemoryUnit, cursor: string): number {
  const row = unit.rows.get(cursor)
  if (row !== undefined) return row.seq
  if (/^~[0-9a-z]{1,11}$/.test(cursor)) return Number.parseInt(cursor.slice(1), 36)
  throw new JobchartError('INVALID_OPTION', `after: there is no job ${JSON.stringify(cursor)} to continue from`, {
    hint: 'Pass the `next` of the previous page: it stays valid when jobs are removed.',
  })
}

const named = (counts: readonly number[]): StateCounts =>
  Object.fromEntries(phases.map((phase) => [phase.name, counts[phase.index] as number])) as unknown as StateCounts

export function counts(unit: MemoryUnit): Counts {
  const types: [string, StateCounts][] = [...unit.queues.values()].map((queue) => [queue.type, named(queue.counts)])
  return { ...named(unit.counts), types: Object.fromEntries(types) }
}

export function queueInfo(unit: MemoryUnit, type: string): QueueInfo {
  const queue = unit.queues.get(type)
  return { type, paused: queue?.paused ?? false, counts: named(queue?.counts ?? noCounts()) }
}

/** The workers in the order in which they were made known, with what each holds, longest first. */
export function workerRecords(unit: MemoryUnit, now: number): WorkerRecord[] {
  const rows = heldPhases.flatMap((phase) => unit.chains[phase.index]?.toArray() ?? [])
  const held = Map.groupBy(rows.toSorted(heldLonger), (row) => row.run?.claim.worker)
  const listed = [...unit.workers.values()].filter(({ info, seenAt }) => !isForgotten(info, now - seenAt))
  return listed.map(({ info, seenAt }) => {
    const running = (held.get(info.id) ?? []).map(runningRow)
    return { ...info, types: [...info.types], seenAt, lost: isLost(info, now - seenAt), running }
  })
}

const heldLonger = (a: Row, b: Row): number =>
  (a.run?.claim.tick.at ?? 0) - (b.run?.claim.tick.at ?? 0) || a.seq - b.seq

const runningRow = (row: Row): WorkerRecord['running'][number] => ({
  id: row.id,
  type: row.type,
  attempt: row.attempt,
  since: row.run?.claim.tick.at ?? 0,
  checkin: checkinOf(row),
})
