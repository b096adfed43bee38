/**
 * A job that waits, under its unique key, for the end of a live job that has given up that key: because that one is being
 * cancelled, holds its key until its start, or has started and is followed.
 */
import { isEnded } from './lifecycle.ts'
import type { WrittenTransition } from './values.ts'
import { applyEvent } from './transition.ts'
import type { JobRow, UnitOfWork } from './unit-of-work.ts'

/** Lets go on what has waited for the end of a job, if it has ended. Gives its DUE, unless it is due later itself. */
export function releaseSuccessor<Row extends JobRow>(unit: UnitOfWork<Row>, row: Row): WrittenTransition | null {
  const next = row.key === null || !isEnded(row.state) ? null : unit.successor(row)
  if (next === null) return null
  if (next.dueAt > unit.now) {
    unit.setDue(next.row, next.dueAt)
    return null
  }
  applyEvent(unit, next.row, 'DUE')
  return unit.lastTransition(next.row)
}
