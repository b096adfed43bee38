/**
 * Maintenance of the store: promotes jobs that are due, rescues jobs with expired leases, takes over bulk operations
 * without a live lease, carries out what committed transactions have left and prunes old jobs, in batches. One timer is
 * for due jobs, one for the rest.
 */
import type { Timer } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import type { RepeatedCalls } from '../core/repeated-calls.ts'
import type { Answer, PruneAnswer, Store, SweepAnswer } from '../store.ts'
import { promised } from '../client/answer.ts'
import type { EventHub } from '../client/event-hub.ts'
import type { Timers } from '../client/timers.ts'
import { carryOutAll } from '../client/carry-out.ts'
import { BulkTakeover } from './bulk.ts'

const batchSize = 500

/** What a sweep in batches has done. */
export interface Swept {
  /** How many transitions it has made. */
  readonly count: number
  /** When the next job is due, or the next lease runs out, ms since the epoch; null if none is known. */
  readonly nextAt: number | null
  /** Was everything that was due reached? */
  readonly complete: boolean
}
/** Delay from the end of a job to the next prune; after `pruneEvery` ends it starts at once. */
const pruneAfterMs = 1_000
const pruneEvery = 500
/** Interval on shared stores: hints of other processes about due times may be missed. */
const pollMs = 2_000
/** Interval at which queues with work, and what transactions have left, are looked for: mostly a hint tells of them. */
const seldomMs = 6_000
/** Interval of what has timers of its own: schedules, and on shared stores old jobs where no job has ended. */
const rarelyMs = 10_000
const afterErrorMs = 1_000
/** A rescue that must wait is tried this often per lease. */
const rescueTriesPerLease = 24

interface SweeperOptions {
  readonly store: Store
  readonly hub: EventHub
  readonly timers: Timers
  readonly logger: Logger
  readonly repeated: RepeatedCalls
  readonly leaseMs: number
  /** May expired leases be rescued now? */
  readonly mayRescue: () => boolean
  /** Calls `apply` when all commands given before are handled. */
  readonly whenHandled: (apply: () => void) => void
  /** Fires schedules that are due: a timer of theirs may have been set by a clock that was wrong. */
  readonly fire: () => void
  /** Finds queued jobs whose hint was missed. */
  readonly findWork: () => void
}

export class Sweeper {
  private dueTimer: Timer | null = null
  private dueAt = Infinity
  private tickTimer: Timer | null = null
  /** Time of the next tick, monotonic ms. */
  private tickAt = Infinity
  /** Times of the next prune, and of what is seldom or rarely needed, monotonic ms. */
  private pruneAt = 0
  private seldomAt = 0
  private rarelyAt = 0
  private promotion: Promise<Swept> | null = null
  private promoteAgain = false
  private pruning = false
  private carrying = false
  private endedSincePrune = 0
  private running = false
  private readonly options: SweeperOptions
  private readonly takeover: BulkTakeover

  constructor(options: SweeperOptions) {
    this.options = options
    const { store, hub, logger, timers } = options
    this.takeover = new BulkTakeover({ store, hub, logger, clock: timers.clock, goesOn: () => this.running })
  }

  start(): void {
    this.running = true
    void this.promote()
    // Not only at the first tick: processes may keep crashing before it.
    this.rescue()
    void this.carryOut()
    this.tickIn(this.everyMs)
  }

  stop(): void {
    this.running = false
    this.dueTimer?.cancel()
    this.tickTimer?.cancel()
    this.dueAt = this.tickAt = Infinity
  }

  /** A job will be due at `at`, by the store's clock. */
  due(at: number): void {
    if (!this.running || at >= this.dueAt) return
    this.dueTimer?.cancel()
    this.dueAt = at
    this.dueTimer = this.options.timers.after(at - this.options.store.now(), () => {
      this.dueAt = Infinity
      void this.promote()
    })
  }

  /** Anyone may go on with this bulk operation: after the events of the call that has sent the hint. */
  bulk(id: string): void {
    this.options.whenHandled(() => void this.takeover.take([id]))
  }

  /** To be called when `count` jobs have ended. */
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

  /** Sets the next tick to `delayMs` from now, unless it is earlier. */
  private tickIn(delayMs: number): void {
    const { store, timers } = this.options
    const at = timers.clock.monotonic() + delayMs
    if (at >= this.tickAt) return
    this.tickTimer?.cancel()
    this.tickAt = at
    this.tickTimer = timers.after(delayMs, () => this.tick(), store.capabilities.shared)
  }

