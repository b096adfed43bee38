/** A job that waits for the end of the one before it under its unique key. */
import type { Move } from '../../store.ts'
import type { Books } from './books.ts'
import { moveOf } from './records.ts'
import type { Row } from './row.ts'

/** Lets go on what has waited for the end of this row, if it has ended; its DUE, unless it is due later itself. */
export function releaseSuccessor(books: Books, row: Row, now: number): Move | null {
  const next = row.key !== null && row.phase.ended ? row.queue.left(row) : null
  if (next === null) return null
  if (next.dueAt > now) {
    books.wait(next.row, next.dueAt)
    return null
  }
  books.move(next.row, 'DUE', now)
  return moveOf(next.row)
}
