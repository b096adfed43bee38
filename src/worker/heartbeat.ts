/**
 * Heartbeats: extend the leases of all runs, write their check-ins, logs and step results, and learn from the answers
 * which runs are cancelled or lost. A run whose lease may have expired is fenced: its signal aborts before another
 * process may claim the job.
 */
import type { Timer } from '../core/clock.ts'
import { JobchartError } from '../core/errors.ts'
import { roughSize, type Json } from '../core/payload.ts'
import type { Logger } from '../core/logger.ts'
import type { RepeatedCalls } from '../core/repeated-calls.ts'
import type { HeartbeatPayload, HeartbeatAnswer, Store } from '../store.ts'
import { refusedBy } from '../client/answer.ts'
import type { Health } from './health.ts'
import { GatheredCalls } from './gathered-calls.ts'
import { fenceAt, type LeaseClock } from './lease-clock.ts'
import { runIsOver, type Run } from './attempt.ts'
import type { Runs } from './runs.ts'
import type { Timers } from '../client/timers.ts'

const heartbeatFailed = 'a heartbeat failed; it is repeated before the leases run out'
/** Minimum time between two writes of check-ins and logs. The end of a run writes them, too. */
const reportEveryMs = 250
const writeRetryMs = { first: 25, max: 2_000 }
/** Runs per call of the store. */
const heartbeatsMax = 1_000
/** Lease checks per heartbeat interval. A check interval (1/24 lease) is shorter than the early fence (1/10 lease). */
const checksPerHeartbeat = 8
const heartbeatsPerLease = 3
/**
 * The part of a lease for which nothing is rescued after a jump of the store's clock: every live worker sends a
 * heartbeat in it.
 */
const jumpRestOfLease = 0.5

interface HeartbeatOptions {
  readonly store: Store
  readonly health: Health
  readonly worker: string
  readonly leaseMs: number
  readonly runs: Runs
  readonly timers: Timers
  readonly time: LeaseClock
  readonly logger: Logger
  readonly repeated: RepeatedCalls
  /** A run is to be cancelled. */
  readonly cancelling: (run: Run, answer: Pick<HeartbeatAnswer, 'reason' | 'graceMs'>) => void
  /** A run's lease is lost. */
  readonly lost: (run: Run) => void
  /**
   * Registers the worker again if it has changed, or if it was silent for so long that its record may have been
   * removed.
   */
  readonly announce: (wasSilent: boolean) => Promise<void>
}

export class Heartbeat {
  private running = false
  private inFlight = false
  /** Time of the last lease check, by `LeaseClock`. */
  private checkedAt = 0
  /** When it was last noticed that this process had been blocked, by `LeaseClock`. */
  private blockedAt = -Infinity
  /** Time of the last heartbeat of all runs, by `LeaseClock`. */
  private heartbeatAt = 0
  /**
   * How far the store's clock was ahead of `LeaseClock` at the last heartbeat, ms; and when it was set forward, by
   * `LeaseClock`.
   */
  private storeAheadMs = 0
  private storeJumpedAt = -Infinity
  /** Lease checks since the last heartbeat. */
  private checks = 0
  private timer: Timer | null = null
  private reportTimer: Timer | null = null
  private readonly reporting = new Set<Run>()
  /** When reports were written last, monotonic ms. */
  private reportAt = -Infinity
  /** Results of steps. */
  private readonly stepWrites: GatheredCalls<HeartbeatPayload, HeartbeatAnswer>
  private readonly options: HeartbeatOptions

  constructor(options: HeartbeatOptions) {
    this.options = options
    const { store, worker, leaseMs, timers } = options
    const ask = (heartbeats: readonly HeartbeatPayload[]): ReturnType<Store['extend']> =>
      store.extend({ worker, leaseMs, heartbeats })
    const sizeOf = ({ steps }: HeartbeatPayload): number => roughSize(steps)
    this.stepWrites = new GatheredCalls({ ask, sizeOf, capabilities: store.capabilities, timers })
  }

  start(): void {
    this.running = true
    this.checkedAt = this.heartbeatAt = this.options.time.read()
    this.storeAheadMs = this.options.store.now() - this.checkedAt
    this.arm()
  }

