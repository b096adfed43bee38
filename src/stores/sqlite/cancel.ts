/** Cancels: what no worker holds ends at once, what one holds is marked. */
import { isEnded, nextArrow } from '../../job/lifecycle.ts'
import type { CancelAnswer, CancelRequest, Move } from '../../store.ts'
import type { Books } from './books.ts'
import type { CancelMark, Row } from './row.ts'
import { select } from './selection.ts'

export function cancel(books: Books, { selection, reason, graceMs }: CancelRequest): CancelAnswer {
  const { rows, notFound } = select(books, selection, (state) => !isEnded(state))
  const inOrder = rows.toSorted((a, b) => b.priority - a.priority || a.seq - b.seq)
  const cancelled: string[] = []
  const cancelling: string[] = []
  const finished: string[] = []
  const moves: Move[] = []
  for (const row of inOrder) {
    if (isEnded(row.state)) {
      finished.push(row.id)
      continue
    }
    const move = cancelRow(books, row, { reason, graceMs })
    if (move !== null) moves.push(move)
    if (isEnded(row.state)) cancelled.push(row.id)
    else cancelling.push(row.id)
  }
  return { cancelled, cancelling, notFound, finished, moves }
}

/** Cancels a live job; null if its mark was set before. */
export function cancelRow(books: Books, row: Row, mark: CancelMark): Move | null {
  if (nextArrow(row.state, 'CANCEL', row) === null) return null
  row.cancel = JSON.stringify(mark)
  books.tell(row)
  return books.told(row, books.move(row, 'CANCEL', mark))
}
