/** Checkpoints: writes the state of a machine, conditionally on the lease. */
import { promiseFailed } from './activity.ts'
import { mustBeInInbox, readMessages } from './dropped-events.ts'
import { failureOf } from './fingerprint.ts'
import type { NewCheckpoint } from './machine-record.ts'
import type { CheckpointAnswer, CheckpointRequest } from './machine-values.ts'
import { clearUnsupported } from './unsupported.ts'
import type { JobRow } from './job-row.ts'
import { stopNotice } from './stop-notice.ts'
import type { Unit } from './unit.ts'

export function checkpoint(unit: Unit, request: CheckpointRequest): CheckpointAnswer {
  const row = unit.findLeased(request.id)
  if (row?.isLeasedBy(request) !== true) return { outcome: 'lost', seq: 0, at: 0, maxAttempts: 0, inbox: [] }
  mustFollow(row, request.checkpoint)
  const isNew = keepCheckpoint(unit, row, request.checkpoint)
  const { seq } = row.machine?.checkpoint ?? never(row)
  const kept = {
    seq,
    at: isNew ? unit.now : unit.read(row, 'checkpointAt'),
    maxAttempts: row.maxAttempts,
    inbox: unit.inbox(row, row.machine?.lastRead ?? 0),
  }
  const notice = stopNotice(row)
  return notice === null ? { outcome: 'kept', ...kept } : { outcome: 'cancelling', ...kept, ...notice }
}

/**
 * Writes a checkpoint; repeating the write has no effect. Attempts that led to a checkpoint do not count as failures.
 * @returns whether it was written now
 */
export function keepCheckpoint(unit: Unit, row: JobRow, next: NewCheckpoint): boolean {
  if (row.machine?.checkpoint?.number === next.number) return false
  readMessages(unit, row, next)
  if (next.failures !== undefined) {
    for (const { error, ms } of next.failures) {
      unit.count(row, promiseFailed, ms)
      unit.countFailure(row, failureOf(error))
    }
  }
  if (next.heat !== undefined) unit.countHeat(row, next.heat)
  unit.addCheckpoint(row, next)
  clearUnsupported(unit, row)
  if (next.forgetSteps !== undefined && next.forgetSteps.length > 0) unit.forgetSteps(row, next.forgetSteps)
  row.checkpointedAttempts = row.attempt - 1
  return true
}

/**
 * @throws TypeError if a checkpoint is neither the current one nor the next, or defers a message that it has not read
 */
export function mustFollow(row: JobRow, next: NewCheckpoint): void {
  const { number } = next
  const current = row.machine?.checkpoint?.number ?? 0
  if (number === current + 1) return mustBeInInbox(row, next)
  if (number === current && current > 0) return
  throw new TypeError(`job ${row.id}: checkpoint ${number} does not follow checkpoint ${current}`)
}

function never(row: JobRow): never {
  throw new TypeError(`job ${row.id}: its checkpoint was not stored`)
}
