/**
 * Cancels: what no worker holds ends at once, what one holds is marked, and a machine that takes a cancel as an event is
 * sent a letter first. Who is cancelled by force takes the jobs it has invoked with it.
 */
import { nextArrow } from '../../job/lifecycle.ts'
import type { CancelAnswer, CancelRequest, Move } from '../../store.ts'
import type { Books } from './books.ts'
import { liveChildren, tellEnd } from './children.ts'
import { post } from './machine.ts'
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
  const struck: Row[] = []
  const moves: Move[] = []
  for (const row of inOrder) {
    if (row.phase.ended) {
      finished.push(row.id)
      continue
    }
    if (cancelRow(books, row, { reason, graceMs }, now, moves)) struck.push(row)
    if (row.phase.ended) cancelled.push(row.id)
    else cancelling.push(row.id)
  }
  cancelChildren(books, struck, graceMs, now, moves)
  return { cancelled, cancelling, notFound, finished, moves }
}

/** Cancels the holder of a key by force; null if its mark was set before. Its children are told of by the log alone. */
export function supersede(books: Books, row: Row, now: number): Move | null {
  const moves: Move[] = []
  if (strike(books, row, { reason: 'superseded', graceMs: null }, now, moves)) {
    cancelChildren(books, [row], null, now, moves)
  }
  return moves[0] ?? null
}

/** Cancels the children of rows that were struck, and theirs. */
function cancelChildren(books: Books, struck: Row[], graceMs: number | null, now: number, moves: Move[]): void {
  if (books.children.size === 0) return
  const mark = { reason: 'its parent was cancelled', graceMs }
  for (const row of struck) {
    for (const child of liveChildren(books, row)) {
      if (!child.phase.ended && cancelRow(books, child, mark, now, moves)) struck.push(child)
    }
  }
}

/** Cancels a live row: by a letter the first time if its machine takes one, else by force. Was it by force, and now? */
function cancelRow(books: Books, row: Row, mark: CancelMark, now: number, moves: Move[]): boolean {
  if (row.machine?.takesCancel !== true || (row.past?.cancel ?? null) !== null) {
    return strike(books, row, mark, now, moves)
  }
  row.remember().cancel = mark
  const woken = post(books, row, { kind: 'cancel', reason: mark.reason }, now)
  if (woken !== null) moves.push(woken)
  return false
}

/** Moves a live row along its CANCEL, unless that has been done. */
function strike(books: Books, row: Row, mark: CancelMark, now: number, moves: Move[]): boolean {
  if (nextArrow(row.phase.name, 'CANCEL', row) === null) return false
  row.remember().cancel = mark
  books.move(row, 'CANCEL', now, mark)
  if (row.phase.held) books.hints.cancelled(row.id)
  moves.push(moveOf(row))
  const woken = tellEnd(books, row, now)
  if (woken !== null) moves.push(woken)
  return true
}
