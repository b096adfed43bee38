/** Heartbeats: extend the lease of a run, and store its check-in and log lines. */
import type { HeartbeatPayload, HeartbeatAnswer } from './values.ts'
import { notifyParentOfCheckin } from './inbox.ts'
import { keepLogs } from './kept.ts'
import { stopNotice } from './stop-notice.ts'
import type { Unit } from './unit.ts'

export function extend(unit: Unit, heartbeat: HeartbeatPayload, leaseMs: number): HeartbeatAnswer {
  const { checkin, logs, steps, lastMessageNumber: after } = heartbeat
  const row = unit.findLeased(heartbeat.id)
  if (row?.isLeasedBy(heartbeat) !== true) return { outcome: 'lost' }
  unit.extendLease(row, unit.now + leaseMs)
  if (checkin !== undefined) {
    unit.write(row, { checkin })
    notifyParentOfCheckin(unit, row, checkin.value)
  }
  if (logs !== undefined && logs.length > 0) keepLogs(unit, row, logs)
  if (steps !== undefined) unit.keepSteps(row, steps)
  const notice = stopNotice(row)
  const answer: HeartbeatAnswer = notice === null ? { outcome: 'extended' } : { outcome: 'cancelling', ...notice }
  return after === undefined ? answer : { ...answer, inbox: unit.inbox(row, after) }
}
