/**
 * Compares this worker with the other workers of the store, and logs a warning once for each disagreement: different
 * limits of the same job type, or a clock that is ahead. Tells which other workers there are.
 */
import type { Timer } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import type { RateLimit, Store, TypeLimits, WorkerInfo, WorkerRecord } from '../store.ts'
import type { Timers } from '../client/timers.ts'
import { ownValue } from '../core/own-value.ts'

/** A heartbeat that is farther in the future is by a clock that is ahead. */
const aheadMsMax = 1_000
/**
 * The fractional parts of its multiples are spread evenly, so that the checks meet heartbeats of others in every phase.
 */
const goldenRatio = 0.618_033_988_75

interface PeersOptions {
  readonly store: Store
  readonly timers: Timers
  readonly logger: Logger
  readonly leaseMs: number
  /** Called with the other live workers at each check. */
  readonly met: (others: readonly WorkerRecord[]) => void
}

export class Peers {
  private checks = 0
  private timer: Timer | null = null
  private stopped = false
  /** Keys of logged warnings: the other worker and the matter. */
  private readonly warned = new Set<string>()
  private readonly options: PeersOptions

  constructor(options: PeersOptions) {
    this.options = options
  }

  /** Checks now and, on a shared store, about once per lease. */
  start(own: WorkerInfo): void {
    void this.check(own)
  }

  stop(): void {
    this.stopped = true
    this.timer?.cancel()
  }

  private async check(own: WorkerInfo): Promise<void> {
    const { store, timers, leaseMs, logger, met } = this.options
    try {
      const workers = await store.workers()
      if (this.stopped) return
      const now = store.now()
      const alive = workers.filter(({ id, lost }) => id !== own.id && !lost)
      for (const other of alive) this.compare(own, other, now)
      met(alive)
    } catch (error) {
      logger.debug('the list of workers could not be read', { error })
    }
    if (this.stopped || !store.capabilities.shared) return
    const intervalMs = leaseMs * (0.5 + ((++this.checks * goldenRatio) % 1))
    this.timer = timers.after(intervalMs, () => void this.check(own), false)
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
      if (!other.types.includes(type)) continue
      const [here, there] = [ownValue(own.limits, type) ?? noLimits, ownValue(other.limits, type) ?? noLimits]
      if (isSame(here, there)) continue
      this.warn(
        `${other.id} ${type}`,
        `workers ${own.name} and ${other.name} have different limits for job type ${type}`,
        {
          own: { worker: own.id, ...here },
          other: { worker: other.id, ...there },
          hint: 'Give both the same concurrency, perKey, rateLimit and keyRateLimit: each applies its own when it claims.',
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
  isSameRate(a.rate, b.rate) &&
  isSameRate(a.keyRate, b.keyRate)

const isSameRate = (a: RateLimit | null | undefined, b: RateLimit | null | undefined): boolean =>
  a?.limit === b?.limit && a?.perMs === b?.perMs
