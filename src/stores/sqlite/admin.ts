/** Second lives and last rites: retry and discard of ended jobs. */
import { isEnded, nextArrow, type JobState } from '../../job/lifecycle.ts'
import type { DiscardAnswer, Move, RetryAnswer, Selection } from '../../store.ts'
import type { Books } from './books.ts'
import { startOver } from './machine.ts'
import type { Row } from './row.ts'
import { select } from './selection.ts'
import { isLeaving } from './successor.ts'
import { forgetSteps } from './steps.ts'

const noCounters = { attempt: 0, maxAttempts: 1, generation: 1 }
const redrivable = (state: JobState): boolean => nextArrow(state, 'RETRY', noCounters) !== null

export function retry(books: Books, selection: Selection, fromStart: boolean): RetryAnswer {
  const { rows, notFound } = select(books, selection, redrivable)
  const retried: string[] = []
  const refused: string[] = []
  const moves: Move[] = []
  for (const row of rows) {
    if (!redrivable(row.state) || isKeyTaken(books, row)) {
      refused.push(row.id)
      continue
    }
    row.output = row.error = row.cancel = null
    forgetSteps(books, row)
    books.rows.tell(row)
    if (fromStart) startOver(books, row)
    moves.push(books.told(row, books.move(row, 'RETRY')))
    retried.push(row.id)
  }
  return { retried, refused, notFound, moves }
}

function isKeyTaken(books: Books, { key, queue: number }: Row): boolean {
  const queue = books.queues.at(number)
  return key !== null && (books.rows.holder(queue, key) !== undefined || isLeaving(books, queue, key))
}

export function discard(books: Books, selection: Selection): DiscardAnswer {
  const { rows, notFound } = select(books, selection, isEnded)
  const going = rows.filter(({ state }) => isEnded(state))
  books.remove(going)
  const refused = rows.filter(({ state }) => !isEnded(state))
  return { discarded: going.map(({ id }) => id), refused: refused.map(({ id }) => id), notFound }
}
