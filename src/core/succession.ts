/**
 * A job that waits, under its unique key, for the end of a live job that has given up that key: because that one is being
 * cancelled, holds its key until its start, or has started and is followed.
 */
import { isEnded } from './lifecycle.ts'
import type { Move } from './values.ts'
import { move } from './transition.ts'
import type { JobRow, LoggedTransition, TransitionOptions, UnitOfWork } from './unit-of-work.ts'

/** CLAIM; a key that is held until then is free for others. */
export function begin<Row extends JobRow>(
  unit: UnitOfWork<Row>,
  row: Row,
  options?: TransitionOptions,
): LoggedTransition {
  const logged = move(unit, row, 'CLAIM', options)
  if (row.untilStart) unit.giveUpKey(row)
  return logged
}

/** Lets go on what has waited for the end of a job, if it has ended. Gives its DUE, unless it is due later itself. */
export function releaseSuccessor<Row extends JobRow>(unit: UnitOfWork<Row>, row: Row): Move | null {
  const next = row.key === null || !isEnded(row.state) ? null : unit.successor(row)
  if (next === null) return null
  if (next.dueAt > unit.now) {
    unit.setDue(next.row, next.dueAt)
    return null
  }
  move(unit, next.row, 'DUE')
  return unit.lastTransition(next.row)
}
