/** What time does to jobs: due ones move on, leases run out, the old ones go. */
import { leaseExpired } from '../../job/failure.ts'
import { arrows, statesTagged } from '../../job/lifecycle.ts'
import type { Move, RetentionPolicy, SweepAnswer } from '../../store.ts'
import type { Books } from './books.ts'
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

export function prune(books: Books, policy: RetentionPolicy, limit: number): { pruned: number; more: boolean } {
  const beyond = [...statesTagged('ended')].flatMap((state) => {
    const { ageMs, count } = policy[state as keyof RetentionPolicy]
    const excess = books.queues.all().reduce((sum, queue) => sum + queue.in(state), 0) - count
    const oldest = books.sql.all('ended', state, limit)
    return oldest
      .filter(([, , , finishedAt], i) => i < excess || books.now - finishedAt >= ageMs)
      .map(([seq, queue, moved, , spared]) => ({ seq, queue, moved, spared, state }))
  })
  const going = beyond.toSorted((a, b) => a.moved - b.moved).slice(0, limit)
  books.remove(going)
  return { pruned: going.length, more: going.length === limit }
}
