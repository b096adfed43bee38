/** Cancels: what no worker holds ends at once, what one holds is marked. */
import { nextArrow } from '../../job/lifecycle.ts'
import type { CancelAnswer, CancelRequest, Move } from '../../store.ts'
import type { Books } from './books.ts'
import { moveOf } from './records.ts'
import type { Row } from './row.ts'
import { select } from './selection.ts'

interface CancelMark {
  readonly reason: string | null
  readonly graceMs: number | null
}

export function cancel(books: Books, { selection, reason, graceMs }: CancelRequest, now: number): CancelAnswer {
  const { rows, notFound } = select(books, selection, (phase) => !phase.ended)
  const inOrder = rows.toSorted((a, b) => b.priority - a.priority || a.seq - b.seq)
  const cancelled: string[] = []
  const cancelling: string[] = []
  const finished: string[] = []
  const moves: Move[] = []
  for (const row of inOrder) {
    if (row.phase.ended) {
      finished.push(row.id)
      continue
    }
    const move = cancelRow(books, row, { reason, graceMs }, now)
    if (move !== null) moves.push(move)
    if (row.phase.ended) cancelled.push(row.id)
    else cancelling.push(row.id)
  }
  return { cancelled, cancelling, notFound, finished, moves }
}

/** Cancels a live row; null if its mark was set before. */
export function cancelRow(books: Books, row: Row, mark: CancelMark, now: number): Move | null {
  if (nextArrow(row.phase.name, 'CANCEL', row) === null) return null
  row.remember().cancel = mark
  books.move(row, 'CANCEL', now, mark)
  if (row.phase.held) books.hints.cancelled(row.id)
  return moveOf(row)
}
