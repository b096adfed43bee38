/** Workers without heartbeats: when a worker is lost, and when it is removed from the list. */
import type { WorkerInfo } from './figures.ts'

/** How long a lost worker stays in the list, ms. */
const lostMs = 600_000

type Leasing = Pick<WorkerInfo, 'leaseMs'>

/** Is its last heartbeat older than its lease? Then its leases have expired, too. */
export const isLost = ({ leaseMs }: Leasing, silentMs: number): boolean => silentMs >= leaseMs

/** Has it been lost for longer than a lost worker stays in the list? */
export const isForgotten = ({ leaseMs }: Leasing, silentMs: number): boolean => silentMs >= leaseMs + lostMs