  stop(): void {
    this.running = false
    this.timer?.cancel()
    this.reportTimer?.cancel()
    this.timer = null
    this.reportTimer = null
    this.reporting.clear()
  }

  /** To be called when a run has a check-in or log to write. */
  report(run: Run): void {
    this.reporting.add(run)
    if (this.reportTimer !== null) return
    const { timers } = this.options
    const now = timers.clock.monotonic()
    const leftMs = this.reportAt + reportEveryMs - now
    if (leftMs > 0) {
      this.reportTimer = timers.after(leftMs, () => void this.flushReports(), false)
      return
    }
    // The first report is written at the end of this turn; reports that follow closely share a write.
    this.reportAt = now
    queueMicrotask(() => void this.flushReports())
  }

  /** Sends heartbeats of these runs now, to learn their states and messages. */
  async refresh(runs: readonly Run[]): Promise<void> {
    try {
      await this.sendAll(runs)
    } catch (error) {
      this.options.repeated.failed(heartbeatFailed, { error, running: runs.length })
    }
  }

  /** Why a run may begin no more work; null if it may. Detects an expired lease before the next check. */
  refusal(run: Run): JobchartError | null {
    if (run.abortReason !== null) return run.abortReason
    if (run.ending !== null) return runIsOver(run)
    const now = this.options.time.read()
    return now < run.lease.fenceAt || this.renewedAfterBlock(run, now) ? null : this.leaseRefused(run)
  }

  /**
   * May expired leases be rescued? Not right after the store's clock was set forward, by which leases of live workers
   * have expired: they are extended by the next heartbeats. On a store of a single process, not while a lease of its
   * own runs has expired because the process was blocked: that lease is extended or the run fenced first. Other
   * runtimes of the process were blocked, too: they have the time of a heartbeat to do the same.
   */
  get mayRescue(): boolean {
    const { store, time, runs, leaseMs } = this.options
    const now = time.read()
    if (this.storeJumped(now)) void this.heartbeatAll()
    if (now - this.storeJumpedAt < leaseMs * jumpRestOfLease) return false
    if (store.capabilities.shared) return true
    if (this.wasBlocked(now)) this.renewOrFence()
    if (now - this.blockedAt < leaseMs / heartbeatsPerLease) return false
    return runs.all().every((run) => now < run.lease.fenceAt || run.abortReason?.code === 'LEASE_LOST')
  }

  /**
   * Was the store's clock set forward? A jump that is shorter than a tenth of a lease lets no lease expire that is
   * extended at each third of it.
   * @returns whether a heartbeat is to be sent
   */
  private storeJumped(now: number): boolean {
    const { store, leaseMs } = this.options
    const aheadMs = store.now() - now
    if (aheadMs - this.storeAheadMs <= leaseMs / 10) return false
    this.storeAheadMs = aheadMs
    this.storeJumpedAt = now
    return !this.inFlight
  }

  /** To be called after each heartbeat: by small steps the clocks may drift apart. */
  private compareClocks(): void {
    const now = this.options.time.read()
    this.storeJumped(now)
    this.storeAheadMs = this.options.store.now() - now
  }

  /**
   * Extends a lease that expired while this process was blocked. On a store of a single process no other process can
   * have claimed it.
   */
  private renewedAfterBlock(run: Run, now: number): boolean {
    const { store } = this.options
    if (store.capabilities.shared || !this.wasBlocked(now)) return false
    const [standing] = store.confirm?.([run.claimed]) ?? []
    if (standing === undefined || standing.outcome === 'lost') return false
    void this.refresh([run])
    return true
  }

  /**
   * Stores the result of a step, together with those of other runs. A failed write is repeated until the lease expires:
   * without the result the next attempt would repeat the step.
   * @throws JobchartError NOT_ACCEPTED if the run has ended meanwhile; LEASE_LOST if the job is no longer the run's;
   * STORE_UNAVAILABLE
   */
  async saveStep(run: Run, name: string, value: Json): Promise<void> {
    const { store } = this.options
    const heartbeat = { ...heartbeatOf(run), steps: { [name]: value } }
    const answer = await this.writeUntilAnswered(run, () => this.stepWrites.write(heartbeat, run))
    this.applyAnswer(run, answer)
    if (answer.outcome === 'lost') throw run.ending === null ? leaseLost(run) : runIsOver(run)
    if (answer.outcome === 'failed') {
      throw refusedBy(store.name, `step ${name} of job ${run.claimed.id}`, answer.error)
    }
  }

