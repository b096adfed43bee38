/**
 * Claims jobs and starts them. One claim is in flight at a time; slots that become free meanwhile go into the next,
 * together with the settles. With many slots and a store that takes a round trip it is two, each for half of the slots
 * at most: while the store carries out one, the jobs of the other run. The second is sent when the first has been
 * written: a server that reads both at once answers both at once. Claimed jobs start only after every stop and cancel
 * given until then has been handled.
 */
import { counted } from '../core/counted.ts'
import { nanoid } from 'nanoid'
import type { JobDefinition } from '../core/definition.ts'
import type { Timer } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import type { Store } from '../store.ts'
import { JobchartError } from '../core/errors.ts'
import { whenAnswered } from '../client/answer.ts'
import type { Canceller } from './cancel.ts'
import type { Confirmer } from './confirm.ts'
import type { EventHub } from '../client/event-hub.ts'
import type { Health } from './health.ts'
import { leaseLost } from './heartbeat.ts'
import type { Commands, ClaimedJobs, PendingClaim, StartCommand } from './commands.ts'
import { Lane } from './lanes.ts'
import { fenceAt, type LeaseClock } from './lease-clock.ts'
import type { Permits } from './permits.ts'
import { Run, type RunServices } from './attempt.ts'
import type { Runs } from './runs.ts'
import type { Selector } from './select.ts'
import { withMeta } from './event-meta.ts'
import type { Timers } from '../client/timers.ts'

const retryMs = { first: 50, max: 5_000 }
/** With so many slots a claim is worth dividing. */
const dividedSlotsMin = 16

interface ClaimerOptions {
  readonly store: Store
  readonly worker: string
  /** When the worker started, by the store's clock, ms. */
  readonly startedAt: () => number
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
  /** The claims in flight, oldest first: two at most. */
  private readonly pending: PendingClaim[] = []
  private failures = 0
  private backingOff = false
  private closed = false
  /** Was the last claim picked just now, so that it may not have been written to the store's connection? */
  private unwritten = false
  /** The number of the last claim. */
  lastClaim = 0
  /** Claimed runs; the first `started` have started. */
  private readonly ready: Run[] = []
  private started = 0
  /** Types that wait for their rate limit. */
  private readonly limited = new Map<string, { readonly at: number; readonly timer: Timer }>()
  private readonly options: ClaimerOptions

  constructor(options: ClaimerOptions) {
    this.options = options
  }

  /** Is a claim in flight, from the pick to the starts? */
  get busy(): boolean {
    return this.pending.length > 0
  }

  /** The number of the oldest claim without an answer; Infinity if there is none. */
  get oldestClaim(): number {
    for (const { admitted, number } of this.pending) if (!admitted) return number
    return Infinity
  }

  /** What to claim now; null for nothing. Takes the permits. */
  pick(): PendingClaim | null {
    const { permits, selector, store } = this.options
    const divided = store.confirm === undefined && permits.slots >= dividedSlotsMin
    const inFlightMax = divided && !this.unwritten ? 2 : 1
    if (this.pending.length >= inFlightMax || this.backingOff || permits.free === 0 || selector.idle) return null
    if (this.options.halted() !== null) return null
    const plan = selector.plan(divided ? Math.min(permits.free, Math.ceil(permits.slots / 2)) : permits.free)
    if (plan === null) return null
    permits.take(plan.jobs)
    const claim: PendingClaim = { number: ++this.lastClaim, plan, admitted: false, heldBack: null, waiters: [] }
    this.pending.push(claim)
    if (divided) this.awaitWrite()
    return claim
  }

  /**
   * Keeps the second claim back until the first has been written: the next turn of the loop writes, and in the one
   * after it the store reads.
   */
  private awaitWrite(): void {
    if (this.unwritten) return
    const { clock } = this.options.timers
    this.unwritten = true
    clock.nextTurn(() =>
      clock.nextTurn(() => {
        this.unwritten = false
        this.options.commands.next({ lane: Lane.control, apply: () => {} })
      }),
    )
  }

  /** Resolves when the claims that are in flight now have ended, or after `close`. */
  async whenIdle(): Promise<void> {
    if (this.closed) return
    await Promise.all(this.pending.map(({ waiters }) => new Promise<void>((resolve) => void waiters.push(resolve))))
  }

