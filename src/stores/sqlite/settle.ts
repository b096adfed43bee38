/** The end of attempts, and their signs of life before it. Both count for nothing without the current token. */
import { caps } from '../../job/caps.ts'
import type { ErrorRecord } from '../../job/failure.ts'
import type { AttemptError } from '../../job/job.ts'
import { isEnded, nextArrow } from '../../job/lifecycle.ts'
import type { Settlement } from '../../job/settlement.ts'
import { beatFailed } from '../../store-failures.ts'
import type { Beat, BeatAnswer, ExtendRequest, Move, SettleAnswer } from '../../store.ts'
import type { Books } from './books.ts'
import { tellCheckin, tellEnd } from './children.ts'
import { packSettled, settledOf } from './history.ts'
import { mailOf } from './kept.ts'
import { wake } from './letters.ts'
import { inboxOf, machineOf, rest } from './machine.ts'
import { gaveUpKey, releaseSuccessor } from './successor.ts'
import { extended, packed, toldOf, unpacked, type CancelMark, type Row } from './row.ts'
import { saveSteps } from './steps.ts'

export function settle(books: Books, settlement: Settlement): SettleAnswer {
  const { id, attempt, token, event, fatal, reason, delayMs, checkin } = settlement
  const row = books.rows.of(id)
  if (row === undefined) return lost(settlement)
  if (!row.isHeldBy(settlement)) {
    const last = settledOf(row)
    return last?.token === token && last.attempt === attempt ? last.answer : lost(settlement)
  }
  if (leave(books, row, settlement)) books.rows.tell(row)
  const heard = tellCheckin(books, row, checkin)
  if (settlement.checkpoint !== undefined) rest(books, row, settlement.checkpoint)
  if (settlement.cancelTaken === true && row.cancel !== null) endMarked(books, row)
  const dueAt = event === 'PARK' && delayMs === undefined ? null : Math.ceil(books.now + (delayMs ?? 0))
  const keyless = gaveUpKey(row)
  let answer = lost(settlement)
  books.move(row, event, { reason, fatal, dueAt }, ({ seq, at, from, to }) => {
    if (to === 'done') row.output = packed(settlement.output)
    answer = { outcome: 'settled', seq, at, from: from ?? 'running', to, attempt: row.attempt, dueAt: row.dueAt }
    // The token of an attempt that ends its job stays, and with the history it says as much.
    if (isEnded(to)) row.token = token
    row.settled = isEnded(to) ? null : packSettled({ token, attempt, answer })
  })
  const woken = row.spared === null ? null : (tellOn(books, row) ?? heard)
  const successor = keyless ? releaseSuccessor(books, row) : null
  if (woken === null && successor === null) return answer
  answer = { ...answer, ...(woken !== null && { woken }), ...(successor !== null && { successor }) }
  row.settled = packSettled({ token, attempt, answer })
  books.sql.run('keepSettled', row.settled, row.seq)
  return answer
}

/** A machine has taken the cancel that it was sent, and has come to its end: CANCEL first, so that the job is cancelled. */
function endMarked(books: Books, row: Row): void {
  if (nextArrow(row.state, 'CANCEL', row) === null) return
  books.move(row, 'CANCEL', unpacked<CancelMark | null>(row.cancel, null) ?? {})
}

/** What follows from where a job has just gone: one that parked may have letters already, the parent of one that ended hears of it. */
const tellOn = (books: Books, row: Row): Move | null =>
  isEnded(row.state) ? tellEnd(books, row) : wake(books, row, machineOf(books, row))

const lost = ({ attempt, to }: Settlement): SettleAnswer => ({
  outcome: 'lost',
  seq: 0,
  at: 0,
  from: 'running',
  to,
  attempt,
  dueAt: null,
})

type Signs = { readonly [K in 'checkin' | 'logs']?: Beat[K] | undefined }

/** Keeps what an attempt leaves behind; whether there was anything. */
function leave(books: Books, row: Row, { event, error, checkin, logs }: Settlement): boolean {
  const signs = keepSigns(row, { checkin, logs })
  if (error !== undefined) keepError(books, row, error)
  else if (event === 'COMPLETE' && row.error !== null) row.error = null
  else return signs
  return true
}

function keepSigns(row: Row, { checkin, logs }: Signs): boolean {
  if (checkin !== undefined) row.checkin = JSON.stringify(checkin)
  if (logs !== undefined && logs.length > 0) row.logs = extended(row.logs, logs, caps.logs)
  return checkin !== undefined || (logs !== undefined && logs.length > 0)
}

/** Keeps the error of an attempt that has just ended. */
export function keepError(books: Books, row: Row, error: ErrorRecord): void {
  const { attempt, generation, worker, startedAt } = row
  const entry: AttemptError = {
    attempt,
    generation,
    error,
    startedAt: startedAt ?? 0,
    failedAt: books.now,
    worker: worker ?? '',
  }
  row.error = JSON.stringify(error)
  row.errors = extended(row.errors, [entry], caps.errors)
}

export function extend(books: Books, { worker, leaseMs, beats }: ExtendRequest): BeatAnswer[] {
  books.sql.run('seen', books.now, worker)
  return books.each(beats, (each) => beat(books, each, leaseMs), beatFailed)
}

function beat(books: Books, sign: Beat, leaseMs: number): BeatAnswer {
  const row = books.rows.of(sign.id)
  if (row?.isHeldBy(sign) !== true) return { outcome: 'lost' }
  row.leaseAt = Math.ceil(books.now + leaseMs)
  books.sql.run('lease', row.leaseAt, row.seq)
  if (keepSigns(row, sign)) books.rows.tell(row)
  if (sign.steps !== undefined) saveSteps(books, row, sign.steps)
  tellCheckin(books, row, sign.checkin)
  const mark = toldOf(row)
  const answer: BeatAnswer = mark === null ? { outcome: 'held' } : { outcome: 'cancelling', ...mark }
  if (sign.letters === undefined) return answer
  const inbox = row.spared === null ? [] : inboxOf(books, row, machineOf(books, row), sign.letters)
  return { ...answer, inbox: mailOf(inbox) }
}
