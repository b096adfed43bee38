/**
 * Hand-over: the jobs of a queue with the capacity 0 are stored only if a worker has a free slot for each. How many
 * these are is derived from the records of the workers and from the leases, so that a crash leaves no wrong count: the
 * slots of a worker that is lost are no longer counted, and those of its leases become free when the jobs are rescued.
 */
import type { WorkerInfo } from './figures.ts'
import type { TypeLimits } from './values.ts'
import { isLost } from './workers.ts'
import { ownValue } from './own-value.ts'

/** A registered worker, and how many jobs it has leased. */
export interface WorkerSlots {
  readonly info: Pick<WorkerInfo, 'slots' | 'types' | 'limits' | 'leaseMs' | 'paused'>
  /** Time since its last heartbeat, ms. */
  readonly silentMs: number
  readonly leasedCount: number
}

/** The fields of a queue that its use of slots depends on. */
interface QueueLoad {
  readonly paused: boolean
  /** The number of its queued jobs. */
  readonly queued: number
  readonly leasedCount: number
}

/**
 * How many more jobs of a type may be handed over now; -Infinity if there is no free slot at all, or if the queue is
 * paused.
 *
 * A slot is free if it is neither leased nor about to be: jobs that are queued already have the first claim on the
 * slots of every worker that lists their type, whatever their weight. Not counted are queued jobs of other types with a
 * rate limit or a limit per key, because it is not known whether these may start.
 */
export function handOverRoom(
  type: string,
  workers: Iterable<WorkerSlots>,
  queueOf: (type: string) => QueueLoad | undefined,
): number {
  const own = queueOf(type)
  if (own?.paused === true) return -Infinity
  let free = 0
  /** How many jobs each type of these workers may run at once. */
  const runnable = new Map<string, number>()
  for (const { info, silentMs, leasedCount } of workers) {
    if (info.paused === true || isLost(info, silentMs) || !info.types.includes(type)) continue
    free += Math.max(0, info.slots - leasedCount)
    for (const each of info.types) {
      const limits = ownValue(info.limits, each)
      const isUncertain = limits !== undefined && mayDelay(limits) && each !== type
      const most = isUncertain ? 0 : (limits?.concurrency ?? Infinity)
      runnable.set(each, Math.max(most, runnable.get(each) ?? 0))
    }
  }
  if (free === 0) return -Infinity
  for (const [each, most] of runnable) free -= starting(queueOf(each), most)
  const { queued, leasedCount } = own ?? noLoad
  return Math.min(free, (runnable.get(type) ?? 0) - leasedCount - queued)
}

/** Can a job of the type have to wait though a slot is free and its type is under its concurrency limit? */
export const mayDelay = ({ rate, perKey, keyRate }: TypeLimits): boolean =>
  rate !== null || perKey !== null || keyRate !== undefined

/** Why a type with such limits cannot be handed over. */
export const handOverHint =
  'Leave out rateLimit, keyRateLimit and perKey: a job that is handed over starts at once, and these would make it wait. Or set a capacity of 1 or more.'

const noLoad: QueueLoad = { paused: false, queued: 0, leasedCount: 0 }

/** How many queued jobs of a queue will take a slot as soon as one is free. */
const starting = ({ paused, queued, leasedCount }: QueueLoad = noLoad, most: number): number =>
  paused ? 0 : Math.max(0, Math.min(queued, most - leasedCount))
