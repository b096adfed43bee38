/** What time does to jobs: due ones move on, leases run out, the old ones go. */
import { leaseExpired } from '../../job/failure.ts'
import type { Move, RetentionPolicy, SweepAnswer } from '../../store.ts'
import type { Books } from './books.ts'
import { tellEnd } from './children.ts'
import { endedPhases, type Phase } from './phases.ts'
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

export function prune(
  books: Books,
  policy: RetentionPolicy,
  limit: number,
  now: number,
): { pruned: number; more: boolean } {
  let pruned = 0
  while (pruned < limit) {
    const row = oldestBeyond(books, policy, now)
    if (row === null) break
    books.remove(row)
    pruned++
  }
  return { pruned, more: pruned === limit }
}

/** Of the jobs that ended first in their states, the oldest that the policy lets go. */
function oldestBeyond(books: Books, policy: RetentionPolicy, now: number): Row | null {
  let oldest: Row | null = null
  for (const phase of endedPhases) {
    const row = books.chains[phase.index]?.head ?? null
    if (row === null || !isBeyond(books, row, phase, policy, now)) continue
    if (oldest === null || endSeq(row) < endSeq(oldest)) oldest = row
  }
  return oldest
}

function isBeyond(books: Books, row: Row, phase: Phase, policy: RetentionPolicy, now: number): boolean {
  const { ageMs, count } = policy[phase.name as keyof RetentionPolicy]
  return (books.counts[phase.index] as number) > count || now - (row.last?.tick.at ?? now) >= ageMs
}

const endSeq = (row: Row): number => row.last?.seq ?? row.seq
