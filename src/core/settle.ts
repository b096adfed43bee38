/** The end of an attempt, conditional on its lease. The same settlement again gets the same answer. */
import { nextArrow } from './lifecycle.ts'
import type { AttemptError } from './record.ts'
import type { ErrorRecord } from './failure.ts'
import type { Settlement } from './settlement.ts'
import type { WrittenTransition, SettleAnswer } from './values.ts'
import { keepCheckpoint, mustFollow } from './checkpoint.ts'
import { insertHook } from './death.ts'
import { emptyInbox, reportKept } from './dropped-events.ts'
import { notifyParentOfCheckin, notifyParentOfEnd, wakeForMessages } from './inbox.ts'
import { failureOf, type Failure } from './fingerprint.ts'
import { keepError, keepLogs } from './kept.ts'
import { releaseSuccessor } from './succession.ts'
import { expectArrow } from './compiled-arrows.ts'
import { applyArrow, applyEvent } from './transition.ts'
import { clearUnsupported, putOff, unsupportedDelayMs } from './unsupported.ts'
import type { JobRow } from './job-row.ts'
import type { Unit } from './unit.ts'

/** Mutable, because the answer is built field by field: this is the most frequent operation. */
type SettledAnswer = { -readonly [K in keyof SettleAnswer]: SettleAnswer[K] }

export function settle(unit: Unit, settlement: Settlement): SettleAnswer {
  const { event, fatal, reason, delayMs, output, checkpoint, cancelTaken, outcome } = settlement
  const row = unit.findLeased(settlement.id)
  if (row === undefined) return lost(settlement)
  if (!row.isLeasedBy(settlement)) return unit.settledBefore(row, settlement) ?? lost(settlement)
  // All checks of a settlement precede its first write.
  if (checkpoint !== undefined) mustFollow(row, checkpoint)
  const expected = expectArrow(row, event, fatal)
  const failure = settlement.error === undefined ? null : failureOf(settlement.error)
  const wokenByCheckin = keepNews(unit, row, settlement, failure)
  if (checkpoint !== undefined) keepCheckpoint(unit, row, checkpoint)
  if (cancelTaken === true) cancelFirst(unit, row)
  const delay = settlement.unsupported === undefined ? delayMs : unsupportedDelayMs(row)
  // Of a machine, the checkpoint may have raised the limit of attempts, and the cancel has changed the state.
  const arrow = row.machine === null ? expected : expectArrow(row, event, fatal)
  const isTimed = arrow.timed && !(event === 'PARK' && delay === undefined)
  const end = isTimed ? Math.ceil(unit.now + (delay ?? 0)) : null
  const { from, to } = arrow
  applyArrow(unit, row, arrow, { reason, dueAt: end, output, failure })
  if (outcome !== undefined && to === 'done') unit.countOutcome(row, outcome)
  // Read before the wake that may follow: the answer describes this transition.
  const { lastSeq: seq, attempt, dueAt } = row
  // Nobody reads what is left. A job that is dead or cancelled may be retried, and then reads it.
  if (event === 'COMPLETE') emptyInbox(unit, row, 'done')
  else reportKept(unit, row)
  const gather = settlement.gather ?? null
  if (gather !== null || (row.machine?.gather ?? null) !== null) unit.write(row, { gather })
  const woken =
    row.machine === null ? null : (notifyParentOfEnd(unit, row) ?? wakeForUnread(unit, row) ?? wokenByCheckin)
  const successor = releaseSuccessor(unit, row)
  const hook = insertHook(unit, row)
  const answer: SettledAnswer = { outcome: 'settled', seq, at: unit.now, from, to, attempt, dueAt }
  if (woken !== null) answer.woken = woken
  if (successor !== null) answer.successor = successor
  if (hook !== null) answer.hook = hook
  unit.keepSettled(row, settlement, answer)
  if (settlement.unsupported !== undefined) putOff(unit, row, settlement.unsupported, answer, reason)
  // A RELEASE does not tell whether the worker could run the machine.
  else if (row.machine !== null && event !== 'RELEASE') clearUnsupported(unit, row)
  return answer
}

const wakeForUnread = (unit: Unit, row: JobRow): WrittenTransition | null =>
  wakeForMessages(unit, row, () => unit.inbox(row, row.machine?.lastRead ?? 0).map(({ message }) => message))

/** Writes the CANCEL of a machine that has handled its cancel message and is done: the job ends as cancelled. */
function cancelFirst(unit: Unit, row: JobRow): void {
  const { cancelMark } = row
  if (cancelMark !== null && nextArrow(row.state, 'CANCEL', row) !== null) applyEvent(unit, row, 'CANCEL', cancelMark)
}

const noError = { error: null, failure: null }

/** Writes check-in, logs and error of an attempt. @returns the WAKE of a parent that waited for a check-in */
function keepNews(unit: Unit, row: JobRow, settlement: Settlement, failure: Failure | null): WrittenTransition | null {
  const { event, error, checkin, logs } = settlement
  if (checkin !== undefined) unit.write(row, { checkin })
  if (logs !== undefined && logs.length > 0) keepLogs(unit, row, logs)
  if (error !== undefined && failure !== null) keepError(unit, row, attemptError(unit, row, error), failure)
  else if (event === 'COMPLETE' && row.hasError) unit.write(row, noError)
  return checkin === undefined ? null : notifyParentOfCheckin(unit, row, checkin.value)
}

/** The error entry of the current attempt. */
export const attemptError = (
  { now }: Unit,
  { attempt, generation, startedAt, worker }: JobRow,
  error: ErrorRecord,
): AttemptError => ({
  attempt,
  generation,
  error,
  startedAt: startedAt ?? now,
  failedAt: now,
  worker: worker ?? '',
})

const lost = ({ attempt, to }: Settlement): SettleAnswer => ({
  outcome: 'lost',
  seq: 0,
  at: 0,
  from: 'running',
  to,
  attempt,
  dueAt: null,
})
