/**
 * Looks at the other workers of the store for what makes several processes disagree: another limit for the same job type, or
 * a clock that is ahead. Both are told once, as warnings.
 */
import type { Timer } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import type { Store, TypeLimits, WorkerInfo, WorkerRecord } from '../store.ts'
import type { Timers } from '../client/timers.ts'

/** A worker whose last heartbeat is farther ahead of the store's clock here has a clock that is ahead, ms. */
const aheadMsMax = 1_000
/** Fractional parts of its multiples are spread evenly: looks at such intervals meet heartbeats in every phase. */
const goldenRatio = 0.618_033_988_75

export interface PeersOptions {
  readonly store: Store
  readonly timers: Timers
  readonly logger: Logger
  readonly leaseMs: number
}

export class Peers {
  private looks = 0
  private timer: Timer | null = null
  private over = false
  /** What was told, by the worker and the matter. */
  private readonly warned = new Set<string>()
  private readonly options: PeersOptions

  constructor(options: PeersOptions) {
    this.options = options
  }

  /** Looks now and, where other processes may come, every lease or so. Nobody waits for it. */
  start(own: WorkerInfo): void {
    void this.look(own)
  }

  stop(): void {
    this.over = true
    this.timer?.cancel()
  }

  private async look(own: WorkerInfo): Promise<void> {
    const { store, timers, leaseMs, logger } = this.options
    try {
      const workers = await store.workers()
      if (this.over) return
      const now = store.now()
      const alive = workers.filter(({ id, seenAt }) => id !== own.id && seenAt > now - leaseMs)
      for (const other of alive) this.compare(own, other, now)
    } catch (error) {
      logger.debug('the other workers could not be looked at', { error })
    }
    if (this.over || !store.capabilities.shared) return
    const intervalMs = leaseMs * (0.5 + ((++this.looks * goldenRatio) % 1))
    this.timer = timers.after(intervalMs, () => void this.look(own), false)
  }

  private compare(own: WorkerInfo, other: WorkerRecord, now: number): void {
    const aheadMs = other.seenAt - now
    if (aheadMs > aheadMsMax) {
      this.warn(`${other.id} clock`, `the clock of worker ${other.name} is ahead of the clock of ${own.name}`, {
        aheadMs,
        hint: 'Synchronise the clocks: leases and due times are judged by the clock of the process that asks.',
      })
    }
    for (const type of own.types) {
      if (other.limits === undefined || !other.types.includes(type)) continue
      const [here, there] = [own.limits?.[type] ?? noLimits, other.limits[type] ?? noLimits]
      if (isSame(here, there)) continue
      this.warn(
        `${other.id} ${type}`,
        `workers ${own.name} and ${other.name} have different limits for job type ${type}`,
        {
          own: { worker: own.id, ...here },
          other: { worker: other.id, ...there },
          hint: 'Give both the same concurrency, perKey and rateLimit: each applies its own when it claims.',
        },
      )
    }
  }

  private warn(matter: string, message: string, fields: Record<string, unknown>): void {
    if (this.warned.has(matter)) return
    this.warned.add(matter)
    this.options.logger.warn(message, fields)
  }
}

const noLimits: TypeLimits = { concurrency: null, perKey: null, rate: null }

const isSame = (a: TypeLimits, b: TypeLimits): boolean =>
  a.concurrency === b.concurrency &&
  a.perKey === b.perKey &&
  a.rate?.limit === b.rate?.limit &&
  a.rate?.perMs === b.rate?.perMs
