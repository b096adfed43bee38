/** The free slots of the workers, for jobs that are handed over. */
import type { WorkerSlots } from '../../core/hand-over.ts'
import type { WorkerInfo } from '../../store.ts'
import type { Statements } from './statements.ts'

/** The registered workers with their leases, as they are in the file. */
export function workerSlots(sql: Statements, now: number): WorkerSlots[] {
  const leased = new Map(sql.all('leasesByWorker'))
  return sql.all('workers').map(([id, text, seenAt]) => {
    return { info: JSON.parse(text) as WorkerInfo, silentMs: now - seenAt, leasedCount: leased.get(id) ?? 0 }
  })
}