  private tick(): void {
    const { store, timers, fire, findWork } = this.options
    const now = timers.clock.monotonic()
    this.tickAt = Infinity
    this.rescue()
    if (this.endedSincePrune > 0 || now >= this.pruneAt) void this.prune()
    // The wall clock may have been set since the timer for due jobs was set: the promotion sets it again.
    this.dueTimer?.cancel()
    this.dueAt = Infinity
    void this.promote()
    if (now >= this.seldomAt) {
      this.seldomAt = now + seldomMs
      void this.carryOut()
      if (store.capabilities.shared) findWork()
    }
    if (now >= this.rarelyAt) {
      this.rarelyAt = now + rarelyMs
      fire()
    }
    if (this.running) this.tickIn(this.everyMs)
  }

  /**
   * Queues the jobs that are due now. Resolves when they are queued; counts those that are queued since the call, and
   * maybe more.
   */
  promote(): Promise<Swept> {
    // A running promotion may miss jobs that became due meanwhile.
    this.promoteAgain = this.promotion !== null
    return (this.promotion ??= this.promoteAll())
  }

  private async promoteAll(): Promise<Swept> {
    let count = 0
    let swept: Swept
    do {
      this.promoteAgain = false
      swept = await this.inBatches('promote', (limit) => this.options.store.promote(limit))
      count += swept.count
      if (swept.nextAt !== null) this.due(swept.nextAt)
    } while (this.promoteAgain)
    this.promotion = null
    return { ...swept, count }
  }

  /** Rescues after the pending ends of runs are settled, and after this process has extended its own expired leases. */
  private rescue(): void {
    const { whenHandled, mayRescue, leaseMs } = this.options
    whenHandled(() => {
      if (!this.running) return
      if (mayRescue()) void this.rescueExpired()
      else this.tickIn(leaseMs / rescueTriesPerLease)
    })
  }

  private async rescueExpired(): Promise<void> {
    const { store } = this.options
    const { nextAt } = await this.inBatches('rescue', (limit) => store.rescue(limit))
    const leftMs = nextAt === null ? 0 : nextAt - store.now()
    if (this.running && leftMs > 0) this.tickIn(leftMs)
  }

  /** The process of a transaction may have ended before its commit was seen. */
  private async carryOut(): Promise<void> {
    if (this.carrying) return
    this.carrying = true
    const { repeated } = this.options
    const failure = 'what transactions have left was not carried out; it is repeated'
    try {
      await carryOutAll(this.options, () => this.running)
      repeated.succeeded(failure)
    } catch (error) {
      if (this.running) repeated.failed(failure, { error })
    }
    this.carrying = false
  }

  private async inBatches(what: string, sweep: (limit: number) => Answer<SweepAnswer>): Promise<Swept> {
    const { hub, repeated, store } = this.options
    const failure = `${what} failed; it is repeated`
    let count = 0
    try {
      while (this.running) {
        const { transitions, nextAt, more } = await promised(
          () => sweep(batchSize),
          (answer) => {
            hub.emitAll(answer.transitions)
            if (answer.bulk !== undefined) void this.takeover.take(answer.bulk)
            return answer
          },
        )
        repeated.succeeded(failure)
        count += transitions.length
        if (!more) return { count, nextAt, complete: true }
      }
      return { count, nextAt: null, complete: true }
    } catch (error) {
      if (this.running) repeated.failed(failure, { error })
      return { count, nextAt: store.now() + afterErrorMs, complete: false }
    }
  }

  private pruneIn(delayMs: number): void {
    const { store, timers } = this.options
    const inMs = Math.min(delayMs, store.capabilities.shared ? rarelyMs : this.everyMs)
    this.pruneAt = timers.clock.monotonic() + inMs
    if (this.running) this.tickIn(inMs)
  }

  private async prune(): Promise<void> {
    if (this.pruning) return
    this.pruning = true
    const { store, repeated } = this.options
    const failure = 'prune failed; it is repeated'
    try {
      do {
        this.endedSincePrune = 0
        let answer: PruneAnswer
        do answer = await store.prune(batchSize)
        while (this.running && answer.more)
        repeated.succeeded(failure)
        this.pruneIn(answer.nextAt === null ? Infinity : Math.max(pruneAfterMs, answer.nextAt - store.now()))
        // Repeat if that many jobs have ended during the prune.
      } while (this.running && this.endedSincePrune >= pruneEvery)
    } catch (error) {
      if (this.running) repeated.failed(failure, { error })
    }
    this.pruning = false
  }
}
