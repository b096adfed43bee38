/** Workers that give no sign of life: when one is lost, and when it is forgotten. */
import type { WorkerInfo } from './figures.ts'

/** The lease of workers of earlier releases, which do not say, ms. */
const defaultLeaseMs = 30_000
/** A lost worker stays in the list for so long, ms. */
const lostMs = 600_000

const leaseOf = ({ leaseMs = defaultLeaseMs }: WorkerInfo): number => leaseMs

/** Has it been silent for its lease? Then what it had is taken back. */
export const isLost = (info: WorkerInfo, silentMs: number): boolean => silentMs >= leaseOf(info)

/** Has it been lost for so long that nobody needs to see it any more? */
export const isForgotten = (info: WorkerInfo, silentMs: number): boolean => silentMs >= leaseOf(info) + lostMs
