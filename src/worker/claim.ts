/**
 * Claims jobs and starts them. One claim is in flight at a time; slots that become free meanwhile go into the next, together
 * with the settles. Claimed jobs start only after every stop and cancel given until then has been handled.
 */
import { nanoid } from 'nanoid'
import type { JobDefinition } from '../core/definition.ts'
import type { Timer } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import type { Demand, Store } from '../store.ts'
import { JobchartError } from '../core/errors.ts'
import { whenAnswered } from '../client/answer.ts'
import type { Canceller } from './cancel.ts'
import type { Confirmer } from './confirm.ts'
import type { EventHub } from '../client/event-hub.ts'
import type { Health } from './health.ts'
import { leaseLost } from './heartbeat.ts'
import type { Commands, ClaimedJobs, StartCommand } from './commands.ts'
import { Lane } from './lanes.ts'
import { fenceAt, type LeaseClock } from './lease-clock.ts'
import type { Permits } from './permits.ts'
import { Run, type RunServices } from './attempt.ts'
import type { Runs } from './runs.ts'
import type { Selector } from './select.ts'
import { withMeta } from './event-meta.ts'
import type { Timers } from '../client/timers.ts'

const retryMs = { first: 50, max: 5_000 }

interface ClaimerOptions {
  readonly store: Store
  readonly worker: string
  readonly leaseMs: number
  readonly jobs: ReadonlyMap<string, JobDefinition>
  readonly runs: Runs
  readonly services: RunServices
  readonly permits: Permits
  readonly selector: Selector
  readonly canceller: Canceller
  readonly confirmer: Confirmer
  readonly hub: EventHub
  readonly timers: Timers
  readonly time: LeaseClock
  readonly logger: Logger
  readonly commands: Commands
  readonly health: Health
  /** Why no job may start now; null if jobs may. */
  readonly halted: () => JobchartError | null
  /** Called when a claim has ended. */
  readonly changed: () => void
}

export class Claimer {
  private inFlight = false
  private failures = 0
  private backingOff = false
  private answered = false
  private closed = false
  /** Claimed runs; the first `started` have started. */
  private readonly ready: Run[] = []
  private started = 0
  private permitsTaken = 0
  private readonly waiters: (() => void)[] = []
  /** Types whose jobs in the claim in flight must not start, and why. */
  private readonly heldBack = new Map<string, JobchartError>()
  /** Types that wait for their rate limit. */
  private readonly limited = new Map<string, { readonly at: number; readonly timer: Timer }>()
  private readonly options: ClaimerOptions

  constructor(options: ClaimerOptions) {
    this.options = options
  }

  /** Is a claim in flight, from the pick to the starts? */
  get busy(): boolean {
    return this.inFlight
  }

  /** What to claim now; null for nothing. Takes the permits. */
  pick(): Demand[] | null {
    const { permits, selector } = this.options
    if (this.inFlight || this.backingOff || permits.free === 0 || selector.idle) return null
    if (this.options.halted() !== null) return null
    const demand = selector.plan(permits.free)
    if (demand === null) return null
    this.permitsTaken = 0
    for (const { max } of demand) this.permitsTaken += max
    permits.take(this.permitsTaken)
    this.inFlight = true
    return demand
  }

  /** Resolves when no claim is in flight, or after `close`. */
  whenIdle(): Promise<void> {
    return this.inFlight && !this.closed ? new Promise((resolve) => void this.waiters.push(resolve)) : Promise.resolve()
  }

  /** Releases the jobs of this type (null: of all types) in the claim in flight instead of starting them. */
  holdBack(type: string | null, reason: JobchartError): void {
    if (!this.inFlight) return
    for (const each of type === null ? this.options.jobs.keys() : [type]) this.heldBack.set(each, reason)
  }

  /** Ends all waits of `whenIdle`: no answer is handled any more. */
  close(): void {
    this.closed = true
    this.answerWaiters()
  }

  private answerWaiters(): void {
    for (const resolve of this.waiters.splice(0)) resolve()
  }

  /** Claims what was picked. If the claim fails, it is picked again later. */
  claim(demand: readonly Demand[], answered: (claimed: ClaimedJobs) => void): void {
    const { store, worker, leaseMs, time } = this.options
    const sentAt = time.read()
    whenAnswered(
      () => store.claim({ worker, leaseMs, token: nanoid(), demand }),
      (answer) => {
        this.failures = 0
        this.options.health.answered()
        answered({ answer, sentAt, fenceAt: fenceAt(sentAt, leaseMs) })
      },
      (error) => this.failed(error),
    )
  }

