/**
 * Claim: turns a pick into running jobs. One claim is under way at a time: what becomes free meanwhile goes into the next,
 * together with the settles. What was handed out starts only after every stop and cancel asked until then has had its say.
 */
import { nanoid } from 'nanoid'
import type { JobDefinition } from '../core/definition.ts'
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

export interface ClaimerOptions {
  readonly store: Store
  readonly worker: string
  readonly leaseMs: number
  readonly jobs: ReadonlyMap<string, JobDefinition>
  readonly runs: Runs
  readonly host: RunServices
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
  /** Why nothing may start now, if so. */
  readonly halted: () => JobchartError | null
  /** A claim is over. */
  readonly changed: () => void
}

export class Claimer {
  private underWay = false
  private failures = 0
  private resting = false
  private answered = false
  private closed = false
  /** Handed out; the first `started` have started. */
  private readonly ready: Run[] = []
  private started = 0
  private asked = 0
  private readonly waiters: (() => void)[] = []
  /** Types of which nothing starts that the claim under way hands out, and why. */
  private readonly heldBack = new Map<string, JobchartError>()
  /** Types that wait for their rate limit. */
  private readonly limited = new Set<string>()
  private readonly options: ClaimerOptions

  constructor(options: ClaimerOptions) {
    this.options = options
  }

  /** Is a claim under way, from the pick to the starts? */
  get busy(): boolean {
    return this.underWay
  }

  /** What to ask the store for now; null for nothing. Takes the permits. */
  pick(): Demand[] | null {
    const { permits, selector } = this.options
    if (this.underWay || this.resting || permits.free === 0 || selector.idle) return null
    if (this.options.halted() !== null) return null
    const demand = selector.plan(permits.free)
    if (demand === null) return null
    this.asked = 0
    for (const { max } of demand) this.asked += max
    permits.take(this.asked)
    this.underWay = true
    return demand
  }

  /** Resolves when no claim is under way, or no answer is listened to any more. */
  over(): Promise<void> {
    return this.underWay && !this.closed ? new Promise((resolve) => void this.waiters.push(resolve)) : Promise.resolve()
  }

  /** Nothing of this type (null: of any) starts that was asked for before now: it is released. */
  holdBack(type: string | null, reason: JobchartError): void {
    if (!this.underWay) return
    for (const each of type === null ? this.options.jobs.keys() : [type]) this.heldBack.set(each, reason)
  }

  /** No answer is listened to any more: whoever waits for one has waited long enough. */
  close(): void {
    this.closed = true
    this.answerWaiters()
  }

  private answerWaiters(): void {
    for (const resolve of this.waiters.splice(0)) resolve()
  }

  /** Claims what was picked; a claim that fails is picked again. */
  claim(demand: readonly Demand[], answered: (claimed: ClaimedJobs) => void): void {
    const { store, worker, leaseMs, time } = this.options
    const sentAt = time.read()
    whenAnswered(
      () => store.claim({ worker, leaseMs, token: nanoid(), demand }),
      (answer) => {
        this.failures = 0
        this.options.health.back()
        answered({ answer, sentAt, fenceAt: fenceAt(sentAt, leaseMs) })
      },
      (error) => this.failed(error),
    )
  }

  /**
   * Starts what was handed out, one by one: between two starts, which may run user code, whatever is more `urgent` has its
   * say.
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
    if (this.underWay && this.answered) this.end()
  }

  /** Were the slots made fewer since this job was asked for? Then it goes back. */
  private slotTaken(): JobchartError | null {
    const { taken, slots } = this.options.permits
    return taken > slots ? new JobchartError('STOPPED', `the runtime has ${slots} slots now`) : null
  }

  /** What was held back goes on. */
  resume(): void {
    if (this.started < this.ready.length) this.options.commands.next({ lane: Lane.start, claimed: null })
  }

  /** Takes over what the store has handed out: from here on cancels find it as a run. */
  private admit({ answer, sentAt, fenceAt: fence }: ClaimedJobs): void {
    const { permits, selector, jobs, runs, host, canceller, hub, worker } = this.options
    this.answered = true
    selector.applyClaim(answer)
    permits.give(this.asked - answer.jobs.length)
    for (const { type, reason: why, until } of answer.shortfalls) if (why === 'limited') this.wakeAt(type, until ?? 0)
    for (const claimed of answer.jobs) {
      const run = new Run(claimed, jobs.get(claimed.type) as JobDefinition, host, fence)
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
    this.underWay = false
    this.answered = false
    this.answerWaiters()
    this.options.changed()
  }

  /** One timer per type, however often it is asked for in vain meanwhile. */
  private wakeAt(type: string, at: number): void {
    const { timers, store, commands, jobs } = this.options
    if (this.limited.has(type)) return
    this.limited.add(type)
    // No window is free later than a whole one from now, whatever a clock says that may have been set.
    const windowMs = jobs.get(type)?.limits.rate?.perMs ?? 0
    timers.after(Math.min(at - store.now(), windowMs), () => {
      this.limited.delete(type)
      commands.next({ lane: Lane.wake, type, atMost: Infinity })
    })
  }

  /** The store did not answer: the permits come back, and it is asked again later. */
  private failed(error: unknown): void {
    const { permits, selector, logger } = this.options
    this.options.health.lost(error)
    permits.give(this.asked)
    selector.applyClaim(null)
    this.end()
    if (this.failures++ === 0) logger.error('a claim failed; it is repeated until the store answers', { error })
    this.claimLater()
  }

  private claimLater(): void {
    const { timers, commands } = this.options
    this.resting = true
    const delayMs = Math.min(retryMs.first * 2 ** Math.min(this.failures, 10), retryMs.max)
    timers.after(delayMs, () => {
      this.resting = false
      commands.next({ lane: Lane.control, apply: () => {} })
    })
  }
}

/** Did the answer, or the start before this one, take so long that the lease may have run out? Then it is not ours. */
const tooLate = (run: Run, now: number): JobchartError | null => (now >= run.fenceAt ? leaseLost(run) : null)