  /** Releases the jobs of this type (null: of all types) in the claims in flight instead of starting them. */
  holdBack(type: string | null, reason: JobchartError): void {
    for (const claim of this.pending) {
      const heldBack = (claim.heldBack ??= new Map())
      for (const each of type === null ? this.options.jobs.keys() : [type]) heldBack.set(each, reason)
    }
  }

  /** Ends all waits of `whenIdle`: no answer is handled any more. */
  close(): void {
    this.closed = true
    for (const { waiters } of this.pending) answerAll(waiters)
  }

  /** Sends a claim that was picked. If it fails, its jobs are picked again later. */
  send(claim: PendingClaim, answered: (claimed: ClaimedJobs) => void): void {
    const { store, worker, startedAt, leaseMs, time } = this.options
    const sentAt = time.read()
    whenAnswered(
      () => store.claim({ worker, leaseMs, token: nanoid(), startedAt: startedAt(), demand: claim.plan.demand }),
      (answer) => {
        this.failures = 0
        this.options.health.answered()
        answered({ claim, answer, lease: { confirmedAt: sentAt, fenceAt: fenceAt(sentAt, leaseMs) } })
      },
      (error) => this.failed(claim, error),
    )
  }

  /**
   * Starts claimed jobs, one by one. A start may run user code, which may give an `urgent` command: it is handled
   * before the next start.
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
    for (const claim of this.pending.filter(({ admitted }) => admitted)) this.end(claim)
  }

  /** The reason to release a job if the slots were reduced since the claim. */
  private slotTaken(): JobchartError | null {
    const { taken, slots } = this.options.permits
    return taken > slots ? new JobchartError('STOPPED', `the runtime has ${counted(slots, 'slot')} now`) : null
  }

  /** Continues with claimed jobs that have not started. */
  resume(): void {
    if (this.started < this.ready.length) this.options.commands.next({ lane: Lane.start, claimed: null })
  }

  /** Makes runs of the claimed jobs: from here on cancels find them. */
  private admit({ claim, answer, lease }: ClaimedJobs): void {
    const { permits, selector, jobs, runs, services, canceller, hub, worker } = this.options
    claim.admitted = true
    selector.applyClaim(claim.plan, answer)
    permits.give(claim.plan.jobs - answer.jobs.length)
    if (answer.unreadable !== undefined) this.tellUnreadable(answer.unreadable)
    for (const { type, reason: why, until } of answer.shortfalls) if (why === 'limited') this.wakeAt(type, until ?? 0)
    for (const claimed of answer.jobs) {
      const run = new Run(claimed, jobs.get(claimed.type) as JobDefinition, services, lease)
      run.abortReason = canceller.beforeStart(claimed.id) ?? claim.heldBack?.get(claimed.type) ?? null
      runs.add(run)
      this.ready.push(run)
    }
    canceller.forget(this.oldestClaim)
    if (!hub.hasListeners) return
    for (const claimed of answer.jobs) {
      const { id, type, seq, startedAt: at, attempt } = claimed
      if (!hub.hasListener(id)) continue
      const event = { seq, at, id, type, event: 'CLAIM', from: 'queued', to: 'running', attempt, worker } as const
      hub.emit({ ...event, ...withMeta(claimed) })
    }
  }

  private tellUnreadable(ids: readonly string[]): void {
    const error = new JobchartError(
      'STORE_CORRUPT',
      `${counted(ids.length, 'job')} cannot be read: ${ids.slice(0, 10).join(', ')}`,
      {
        hint: 'Something else has changed what is stored. They are set aside: `jobchart doctor` lists them, `jobchart discard ID` removes one.',
      },
    )
    this.options.logger.error('jobs cannot be read and do not run', { error, ids })
  }

  private end(claim: PendingClaim): void {
    this.pending.splice(this.pending.indexOf(claim), 1)
    answerAll(claim.waiters)
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
  private failed(claim: PendingClaim, error: unknown): void {
    const { permits, selector, logger } = this.options
    this.options.health.failed(error)
    permits.give(claim.plan.jobs)
    selector.applyClaim(claim.plan, null)
    this.end(claim)
    this.options.canceller.forget(this.oldestClaim)
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
const tooLate = (run: Run, now: number): JobchartError | null => (now >= run.lease.fenceAt ? leaseLost(run) : null)

function answerAll(waiters: (() => void)[]): void {
  if (waiters.length > 0) for (const resolve of waiters.splice(0)) resolve()
}