  /**
   * Starts claimed jobs, one by one. A start may run user code, which may give an `urgent` command: it is handled before the
   * next start.
   */
  start(commands: readonly StartCommand[], urgent: () => boolean): void {
    for (const { claimed } of commands) if (claimed !== null) this.admit(claimed)
    const { canceller, confirmer, time } = this.options
    while (this.started < this.ready.length) {
      if (canceller.inFlight) return
      if (urgent()) return this.resume()
      const run = this.ready[this.started] as Run
      const now = time.read()
      if (confirmer.isDue(run, now) && !confirmer.confirm(this.ready.slice(this.started))) this.claimLater()
      this.started++
      const stop = run.abortReason ?? this.options.halted() ?? this.slotTaken() ?? tooLate(run, now)
      if (stop === null) run.start()
      else run.skip(stop)
    }
    this.ready.length = 0
    this.started = 0
    if (this.inFlight && this.answered) this.end()
  }

  /** The reason to release a job if the slots were reduced since the claim. */
  private slotTaken(): JobchartError | null {
    const { taken, slots } = this.options.permits
    return taken > slots ? new JobchartError('STOPPED', `the runtime has ${slots} slots now`) : null
  }

  /** Continues with claimed jobs that have not started. */
  resume(): void {
    if (this.started < this.ready.length) this.options.commands.next({ lane: Lane.start, claimed: null })
  }

  /** Makes runs of the claimed jobs: from here on cancels find them. */
  private admit({ answer, sentAt, fenceAt: fence }: ClaimedJobs): void {
    const { permits, selector, jobs, runs, services, canceller, hub, worker } = this.options
    this.answered = true
    selector.applyClaim(answer)
    permits.give(this.permitsTaken - answer.jobs.length)
    for (const { type, reason: why, until } of answer.shortfalls) if (why === 'limited') this.wakeAt(type, until ?? 0)
    for (const claimed of answer.jobs) {
      const run = new Run(claimed, jobs.get(claimed.type) as JobDefinition, services, fence)
      run.confirmedAt = sentAt
      run.abortReason = canceller.beforeStart(claimed.id) ?? this.heldBack.get(claimed.type) ?? null
      runs.add(run)
      this.ready.push(run)
    }
    canceller.forget()
    if (!hub.hasListeners) return
    for (const claimed of answer.jobs) {
      const { id, type, seq, startedAt: at, attempt } = claimed
      if (!hub.hasListener(id)) continue
      const event = { seq, at, id, type, event: 'CLAIM', from: 'queued', to: 'running', attempt, worker } as const
      hub.emit({ ...event, ...withMeta(claimed) })
    }
  }

  private end(): void {
    this.options.canceller.forget()
    this.heldBack.clear()
    this.inFlight = false
    this.answered = false
    this.answerWaiters()
    this.options.changed()
  }

  /** Wakes a rate-limited type at `at`. At most one timer per type. */
  private wakeAt(type: string, at: number): void {
    const { timers, store, commands, jobs } = this.options
    const earlier = this.limited.get(type)
    if (earlier !== undefined && earlier.at <= at) return
    earlier?.timer.cancel()
    // At most one window from now: a clock may have been set.
    const { rate, keyRate } = jobs.get(type)?.limits ?? {}
    const windowMs = Math.max(rate?.perMs ?? 0, keyRate?.perMs ?? 0)
    const timer = timers.after(Math.min(at - store.now(), windowMs), () => {
      this.limited.delete(type)
      commands.next({ lane: Lane.wake, type, atMost: Infinity })
    })
    this.limited.set(type, { at, timer })
  }

  /** The claim failed: gives the permits back and claims again later. */
  private failed(error: unknown): void {
    const { permits, selector, logger } = this.options
    this.options.health.failed(error)
    permits.give(this.permitsTaken)
    selector.applyClaim(null)
    this.end()
    if (this.failures++ === 0) logger.error('a claim failed; it is repeated until the store answers', { error })
    this.claimLater()
  }

  private claimLater(): void {
    const { timers, commands } = this.options
    this.backingOff = true
    const delayMs = Math.min(retryMs.first * 2 ** Math.min(this.failures, 10), retryMs.max)
    timers.after(delayMs, () => {
      this.backingOff = false
      commands.next({ lane: Lane.control, apply: () => {} })
    })
  }
}

/** The reason to release a job whose lease may have expired before its start. */
const tooLate = (run: Run, now: number): JobchartError | null => (now >= run.fenceAt ? leaseLost(run) : null)
