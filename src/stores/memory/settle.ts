/** The end of attempts, and their signs of life before it. Both count for nothing without the current token. */
import { caps } from '../../job/caps.ts'
import type { AttemptError } from '../../job/job.ts'
import type { ErrorRecord } from '../../job/failure.ts'
import type { Settlement } from '../../job/settlement.ts'
import type { Beat, BeatAnswer, SettleAnswer } from '../../store.ts'
import type { Books } from './books.ts'
import { keep, type Row, type Run } from './row.ts'

export function settle(books: Books, settlement: Settlement, now: number): SettleAnswer {
  const row = books.inHand(settlement.id)
  if (row === undefined) return lost(settlement)
  const run = heldRun(row, settlement)
  if (run === null) {
    const { settled } = row
    return settled !== null && isSame(settled, settlement) ? answerOf(settled, settlement) : lost(settlement)
  }
  const { event, fatal, reason, delayMs = 0 } = settlement
  leave(row, run, settlement, now)
  const parked = event === 'PARK' && settlement.delayMs === undefined
  run.end = books.move(row, event, now, { reason, fatal, dueAt: parked ? null : now + delayMs })
  run.dueAt = row.dueAt
  run.settled = null
  if (run.end.arrow.to === 'done') run.output = settlement.output
  return answerOf(run, settlement)
}

function answerOf({ end, dueAt }: Run, settlement: Settlement): SettleAnswer {
  if (end === null) return lost(settlement)
  const { seq, tick, attempt, arrow } = end
  return { outcome: 'settled', seq, at: tick.at, from: arrow.from, to: arrow.to, attempt, dueAt }
}

const isSame = (run: Run, { token, attempt }: { readonly token: string; readonly attempt: number }): boolean =>
  run.token === token && run.claim.attempt === attempt

/** The run of a row, if it is the current one and is the one that speaks. */
function heldRun(row: Row, speaker: { readonly token: string; readonly attempt: number }): Run | null {
  return row.phase.held && row.run !== null && isSame(row.run, speaker) ? row.run : null
}

const lost = ({ attempt, to }: Settlement): SettleAnswer => ({
  outcome: 'lost',
  seq: 0,
  at: 0,
  from: 'running',
  to,
  attempt,
  dueAt: null,
})

/** Keeps what an attempt leaves behind. */
function leave(row: Row, run: Run, { event, error, checkin, logs }: Settlement, now: number): void {
  if (checkin !== undefined) row.remember().checkin = checkin
  if (logs !== undefined && logs.length > 0) keep(row.remember().logs, logs, caps.logs)
  if (error !== undefined) failed(row, run, error, now)
  else if (event === 'COMPLETE' && row.past !== null) row.past.error = null
}

/** Keeps the error of an attempt that has just ended. */
export function failed(row: Row, run: Run, error: ErrorRecord, now: number): void {
  const past = row.remember()
  const { attempt, tick, worker } = run.claim
  const { generation } = row
  const entry: AttemptError = { attempt, generation, error, startedAt: tick.at, failedAt: now, worker: worker ?? '' }
  past.error = error
  keep(past.errors, [entry], caps.errors)
}

export function beat(books: Books, { id, attempt, token, ...signs }: Beat, leaseMs: number, now: number): BeatAnswer {
  const row = books.rows.get(id)
  if (row === undefined || heldRun(row, { attempt, token }) === null) return { outcome: 'lost' }
  books.lease(row, now + leaseMs)
  if (signs.checkin !== undefined) row.remember().checkin = signs.checkin
  if (signs.logs !== undefined && signs.logs.length > 0) keep(row.remember().logs, signs.logs, caps.logs)
  if (signs.steps !== undefined) {
    const past = row.remember()
    past.steps = { ...past.steps, ...signs.steps }
  }
  const cancel = row.past?.cancel ?? null
  if (cancel === null) return { outcome: 'held' }
  const { reason, graceMs } = cancel
  return { outcome: 'cancelling', ...(reason !== null && { reason }), ...(graceMs !== null && { graceMs }) }
}
