/** The free slots of the workers, for jobs that are handed over. */
import type { WorkerSlots } from '../../core/hand-over.ts'
import type { WorkerInfo } from '../../store.ts'
import type { Claims } from './claims.ts'
import type { Statements } from './statements.ts'

/** The registered workers with their leases, as they are in the file. */
export function workerSlots(sql: Statements, claims: Claims, now: number): WorkerSlots[] {
  const leased = claims.countByWorker()
  return sql.all('workers').map(([id, text, seenAt]) => {
    return { info: JSON.parse(text) as WorkerInfo, silentMs: now - seenAt, leasedCount: leased.get(id) ?? 0 }
  })
}
