/**
 * Sweep: what only time brings about. Promotes what is due, rescues what its worker has left, prunes what is old; in
 * bites, with one timer for what is due and one for the rest.
 */
import type { Timer } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import type { Answer, PruneAnswer, RetentionPolicy, Store, SweepAnswer } from '../store.ts'
import { promised } from '../client/answer.ts'
import type { EventHub } from '../client/event-hub.ts'
import type { Timers } from '../client/timers.ts'

const batchSize = 500
/** The retention is looked at so long after a job has ended, or at once when so many have ended. */
const pruneAfterMs = 1_000
const pruneEvery = 500
/** Where others write too, work and due times may come that nobody has told of. */
const pollMs = 1_000
const afterErrorMs = 1_000
/** How often a rescue that has to wait is tried again within a lease. */
const rescueTriesPerLease = 24

export interface SweeperOptions {
  readonly store: Store
  readonly hub: EventHub
  readonly timers: Timers
  readonly logger: Logger
  readonly leaseMs: number
  readonly retention: RetentionPolicy
  /** May leases be taken back now? */
  readonly mayRescue: () => boolean
  /** Calls `apply` when all that has been asked before is handled. */
  readonly whenHandled: (apply: () => void) => void
  /** Fires schedules that are due: a timer of theirs may have been set by a clock that was wrong. */
  readonly fire: () => void
  /** Looks for work that nobody has told of. */
  readonly look: () => void
}

export class Sweeper {
  private dueTimer: Timer | null = null
  private dueAt = Infinity
  private tickTimer: Timer | null = null
  /** When it ticks next, monotonic ms. */
  private tickAt = Infinity
  private promotion: Promise<void> | null = null
  private promoteAgain = false
  private pruning = false
  private endedSincePrune = 0
  private running = false
  private readonly options: SweeperOptions

  constructor(options: SweeperOptions) {
    this.options = options
  }

  start(): void {
    this.running = true
    void this.promote()
    // Should every process die soon after its start, nobody would come to the first tick.
    this.rescue()
    this.tickIn(this.everyMs)
  }

  stop(): void {
    this.running = false
    this.dueTimer?.cancel()
    this.tickTimer?.cancel()
    this.dueAt = this.tickAt = Infinity
  }

  /** Something will be due at `at`, by the store's clock. */
  due(at: number): void {
    if (!this.running || at >= this.dueAt) return
    this.dueTimer?.cancel()
    this.dueAt = at
    this.dueTimer = this.options.timers.after(at - this.options.store.now(), () => {
      this.dueAt = Infinity
      void this.promote()
    })
  }

  /** So many jobs have ended. */
  ended(count: number): void {
    if (!this.running) return
    if (this.endedSincePrune === 0) this.tickIn(pruneAfterMs)
    this.endedSincePrune += count
    if (this.endedSincePrune >= pruneEvery) void this.prune()
  }

  private get everyMs(): number {
    const { store, leaseMs } = this.options
    return Math.min(leaseMs / 2, store.capabilities.shared ? pollMs : leaseMs)
  }

  /** Ticks after so long at the latest. */
  private tickIn(delayMs: number): void {
    const { store, timers } = this.options
    const at = timers.clock.monotonic() + delayMs
    if (at >= this.tickAt) return
    this.tickTimer?.cancel()
    this.tickAt = at
    this.tickTimer = timers.after(delayMs, () => this.tick(), store.capabilities.shared)
  }

  private tick(): void {
    this.tickAt = Infinity
    this.rescue()
    void this.prune()
    // The timer of what is due was set by a clock that may have been set since.
    void this.promote()
    this.options.fire()
    if (this.options.store.capabilities.shared) this.options.look()
    if (this.running) this.tickIn(this.everyMs)
  }

  /** Moves what is due now. Resolves when it has been moved. */
  promote(): Promise<void> {
    // Something may have fallen due while a promotion was under way, too late for it to see.
    this.promoteAgain = this.promotion !== null
    return (this.promotion ??= this.promoteAll())
  }

  private async promoteAll(): Promise<void> {
    do {
      this.promoteAgain = false
      const nextAt = await this.inBatches('promote', (limit) => this.options.store.promote(limit))
      if (nextAt !== null) this.due(nextAt)
    } while (this.promoteAgain)
    this.promotion = null
  }

  /** The ends of runs go first, and so do the leases of this process that are to be made longer. */
  private rescue(): void {
    const { whenHandled, mayRescue, leaseMs } = this.options
    whenHandled(() => {
      if (!this.running) return
      if (mayRescue()) void this.takeBack()
      else this.tickIn(leaseMs / rescueTriesPerLease)
    })
  }

  private async takeBack(): Promise<void> {
    await this.inBatches('rescue', (limit) => this.options.store.rescue(limit))
  }

  private async inBatches(what: string, sweep: (limit: number) => Answer<SweepAnswer>): Promise<number | null> {
    const { hub, logger, store } = this.options
    try {
      while (this.running) {
        const { nextAt, more } = await promised(
          () => sweep(batchSize),
          (answer) => {
            hub.emitAll(answer.moves)
            return answer
          },
        )
        if (!more) return nextAt
      }
      return null
    } catch (error) {
      logger.warn(`${what} failed; it is tried again`, { error })
      return store.now() + afterErrorMs
    }
  }

  private async prune(): Promise<void> {
    if (this.pruning) return
    this.pruning = true
    const { store, retention } = this.options
    try {
      do {
        this.endedSincePrune = 0
        let answer: PruneAnswer
        do answer = await store.prune(retention, batchSize)
        while (this.running && answer.more)
        if (this.running && answer.nextAt !== null) this.tickIn(Math.max(pruneAfterMs, answer.nextAt - store.now()))
        // As many have ended meanwhile, too late for the last bite.
      } while (this.running && this.endedSincePrune >= pruneEvery)
    } catch (error) {
      this.options.logger.warn('prune failed; it is tried again', { error })
    }
    this.pruning = false
  }
}
