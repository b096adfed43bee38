/** What time does to jobs: due ones move on, leases run out, the old ones go. */
import { leaseExpired } from '../../job/failure.ts'
import { goesAt } from '../../job/retention.ts'
import type { Move, PruneAnswer, RetentionPolicy, SweepAnswer } from '../../store.ts'
import type { Books } from './books.ts'
import { tellEnd } from './children.ts'
import { endedPhases } from './phases.ts'
import { moveOf } from './records.ts'
import type { Row } from './row.ts'
import { failed } from './settle.ts'
import { releaseSuccessor } from './successor.ts'

export function promote(books: Books, limit: number, now: number): SweepAnswer {
  const moves: Move[] = []
  for (let row = ringing(books.due, now); row !== undefined && moves.length < limit; row = ringing(books.due, now)) {
    const event = row.phase.whenDue
    if (event === null) throw new TypeError(`job ${row.id} is timed, but nothing moves it on`)
    books.move(row, event, now)
    moves.push(moveOf(row))
  }
  return { moves, nextAt: books.due.peek()?.alarmAt ?? null, more: moves.length === limit }
}

export function rescue(books: Books, limit: number, now: number): SweepAnswer {
  const moves: Move[] = []
  let rescued = 0
  for (let row = ringing(books.leases, now); row !== undefined && rescued < limit; row = ringing(books.leases, now)) {
    rescued++
    if (row.run === null) throw new TypeError(`job ${row.id} is leased to nobody`)
    failed(row, row.run, leaseExpired, now)
    books.move(row, 'EXPIRE', now)
    moves.push(moveOf(row, leaseExpired))
    for (const move of [tellEnd(books, row, now), releaseSuccessor(books, row, now)])
      if (move !== null) moves.push(move)
  }
  return { moves, nextAt: books.leases.peek()?.alarmAt ?? null, more: rescued === limit }
}

/** The first row of a heap whose time has come. */
function ringing(heap: { peek(): Row | undefined }, now: number): Row | undefined {
  const row = heap.peek()
  return row !== undefined && (row.alarmAt ?? 0) <= now ? row : undefined
}

export function prune(books: Books, policy: RetentionPolicy, limit: number, now: number): PruneAnswer {
  for (let pruned = 0; ; pruned++) {
    const { row, nextAt } = oldestBeyond(books, policy, now)
    if (pruned === limit) return { pruned, nextAt: null, more: true }
    if (row === null) return { pruned, nextAt, more: false }
    books.remove(row)
  }
}

/** Of the jobs that ended first in their states, the oldest that the policy lets go now, and when it lets go the next. */
function oldestBeyond(books: Books, policy: RetentionPolicy, now: number) {
  let row: Row | null = null
  let nextAt: number | null = null
  for (const phase of endedPhases) {
    const first = books.chains[phase.index]?.head ?? null
    if (first === null) continue
    const kept = books.counts[phase.index] as number
    const at = goesAt(policy[phase.name as keyof RetentionPolicy], kept, first.last?.tick.at ?? now)
    if (at > now) nextAt = Math.min(at, nextAt ?? at)
    else if (row === null || endSeq(first) < endSeq(row)) row = first
  }
  return { row, nextAt }
}

const endSeq = (row: Row): number => row.last?.seq ?? row.seq
