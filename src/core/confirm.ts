/** Confirms a claimed job right before its start: since the claim it may have been cancelled, paused or lost. */
import { stopNotice } from './stop-notice.ts'
import type { Unit } from './unit.ts'
import type { Lease, Standing } from './values.ts'

const leased: Standing = { outcome: 'leased' }
const paused: Standing = { outcome: 'paused' }

export function confirm(unit: Unit, lease: Lease): Standing {
  const row = unit.findLeased(lease.id)
  if (row?.isLeasedBy(lease) !== true) return { outcome: 'lost' }
  const notice = stopNotice(row)
  if (notice === null) return unit.isPaused(row.type) ? paused : leased
  return { outcome: 'cancelling', ...(notice.reason !== undefined && { reason: notice.reason }) }
}
