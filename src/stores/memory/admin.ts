/** Second lives and last rites: retry and discard of ended jobs. */
import { nextArrow } from '../../job/lifecycle.ts'
import type { DiscardAnswer, Move, RetryAnswer, Selection } from '../../store.ts'
import type { Books } from './books.ts'
import { phases } from './phases.ts'
import { moveOf } from './records.ts'
import type { Row } from './row.ts'
import { select } from './selection.ts'

const noCounters = { attempt: 0, maxAttempts: 1, generation: 1 }
const redrivable = new Set(phases.filter((phase) => nextArrow(phase.name, 'RETRY', noCounters) !== null))

export function retry(books: Books, selection: Selection, fromStart: boolean, now: number): RetryAnswer {
  const { rows, notFound } = select(books, selection, (phase) => redrivable.has(phase))
  const retried: string[] = []
  const refused: string[] = []
  const moves: Move[] = []
  for (const row of rows) {
    if (!redrivable.has(row.phase) || isKeyTaken(row)) {
      refused.push(row.id)
      continue
    }
    if (fromStart) row.machine?.startOver()
    books.move(row, 'RETRY', now)
    if (row.past !== null) row.past.error = row.past.steps = row.past.cancel = null
    retried.push(row.id)
    moves.push(moveOf(row))
  }
  return { retried, refused, notFound, moves }
}

const isKeyTaken = ({ key, queue }: Row): boolean =>
  key !== null && (queue.holder(key) !== undefined || queue.isLeaving(key))

export function discard(books: Books, selection: Selection): DiscardAnswer {
  const { rows, notFound } = select(books, selection, (phase) => phase.ended)
  const discarded: string[] = []
  const refused: string[] = []
  for (const row of rows) {
    if (row.phase.ended) {
      books.remove(row)
      discarded.push(row.id)
    } else {
      refused.push(row.id)
    }
  }
  return { discarded, refused, notFound }
}
