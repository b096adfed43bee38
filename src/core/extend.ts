/** Heartbeats: a lease grows longer, and what the run has to say is kept with it. */
import type { Beat, BeatAnswer } from './values.ts'
import { notifyParentOfCheckin } from './inbox.ts'
import { stopNotice, type JobRow, type UnitOfWork } from './unit-of-work.ts'

export function extend<Row extends JobRow>(unit: UnitOfWork<Row>, beat: Beat, leaseMs: number): BeatAnswer {
  const { checkin, logs, steps, letters: after } = beat
  const row = unit.findLeased(beat.id)
  if (row?.isLeasedBy(beat) !== true) return { outcome: 'lost' }
  unit.extendLease(row, unit.now + leaseMs)
  if (checkin !== undefined) {
    unit.keepCheckin(row, checkin)
    notifyParentOfCheckin(unit, row, checkin.value)
  }
  if (logs !== undefined && logs.length > 0) unit.keepLogs(row, logs)
  if (steps !== undefined) unit.keepSteps(row, steps)
  const notice = stopNotice(row)
  const answer: BeatAnswer = notice === null ? { outcome: 'held' } : { outcome: 'cancelling', ...notice }
  return after === undefined ? answer : { ...answer, inbox: unit.inbox(row, after) }
}
