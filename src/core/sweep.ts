/** What time does to jobs: due ones go on, and those whose lease ran out are queued again, or dead. */
import { leaseExpired } from './failure.ts'
import { arrows } from './lifecycle.ts'
import type { Move, SweepAnswer } from './values.ts'
import { notifyParentOfEnd } from './inbox.ts'
import { attemptError } from './settle.ts'
import { releaseSuccessor } from './succession.ts'
import { move } from './transition.ts'
import type { JobRow, UnitOfWork } from './unit-of-work.ts'

const waitingJobs = new Set<string>(Object.keys(arrows('WAKE')))

/** DUE or WAKE for jobs whose time has come, `limit` at most. */
export function promote<Row extends JobRow>(unit: UnitOfWork<Row>, limit: number): SweepAnswer {
  const moves: Move[] = []
  for (const row of unit.due(limit)) {
    move(unit, row, waitingJobs.has(row.state) ? 'WAKE' : 'DUE')
    moves.push(unit.lastTransition(row))
  }
  return { moves, nextAt: unit.nextDueAt, more: moves.length === limit }
}

/** EXPIRE for jobs whose lease ran out, `limit` at most. The attempt was counted when it was claimed. */
export function rescue<Row extends JobRow>(unit: UnitOfWork<Row>, limit: number): SweepAnswer {
  const moves: Move[] = []
  let rescued = 0
  for (const row of unit.expired(limit)) {
    rescued++
    unit.keepError(row, attemptError(unit, row, leaseExpired))
    move(unit, row, 'EXPIRE')
    moves.push(unit.lastTransition(row, leaseExpired))
    const others = [notifyParentOfEnd(unit, row), releaseSuccessor(unit, row)]
    moves.push(...others.filter((other) => other !== null))
  }
  return { moves, nextAt: unit.nextExpiryAt, more: rescued === limit }
}
