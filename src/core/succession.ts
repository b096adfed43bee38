/**
 * Succession under a unique key: a job waits for the end of a live job that has given up the same key, because that job
 * is being cancelled, holds its key only until its start, or has started and is followed.
 */
import { isEnded } from './lifecycle.ts'
import type { WrittenTransition } from './values.ts'
import { applyEvent } from './transition.ts'
import type { JobRow } from './job-row.ts'
import type { Unit } from './unit.ts'

/**
 * Releases the job that waits for the end of `row`, if that has ended.
 * @returns its DUE; null if there is none or it is due later
 */
export function releaseSuccessor(unit: Unit, row: JobRow): WrittenTransition | null {
  const next = row.key === null || !isEnded(row.state) ? null : unit.successor(row)
  if (next === null) return null
  if (next.dueAt > unit.now) {
    unit.setDue(next.row, next.dueAt)
    return null
  }
  applyEvent(unit, next.row, 'DUE')
  return unit.lastTransition(next.row)
}
