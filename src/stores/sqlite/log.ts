/** The transition log: the moves of a transaction are one row, as JSON. */
import type { HistoryEntry, Transition } from '../../core/record.ts'
import type { JobState } from '../../core/lifecycle.ts'
import { cursorOfEntry, entryNumber } from '../../core/cursor.ts'
import type { TransitionEntry, TransitionPage } from '../../store.ts'
import { catchUpSchedules } from './schedules.ts'
import type { FileUnit } from './unit.ts'

/**
 * The moves of a row have one time, and numbers that follow each other. Those in a row that are alike are told together:
 * a transaction that claims a hundred jobs says so once, and names them.
 */
type LoggedMoves = [
  event: HistoryEntry['event'],
  from: JobState | null,
  to: JobState,
  worker: string | null,
  reason: string | null,
  jobs: [queue: number, id: string, attempt: number][],
]

/** Moves that are alike, and the jobs that made them. */
interface AlikeTransitions {
  readonly like: HistoryEntry
  readonly jobs: string[]
}

const isLike = (a: HistoryEntry, b: HistoryEntry): boolean =>
  a.event === b.event && a.from === b.from && a.to === b.to && a.worker === b.worker && a.reason === b.reason

/** The moves of a transaction as they come together. */
export class LogEntry {
  private readonly alike: AlikeTransitions[] = []

  get none(): boolean {
    return this.alike.length === 0
  }

  add(queue: number, id: string, entry: HistoryEntry): void {
    let last = this.alike.at(-1)
    if (last === undefined || !isLike(last.like, entry)) this.alike.push((last = { like: entry, jobs: [] }))
    last.jobs.push(`[${queue},${JSON.stringify(id)},${entry.attempt}]`)
  }

  /** Takes over what another list has, which comes after it. */
  append(later: LogEntry): void {
    this.alike.push(...later.alike)
  }

  toString(): string {
    const groups = this.alike.map(({ like: { event, from, to, worker = null, reason = null }, jobs }) => {
      return `[${[event, from, to, worker, reason].map((text) => JSON.stringify(text)).join(',')},[${jobs.join(',')}]]`
    })
    return `[${groups.join(',')}]`
  }
}

/** The moves after `from`, a whole transaction at a time, until there are `limit` at least (−1 = all). */
export function* movesAfter(unit: FileUnit, from: number, limit: number): Generator<Transition> {
  // Each row has one move at least.
  for (const [first, at, text] of unit.sql.all('logAfter', from, limit)) {
    let seq = first
    for (const [event, left, to, worker, reason, jobs] of JSON.parse(text) as LoggedMoves[]) {
      for (const [queue, id, attempt] of jobs) {
        if (seq > from) {
          const move = { id, type: unit.queues.at(queue).type, seq, at, event, from: left, to, attempt }
          yield { ...move, ...(worker !== null && { worker }), ...(reason !== null && { reason }) }
        }
        seq++
      }
    }
  }
}

/** The number of the oldest move that is told. */
const oldestOf = (unit: FileUnit): number => Math.max(1, unit.seq - unit.transitionsMax + 1)

export function transitions(unit: FileUnit, cursor: string | null, limit: number): TransitionPage {
  const from = entryNumber(cursor)
  const oldest = oldestOf(unit)
  const start = Math.max(from, oldest - 1)
  const page: TransitionEntry[] = []
  for (const transition of movesAfter(unit, start, limit)) {
    if (page.length === limit) break
    page.push({ ...transition, cursor: cursorOfEntry(transition.seq) })
  }
  return { transitions: page, next: page.at(-1)?.cursor ?? cursor, lost: oldest > from + 1 }
}

/**
 * Takes note of what other processes have done since the move `from`. If that is not known (null: the file has just been
 * opened, or a transaction was rolled back) or not in the log any more, it may have concerned any queue.
 */
export function catchUp(unit: FileUnit, from: number | null): void {
  unit.inboxWatch.catchUp()
  catchUpSchedules(unit)
  for (const queue of unit.queues.switchedElsewhere()) unit.hints.switched(queue)
  if (unit.seq === from) return
  if (from === null || oldestOf(unit) > from + 1) {
    for (const queue of unit.queues.all()) unit.hints.look(queue)
  }
  for (const { id, type, from: left, to } of movesAfter(unit, from ?? unit.seq, -1)) {
    unit.hints.moved(unit.queues.of(type), id, left, to)
  }
  const due = unit.sql.get('nextDue')?.[0]
  if (typeof due === 'number') unit.hints.due(due)
}
