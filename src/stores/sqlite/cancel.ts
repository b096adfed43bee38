/**
 * Cancels: what no worker holds ends at once, what one holds is marked, and a machine that takes a cancel as an event is
 * sent a letter first. Who is cancelled by force takes the jobs it has invoked with it.
 */
import { isEnded, nextArrow } from '../../job/lifecycle.ts'
import type { CancelAnswer, CancelRequest, Move } from '../../store.ts'
import type { Books } from './books.ts'
import { childrenOf, hasFamilies, tellEnd } from './children.ts'
import { post } from './letters.ts'
import { machineOf } from './machine.ts'
import type { CancelMark, Row } from './row.ts'
import { select } from './selection.ts'

export function cancel(books: Books, { selection, reason, graceMs }: CancelRequest): CancelAnswer {
  const { rows, notFound } = select(books, selection, (state) => !isEnded(state))
  const inOrder = rows.toSorted((a, b) => b.priority - a.priority || a.seq - b.seq)
  const families = hasFamilies(books)
  const cancelled: string[] = []
  const cancelling: string[] = []
  const finished: string[] = []
  const struck: Row[] = []
  const moves: Move[] = []
  for (const selected of inOrder) {
    // The end of a child before it may have woken this one since.
    const row = families ? (books.rows.of(selected.id) ?? selected) : selected
    if (isEnded(row.state)) {
      finished.push(row.id)
      continue
    }
    if (cancelRow(books, row, { reason, graceMs }, moves)) struck.push(row)
    if (isEnded(row.state)) cancelled.push(row.id)
    else cancelling.push(row.id)
  }
  if (families) cancelChildren(books, struck, graceMs, moves)
  return { cancelled, cancelling, notFound, finished, moves }
}

/** Cancels the holder of a key by force; null if its mark was set before. Its children are told of by the log alone. */
export function supersede(books: Books, row: Row): Move | null {
  const moves: Move[] = []
  if (strike(books, row, { reason: 'superseded', graceMs: null }, moves) && hasFamilies(books)) {
    cancelChildren(books, [row], null, moves)
  }
  return moves[0] ?? null
}

/** Cancels the children of jobs that were struck, and theirs. */
function cancelChildren(books: Books, struck: Row[], graceMs: number | null, moves: Move[]): void {
  const mark = { reason: 'its parent was cancelled', graceMs }
  for (const parent of struck) {
    for (const id of childrenOf(books, parent)) {
      const child = books.rows.of(id)
      if (child === undefined || isEnded(child.state)) continue
      if (cancelRow(books, child, mark, moves)) struck.push(child)
    }
  }
}

/** Cancels a live job: by a letter the first time if its machine takes one, else by force. Was it by force, and now? */
function cancelRow(books: Books, row: Row, mark: CancelMark, moves: Move[]): boolean {
  const machine = row.spared === null || row.cancel !== null ? null : machineOf(books, row)
  if (machine?.takesCancel !== true) return strike(books, row, mark, moves)
  row.cancel = JSON.stringify(mark)
  books.rows.tell(row)
  const woken = post(books, row, machine, { kind: 'cancel', reason: mark.reason })
  if (woken !== null) moves.push(woken)
  return false
}

/** Moves a live job along its CANCEL, unless that has been done. */
function strike(books: Books, row: Row, mark: CancelMark, moves: Move[]): boolean {
  if (nextArrow(row.state, 'CANCEL', row) === null) return false
  row.cancel = JSON.stringify(mark)
  books.rows.tell(row)
  moves.push(books.told(row, books.move(row, 'CANCEL', mark)))
  const woken = tellEnd(books, row)
  if (woken !== null) moves.push(woken)
  return true
}
