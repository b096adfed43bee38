/** The end of attempts, and their signs of life before it. Both count for nothing without the current token. */
import { caps } from '../../job/caps.ts'
import type { AttemptError } from '../../job/job.ts'
import type { ErrorRecord } from '../../job/failure.ts'
import type { Json } from '../../job/payload.ts'
import type { Settlement } from '../../job/settlement.ts'
import type { Beat, BeatAnswer, Move, SettleAnswer } from '../../store.ts'
import { noArrow, type Books } from './books.ts'
import { tellCheckin, tellEnd } from './children.ts'
import { mustFollow, rest, wake } from './machine.ts'
import { wayOf } from './phases.ts'
import { keep, type Row, type Run } from './row.ts'
import { releaseSuccessor } from './successor.ts'

export function settle(books: Books, settlement: Settlement, now: number): SettleAnswer {
  const row = books.inHand(settlement.id)
  if (row === undefined) return lost(settlement)
  const run = row.heldBy(settlement)
  if (run === null) {
    const { settled } = row
    return settled !== null && isSame(settled, settlement) ? answerOf(row, settled, settlement) : lost(settlement)
  }
  const { event, fatal, reason, delayMs, checkpoint, output, error, checkin, logs, cancelTaken } = settlement
  if (wayOf(row.phase, event, row, fatal) === null) throw noArrow(row, event)
  if (checkpoint !== undefined) mustFollow(row, checkpoint)
  // From here on it is written.
  const heard = leave(books, row, run, { event, error, checkin, logs }, now)
  if (checkpoint !== undefined) rest(books, row, checkpoint, now)
  if (cancelTaken === true) endMarked(books, row, now)
  const parked = event === 'PARK' && delayMs === undefined
  run.end = books.move(row, event, now, { reason, fatal, dueAt: parked ? null : now + (delayMs ?? 0) })
  run.dueAt = row.dueAt
  run.settled = null
  if (run.end.arrow.to === 'done') run.output = output
  if (row.machine !== null) row.machine.woken = tellOn(books, row, now) ?? heard
  const successor = releaseSuccessor(books, row, now)
  if (row.past !== null) row.past.successor = successor
  return answerOf(row, run, settlement)
}

/** A machine has taken the cancel that it was sent, and has come to its end: CANCEL first, so that the job is cancelled. */
function endMarked(books: Books, row: Row, now: number): void {
  const cancel = row.past?.cancel ?? null
  if (cancel !== null && !row.phase.stopping) books.move(row, 'CANCEL', now, cancel)
}

/** What follows from where a row has just gone: one that parked may have letters already, the parent of one that ended hears of it. */
const tellOn = (books: Books, row: Row, now: number): Move | null =>
  row.phase.ended ? tellEnd(books, row, now) : wake(books, row, now)

function answerOf({ machine, past }: Row, { end, dueAt }: Run, settlement: Settlement): SettleAnswer {
  if (end === null) return lost(settlement)
  const { seq, tick, attempt, arrow } = end
  const answer = { outcome: 'settled', seq, at: tick.at, from: arrow.from, to: arrow.to, attempt, dueAt } as const
  const woken = machine?.woken ?? null
  const successor = past?.successor ?? null
  if (woken === null && successor === null) return answer
  return {
    ...answer,
    ...(woken !== null && { woken: { ...woken } }),
    ...(successor !== null && { successor: { ...successor } }),
  }
}

const isSame = (run: Run, { token, attempt }: { readonly token: string; readonly attempt: number }): boolean =>
  run.token === token && run.claim.attempt === attempt

const lost = ({ attempt, to }: Settlement): SettleAnswer => ({
  outcome: 'lost',
  seq: 0,
  at: 0,
  from: 'running',
  to,
  attempt,
  dueAt: null,
})

type Left = { readonly [K in 'event' | 'error' | 'checkin' | 'logs']: Settlement[K] | undefined }

/** Keeps what an attempt leaves behind; the WAKE of a parent that waited to hear of it. */
function leave(books: Books, row: Row, run: Run, { event, error, checkin, logs }: Left, now: number): Move | null {
  if (checkin !== undefined) row.remember().checkin = checkin
  if (logs !== undefined && logs.length > 0) keep(row.remember().logs, logs, caps.logs)
  if (error !== undefined) failed(row, run, error, now)
  else if (event === 'COMPLETE' && row.past !== null) row.past.error = null
  return checkin === undefined ? null : tellCheckin(books, row, checkin.value, now)
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
  if (row === undefined || row.heldBy({ attempt, token }) === null) return { outcome: 'lost' }
  books.lease(row, now + leaseMs)
  if (signs.checkin !== undefined) {
    row.remember().checkin = signs.checkin
    tellCheckin(books, row, signs.checkin.value, now)
  }
  if (signs.logs !== undefined && signs.logs.length > 0) keep(row.remember().logs, signs.logs, caps.logs)
  if (signs.steps !== undefined) {
    const results = (row.remember().steps ??= new Map<string, Json>())
    for (const [name, result] of Object.entries(signs.steps)) results.set(name, result)
  }
  const { mark } = row
  const answer: BeatAnswer = mark === null ? { outcome: 'held' } : { outcome: 'cancelling', ...mark }
  return signs.letters === undefined ? answer : { ...answer, inbox: row.machine?.mailAfter(signs.letters) ?? [] }
}
