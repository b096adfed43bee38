/** A job that waits for the end of the one before it under its unique key: it is timed, and its due time never comes. */
import { arrows, isEnded, statesTagged, type JobState } from '../../job/lifecycle.ts'
import type { Move } from '../../store.ts'
import type { Books } from './books.ts'
import type { Queue } from './queue.ts'
import type { Row } from './row.ts'
import { bornTimed, never } from './schema.ts'

const stopping = [...statesTagged('held')].filter((state) => !(state in arrows('CANCEL')))

/** Is a job of this state held, and to stop? */
export const isStopping = (state: JobState): boolean => stopping.includes(state)

export const waitsForAnother = ({ state, dueAt }: Row): boolean => state === bornTimed && dueAt === null

/** Is a job of the key, which it has given up, still in the hands of a worker? Then it is being cancelled. */
export const isLeaving = ({ sql }: Books, queue: Queue, key: string | null): boolean =>
  key !== null && stopping.some((state) => queue.in(state) > 0) && sql.get('leaving', queue.number, key) !== undefined

/** Lets a new job wait for the end of another one, and then until it is due itself. */
export const waitForAnother = ({ sql }: Books, seq: number, dueAt: number): void =>
  sql.run('waitForAnother', never, dueAt, seq)

/** Has it given up its unique key while it is in the hands of a worker? */
export const gaveUpKey = ({ key, heldKey }: Row): boolean => key !== null && heldKey === null

/** Lets go on what has waited for the end of a row that gave up its key; its DUE, unless it is due later itself. */
export function releaseSuccessor(books: Books, row: Row): Move | null {
  const next =
    row.key === null || !isEnded(row.state) ? undefined : books.rows.holder(books.queues.at(row.queue), row.key)
  if (next === undefined || !waitsForAnother(next)) return null
  const dueAt = books.sql.get('dueAfterAnother', next.seq)?.[0] ?? 0
  if (dueAt <= books.now) return books.told(next, books.move(next, 'DUE'))
  next.dueAt = dueAt
  books.rows.write(next)
  books.hints.due(dueAt)
  return null
}
