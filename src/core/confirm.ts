/** How a claimed job stands right before it starts: what was answered since the claim may keep it from starting. */
import { stopNotice, type JobRow, type UnitOfWork } from './unit-of-work.ts'
import type { Lease, Standing } from './values.ts'

const held: Standing = { outcome: 'held' }
const paused: Standing = { outcome: 'paused' }

export function confirm<Row extends JobRow>(unit: UnitOfWork<Row>, lease: Lease): Standing {
  const row = unit.findLeased(lease.id)
  if (row?.isLeasedBy(lease) !== true) return { outcome: 'lost' }
  const notice = stopNotice(row)
  if (notice === null) return unit.isPaused(row.type) ? paused : held
  return { outcome: 'cancelling', ...(notice.reason !== undefined && { reason: notice.reason }) }
}
