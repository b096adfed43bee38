/** Workers without heartbeats: when a worker is lost, and when it is removed from the list. */
import type { WorkerInfo } from './figures.ts'

/** The lease of workers of earlier releases, which do not report theirs, ms. */
const defaultLeaseMs = 30_000
/** How long a lost worker stays in the list, ms. */
const lostMs = 600_000

type Leasing = Pick<WorkerInfo, 'leaseMs'>

const leaseOf = ({ leaseMs = defaultLeaseMs }: Leasing): number => leaseMs

/** Is its last heartbeat older than its lease? Then its leases have expired, too. */
export const isLost = (info: Leasing, silentMs: number): boolean => silentMs >= leaseOf(info)

/** Has it been lost for longer than a lost worker stays in the list? */
export const isForgotten = (info: Leasing, silentMs: number): boolean => silentMs >= leaseOf(info) + lostMs