  /**
   * Repeats an idempotent write of a run until the store answers. Throws the last error when the run ends, is asked to
   * end, or its lease expires.
   */
  async writeUntilAnswered<T>(run: Run, write: () => Promise<T>): Promise<T> {
    const { timers, time } = this.options
    for (let delayMs = writeRetryMs.first; ; delayMs = Math.min(2 * delayMs, writeRetryMs.max)) {
      try {
        return await write()
      } catch (error) {
        const again = error instanceof JobchartError && error.code === 'STORE_UNAVAILABLE'
        if (!again || run.ending !== null || run.abortReason !== null || time.read() >= run.lease.fenceAt) throw error
      }
      await new Promise<void>((resolve) => {
        timers.after(delayMs, resolve)
        // An abort ends the wait: a stop that aborts the run may cancel the timer.
        run.signal.addEventListener('abort', () => resolve(), { once: true })
      })
    }
  }

  /** To be called when a write of the run was answered `lost`: the job is not the run's any more. Returns the error. */
  leaseRefused(run: Run): JobchartError {
    this.options.lost(run)
    return leaseLost(run)
  }

  /** To be called when a write of the run was answered `cancelling`. */
  cancelling(run: Run, answer: Pick<HeartbeatAnswer, 'reason' | 'graceMs'>): void {
    if (run.ending === null) this.options.cancelling(run, answer)
  }

  /** Was this process blocked, or suspended with its machine, since the last check? Then it could send no heartbeat. */
  private wasBlocked(now: number): boolean {
    return now - this.checkedAt > 2 * this.checkEveryMs
  }

  private get checkEveryMs(): number {
    return this.options.leaseMs / heartbeatsPerLease / checksPerHeartbeat
  }

  private arm(): void {
    const { timers, store } = this.options
    // On a shared store an idle worker keeps its process alive: other processes may enqueue jobs.
    const { shared } = store.capabilities
    this.timer = timers.after(this.checkEveryMs, () => this.checkLeases(), shared)
  }

  /**
   * Fences runs with expired leases, and sends heartbeats when they are due. The checks do not depend on answers of the
   * store: a claim may be answered late, the machine may have been suspended, and a heartbeat may be unanswered.
   */
  private checkLeases(): void {
    this.renewOrFence()
    if (this.running) this.arm()
    if (++this.checks >= checksPerHeartbeat && !this.inFlight) void this.heartbeatAll()
  }

  /**
   * Fences the runs whose leases may have expired. On a store of a single process, no other process can have claimed
   * their jobs while this one was blocked: their leases are extended first.
   */
  private renewOrFence(): void {
    const { store, time } = this.options
    const now = time.read()
    const blocked = this.wasBlocked(now)
    if (blocked) this.blockedAt = now
    const missedHeartbeat = blocked && !store.capabilities.shared && !this.inFlight
    this.checkedAt = now
    if (missedHeartbeat) void this.heartbeatAll().then(() => this.fence())
    else this.fence()
  }

  private async heartbeatAll(): Promise<void> {
    const { runs, repeated } = this.options
    this.inFlight = true
    this.checks = 0
    try {
      const now = this.options.time.read()
      await this.options.announce(now - this.heartbeatAt > this.options.leaseMs)
      await this.sendAll(runs.all())
      this.heartbeatAt = now
      this.compareClocks()
      this.options.health.answered()
      repeated.succeeded(heartbeatFailed)
    } catch (error) {
      this.options.health.failed(error)
      repeated.failed(heartbeatFailed, { error, running: runs.size })
      this.checks = checksPerHeartbeat
    }
    this.inFlight = false
  }

