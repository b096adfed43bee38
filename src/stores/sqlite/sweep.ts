/** What time does to jobs: due ones move on, leases run out, the old ones go. */
import { leaseExpired } from '../../job/failure.ts'
import { arrows, statesTagged, type JobState } from '../../job/lifecycle.ts'
import { goesAt, type RetentionBounds } from '../../job/retention.ts'
import type { Move, PruneAnswer, RetentionPolicy, SweepAnswer } from '../../store.ts'
import type { Books, Removable } from './books.ts'
import { tellEnd } from './children.ts'
import { Row } from './row.ts'
import { keepError } from './settle.ts'
import { gaveUpKey, releaseSuccessor } from './successor.ts'

const woken = new Set(Object.keys(arrows('WAKE')))

export function promote(books: Books, limit: number): SweepAnswer {
  const moves = books.sql.all('due', books.now, limit).map((values) => {
    const row = new Row(values)
    return books.told(row, books.move(row, woken.has(row.state) ? 'WAKE' : 'DUE'))
  })
  return { moves, nextAt: nextAt(books, 'nextDue'), more: moves.length === limit }
}

export function rescue(books: Books, limit: number): SweepAnswer {
  const expired = books.sql.all('expired', books.now, limit)
  const moves = expired.flatMap((values): Move[] => {
    const row = books.rows.from(values)
    keepError(books, row, leaseExpired)
    books.rows.tell(row)
    const keyless = gaveUpKey(row)
    const move = { ...books.told(row, books.move(row, 'EXPIRE')), error: leaseExpired }
    const others = [tellEnd(books, row), keyless ? releaseSuccessor(books, row) : null]
    return [move, ...others.filter((other) => other !== null)]
  })
  return { moves, nextAt: nextAt(books, 'nextLease'), more: expired.length === limit }
}

const nextAt = (books: Books, which: 'nextDue' | 'nextLease'): number | null => books.sql.get(which)?.[0] ?? null

export function prune(books: Books, policy: RetentionPolicy, limit: number): PruneAnswer {
  const states = [...statesTagged('ended')].map((state) =>
    beyond(books, state, policy[state as keyof RetentionPolicy], limit),
  )
  const going = states
    .flatMap(({ jobs }) => jobs)
    .toSorted((a, b) => a.moved - b.moved)
    .slice(0, limit)
  books.remove(going)
  if (going.length === limit) return { pruned: limit, nextAt: null, more: true }
  const next = states.flatMap(({ nextAt }) => nextAt ?? [])
  return { pruned: going.length, nextAt: next.length === 0 ? null : Math.min(...next), more: false }
}

/** The jobs of an ended state that its bounds let go now, `limit` at most, oldest first, and when they let go the next. */
function beyond(books: Books, state: JobState, bounds: RetentionBounds, limit: number) {
  const kept = books.queues.all().reduce((sum, queue) => sum + queue.in(state), 0)
  const jobs: (Removable & { readonly moved: number })[] = []
  // Mostly there is nothing to let go: then one row is read.
  for (const rows of [1, limit]) {
    if (kept === jobs.length) break
    for (const [seq, queue, moved, finishedAt, spared] of books.sql.all('ended', state, rows).slice(jobs.length)) {
      const nextAt = goesAt(bounds, kept - jobs.length, finishedAt)
      if (nextAt > books.now) return { jobs, nextAt }
      jobs.push({ seq, queue, moved, spared, state })
    }
  }
  return { jobs, nextAt: null }
}
