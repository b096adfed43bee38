/**
 * Claim: turns a pick into running jobs. One claim is under way at a time: what becomes free meanwhile goes into the next,
 * together with the settles. What was handed out starts only after every stop and cancel asked until then has had its say.
 */
import { nanoid } from 'nanoid'
import type { Subject } from 'rxjs'
import type { JobDefinition } from '../define-job.ts'
import type { Logger } from '../log.ts'
import type { ClaimedJob, Demand, Store } from '../store.ts'
import type { JobchartError } from '../errors.ts'
import type { Canceller } from './cancel.ts'
import type { Hub } from './events.ts'
import { Lane, type FlowCommand, type StartCommand } from './lanes.ts'
import { fenceAt, type OwnTime } from './own-time.ts'
import type { Permits } from './permits.ts'
import { Run, type RunHost } from './run.ts'
import type { Selector } from './select.ts'
import type { Timers } from './timers.ts'

const retryMs = { first: 50, max: 5_000 }

export interface ClaimerOptions {
  readonly store: Store
  readonly worker: string
  readonly leaseMs: number
  readonly jobs: ReadonlyMap<string, JobDefinition>
  readonly runs: Map<string, Run>
  readonly host: RunHost
  readonly permits: Permits
  readonly selector: Selector
  readonly canceller: Canceller
  readonly hub: Hub
  readonly timers: Timers
  readonly time: OwnTime
  readonly logger: Logger
  readonly commands: Subject<FlowCommand>
  /** Why nothing may start now, if so. */
  readonly halted: () => JobchartError | null
  /** A claim is over. */
  readonly changed: () => void
}

export class Claimer {
  private underWay = false
  private failures = 0
  private resting = false
  private held: StartCommand | null = null
  private asked = 0
  private readonly waiters: (() => void)[] = []
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

  /** Resolves when no claim is under way. */
  over(): Promise<void> {
    return this.underWay ? new Promise((resolve) => void this.waiters.push(resolve)) : Promise.resolve()
  }

  async claim(demand: readonly Demand[]): Promise<void> {
    const { store, worker, leaseMs, time, commands } = this.options
    const sentAt = time.read()
    try {
      const answer = await store.claim({ worker, leaseMs, token: nanoid(), demand })
      this.failures = 0
      commands.next({ lane: Lane.start, answer, fenceAt: fenceAt(sentAt, leaseMs) })
    } catch (error) {
      this.failed(error)
    }
  }

  start(commands: readonly StartCommand[]): void {
    for (const command of commands) {
      if (this.options.canceller.inFlight) this.held = command
      else this.startAll(command)
    }
  }

  /** Cancels have been answered: what was held back goes on. */
  resume(): void {
    const { held } = this
    this.held = null
    if (held !== null) this.options.commands.next(held)
  }

  private startAll({ answer, fenceAt: fence }: StartCommand): void {
    const { permits, selector } = this.options
    selector.learn(answer)
    permits.give(this.asked - answer.jobs.length)
    for (const { type, why, until } of answer.dry) if (why === 'limited') this.wakeAt(type, until ?? 0)
    for (const claimed of answer.jobs) this.startOne(claimed, fence)
    this.end()
  }

  private end(): void {
    this.options.canceller.forget()
    this.underWay = false
    for (const resolve of this.waiters.splice(0)) resolve()
    this.options.changed()
  }

  private startOne(claimed: ClaimedJob, fence: number): void {
    const { jobs, runs, host, hub, canceller, worker } = this.options
    if (hub.observed && hub.wants(claimed.id)) {
      const { seq, startedAt: at, id, type, attempt } = claimed
      hub.tell({ seq, at, id, type, event: 'CLAIM', from: 'queued', to: 'running', attempt, worker })
    }
    const run = new Run(claimed, jobs.get(claimed.type) as JobDefinition, host, fence)
    runs.set(claimed.id, run)
    const stop = canceller.beforeStart(claimed.id) ?? this.options.halted()
    if (stop === null) run.start()
    else run.skip(stop)
  }

  private wakeAt(type: string, at: number): void {
    const { timers, store, commands } = this.options
    timers.after(at - store.now(), () => commands.next({ lane: Lane.wake, type, atMost: Infinity }))
  }

  /** The store did not answer: the permits come back, and it is asked again later. */
  private failed(error: unknown): void {
    const { permits, selector, timers, logger, commands } = this.options
    permits.give(this.asked)
    selector.learn(null)
    this.end()
    this.resting = true
    if (this.failures++ === 0) logger.error('the store does not hand out jobs; asking again until it does', { error })
    const delayMs = Math.min(retryMs.first * 2 ** Math.min(this.failures, 10), retryMs.max)
    timers.after(delayMs, () => {
      this.resting = false
      commands.next({ lane: Lane.control, apply: () => {} })
    })
  }
}
