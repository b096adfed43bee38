/** Transitions by time: of jobs that are due, and of jobs whose lease has run out. */
import { leaseExpired } from './failure.ts'
import { failureOf } from './fingerprint.ts'
import { insertHook } from './death.ts'
import { reportKept } from './dropped-events.ts'
import { arrows } from './lifecycle.ts'
import type { WrittenTransition, SweepAnswer } from './values.ts'
import { notifyParentOfEnd } from './inbox.ts'
import { keepError } from './kept.ts'
import { attemptError } from './settle.ts'
import { releaseSuccessor } from './succession.ts'
import { applyEvent } from './transition.ts'
import type { Unit } from './unit.ts'

const failure = failureOf(leaseExpired)
const waitingJobs = new Set<string>(Object.keys(arrows('WAKE')))

/** DUE or WAKE of jobs that are due, `limit` at most. */
export function promote(unit: Unit, limit: number): SweepAnswer {
  const transitions: WrittenTransition[] = []
  for (const row of unit.due(limit)) {
    applyEvent(unit, row, waitingJobs.has(row.state) ? 'WAKE' : 'DUE')
    transitions.push(unit.lastTransition(row))
  }
  return { transitions, nextAt: unit.nextDueAt, more: transitions.length === limit }
}

/** EXPIRE of jobs whose lease has run out, `limit` at most. The attempt was counted at its claim. */
export function rescue(unit: Unit, limit: number): SweepAnswer {
  const transitions: WrittenTransition[] = []
  let rescued = 0
  for (const row of unit.expired(limit)) {
    rescued++
    keepError(unit, row, attemptError(unit, row, leaseExpired), failure)
    applyEvent(unit, row, 'EXPIRE', { failure })
    transitions.push(unit.lastTransition(row, leaseExpired))
    reportKept(unit, row)
    const others = [notifyParentOfEnd(unit, row), releaseSuccessor(unit, row), insertHook(unit, row)]
    transitions.push(...others.filter((other) => other !== null))
  }
  return { transitions, nextAt: unit.nextExpiryAt, more: rescued === limit }
}