  private async flushReports(): Promise<void> {
    this.reportTimer = null
    this.reportAt = this.options.timers.clock.monotonic()
    const runs = [...this.reporting].filter((run) => run.ending === null)
    this.reporting.clear()
    if (runs.length > 0) await this.refresh(runs)
  }

  /** Without runs an empty call is sent: it is the heartbeat of the worker itself. */
  private async sendAll(runs: readonly Run[]): Promise<void> {
    for (let i = 0; i === 0 || i < runs.length; i += heartbeatsMax) await this.send(runs.slice(i, i + heartbeatsMax))
  }

  private async send(all: readonly Run[]): Promise<void> {
    const { store, worker, leaseMs, time } = this.options
    const sentAt = time.read()
    // A run whose lease was lost is aborted: extending the lease again would keep other workers from the job.
    const runs = all.filter((run) => run.abortReason?.code !== 'LEASE_LOST')
    const sent = runs.map((run) => takeReports(run))
    let answers: HeartbeatAnswer[]
    try {
      answers = await store.extend({ worker, leaseMs, heartbeats: sent })
    } catch (error) {
      runs.forEach((run, i) => putLogsBack(run, sent[i] as HeartbeatPayload))
      throw error
    }
    runs.forEach((run, i) => {
      const answer = answers[i] as HeartbeatAnswer
      if (run.checkin === sent[i]?.checkin) run.checkin = null
      // Answers may arrive out of order: `fenceAt` never decreases.
      if (answer.outcome === 'failed') return this.reportRefused(run, answer)
      if (answer.outcome !== 'lost')
        run.lease = { ...run.lease, fenceAt: Math.max(run.lease.fenceAt, fenceAt(sentAt, leaseMs)) }
      this.applyAnswer(run, answer)
    })
  }

  /**
   * The store could not write the check-in or logs of a run. They are dropped; the next heartbeat extends the lease.
   */
  private reportRefused(run: Run, { error }: HeartbeatAnswer): void {
    const { id } = run.claimed
    this.options.logger.error('a check-in or log lines of a run could not be written, and are lost', { error, id })
  }

  private applyAnswer(run: Run, answer: HeartbeatAnswer): void {
    if (run.ending !== null) return
    if (answer.inbox !== undefined) run.deliver(answer.inbox)
    if (answer.outcome === 'lost') this.options.lost(run)
    else if (answer.outcome === 'cancelling') this.options.cancelling(run, answer)
  }

  private fence(): void {
    const now = this.options.time.read()
    for (const run of this.options.runs.all()) if (now >= run.lease.fenceAt) this.options.lost(run)
  }
}

export function leaseLost(run: Run): JobchartError {
  if (run.transactions?.hasEnd) {
    const { id, attempt } = run.claimed
    return new JobchartError(
      'LEASE_LOST',
      `attempt ${attempt} of job ${id} has ended with a transaction of its handler`,
      {
        hint: 'Call nothing of ctx any more after the commit of ctx.complete, ctx.fail or ctx.snooze: enqueue with the runtime.',
      },
    )
  }
  return new JobchartError('LEASE_LOST', `the lease of job ${run.claimed.id} has expired; the job may run elsewhere`, {
    hint: 'The process was blocked or could not reach its store for longer than the lease. Do not block the event loop, or raise `lease`.',
  })
}

const heartbeatOf = ({ claimed: { id, attempt, token } }: Run): HeartbeatPayload => ({ id, attempt, token })

/**
 * A check-in stays with its run until it is confirmed as written: if the run ends before, the settlement contains it.
 */
function takeReports(run: Run): HeartbeatPayload {
  const heartbeat: { -readonly [K in keyof HeartbeatPayload]: HeartbeatPayload[K] } = heartbeatOf(run)
  if (run.mailbox !== null) heartbeat.lastMessageNumber = run.mailbox.after
  if (run.checkin !== null) heartbeat.checkin = run.checkin
  if (run.logs !== null) heartbeat.logs = run.logs
  run.logs = null
  return heartbeat
}

function putLogsBack(run: Run, { logs }: HeartbeatPayload): void {
  if (logs !== undefined) run.logs = [...logs, ...(run.logs ?? [])]
}
