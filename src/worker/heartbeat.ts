/**
 * Heartbeat: extends the leases of all runs, carries their signs of life and step results to the store, and brings back
 * who was cancelled or lost. A run whose lease may have run out is fenced: its signal aborts before anybody else may start it.
 */
import type { Timer } from '../core/clock.ts'
import { JobchartError } from '../core/errors.ts'
import type { Json } from '../core/payload.ts'
import type { Logger } from '../core/logger.ts'
import type { HeartbeatPayload, HeartbeatAnswer, Store } from '../store.ts'
import { refusedBy } from '../client/answer.ts'
import type { Health } from './health.ts'
import { fenceAt, type LeaseClock } from './lease-clock.ts'
import { runIsOver, type Run } from './attempt.ts'
import type { Runs } from './runs.ts'
import type { Timers } from '../client/timers.ts'

/** Check-ins and logs are written this often at most, and at the end of the run. */
const reportEveryMs = 250
const insistMs = { first: 25, max: 2_000 }
/** Runs in one call at most. */
const heartbeatsMax = 1_000
/** Leases are looked at so often between two heartbeats: more often than the tenth of a lease by which a run is fenced early. */
const looksPerHeartbeat = 8
const heartbeatsPerLease = 3

export interface HeartbeatOptions {
  readonly store: Store
  readonly health: Health
  readonly worker: string
  readonly leaseMs: number
  readonly runs: Runs
  readonly timers: Timers
  readonly time: LeaseClock
  readonly logger: Logger
  /** A run is to be cancelled. */
  readonly cancelling: (run: Run, answer: Pick<HeartbeatAnswer, 'reason' | 'graceMs'>) => void
  /** A run's lease is lost. */
  readonly lost: (run: Run) => void
  /** Says who the worker is if that has changed, or if it was silent for so long that it may have been forgotten. */
  readonly announce: (wasSilent: boolean) => Promise<void>
}

export class Heartbeat {
  private running = false
  private beating = false
  /** When leases were looked at last, by the clock of leases. */
  private lookedAt = 0
  /** When all runs were beaten for last, by the same clock. */
  private beatenAt = 0
  /** Looks since the last heartbeat. */
  private looks = 0
  private timer: Timer | null = null
  private soonTimer: Timer | null = null
  private readonly soon = new Set<Run>()
  /** When traces were written last, monotonic ms. */
  private reportAt = -Infinity
  private readonly options: HeartbeatOptions

  constructor(options: HeartbeatOptions) {
    this.options = options
  }

  start(): void {
    this.running = true
    this.lookedAt = this.beatenAt = this.options.time.read()
    this.arm()
  }

  stop(): void {
    this.running = false
    this.timer?.cancel()
    this.soonTimer?.cancel()
    this.timer = null
    this.soonTimer = null
    this.soon.clear()
  }

  /** This run has something to write. */
  report(run: Run): void {
    this.soon.add(run)
    if (this.soonTimer !== null) return
    const { timers } = this.options
    const now = timers.clock.monotonic()
    const restMs = this.reportAt + reportEveryMs - now
    if (restMs > 0) {
      this.soonTimer = timers.after(restMs, () => void this.flushSoon(), false)
      return
    }
    // The first is written in this turn, so that whoever looks sees it; those that follow closely share a write.
    this.reportAt = now
    queueMicrotask(() => void this.flushSoon())
  }

  /** Asks the store now how these runs stand. */
  async ask(runs: readonly Run[]): Promise<void> {
    try {
      await this.send(runs)
    } catch (error) {
      this.options.logger.warn('a heartbeat failed; the next one follows', { error })
    }
  }

  /** Why a run may begin no more work, if so. A lease that has run out is noticed here, not at the next look. */
  refusal(run: Run): JobchartError | null {
    if (run.abortReason !== null) return run.abortReason
    if (run.ending !== null) return runIsOver(run)
    const now = this.options.time.read()
    return now < run.fenceAt || this.renewed(run, now) ? null : this.lost(run)
  }

  /**
   * May leases be taken back? Not while one of this process has run out because the process stood still, on a store that it
   * has for itself: that one is made longer first, or given up.
   */
  get mayRescue(): boolean {
    const { store, time, runs } = this.options
    if (store.capabilities.shared) return true
    const now = time.read()
    if (this.stoodStill(now)) this.inspect()
    return runs.all().every((run) => now < run.fenceAt || run.abortReason?.code === 'LEASE_LOST')
  }

  /** Makes a lease longer that has run out because this process stood still, on a store that it has for itself. */
  private renewed(run: Run, now: number): boolean {
    const { store } = this.options
    if (store.capabilities.shared || !this.stoodStill(now)) return false
    const [standing] = store.confirm?.([run.claimed]) ?? []
    if (standing === undefined || standing.outcome === 'lost') return false
    void this.ask([run])
    return true
  }

  /**
   * Keeps the result of a step. A write that does not reach the store is repeated while the lease lasts: what the step did
   * would be done again otherwise.
   * @throws JobchartError LEASE_LOST if the job is no longer the run's; STORE_UNAVAILABLE
   */
  async saveStep(run: Run, name: string, value: Json): Promise<void> {
    const { store, worker, leaseMs } = this.options
    const heartbeats = [{ ...heartbeatOf(run), steps: { [name]: value } }]
    const [answer] = await this.insist(run, () => store.extend({ worker, leaseMs, heartbeats }))
    if (answer !== undefined) this.applyAnswer(run, answer)
    if (answer?.outcome === 'lost') throw leaseLost(run)
    if (answer?.outcome === 'failed') {
      throw refusedBy(store.name, `step ${name} of job ${run.claimed.id}`, answer.error)
    }
  }

  /**
   * Makes a write of a run, which may be repeated, until the store answers it. It gives up when the run is over, is to end,
   * or its lease has run out.
   */
  async insist<T>(run: Run, write: () => Promise<T>): Promise<T> {
    const { timers, time } = this.options
    for (let delayMs = insistMs.first; ; delayMs = Math.min(2 * delayMs, insistMs.max)) {
      try {
        return await write()
      } catch (error) {
        const again = error instanceof JobchartError && error.code === 'STORE_UNAVAILABLE'
        if (!again || run.ending !== null || run.abortReason !== null || time.read() >= run.fenceAt) throw error
      }
      await new Promise<void>((resolve) => {
        timers.after(delayMs, resolve)
        // Who is told to end hears now that it is not kept: the stop that tells him may stop the timers, too.
        run.signal.addEventListener('abort', () => resolve(), { once: true })
      })
    }
  }

  /** A write of the run was refused: somebody else has the job. Gives the reason. */
  lost(run: Run): JobchartError {
    this.options.lost(run)
    return leaseLost(run)
  }

  /** A write of the run was answered: it is to end. */
  cancelling(run: Run, answer: Pick<HeartbeatAnswer, 'reason' | 'graceMs'>): void {
    if (run.ending === null) this.options.cancelling(run, answer)
  }

  /** Was this process blocked, or asleep with its machine, since the last look? Then it could send no heartbeat. */
  private stoodStill(now: number): boolean {
    return now - this.lookedAt > 2 * this.lookEveryMs
  }

  private get lookEveryMs(): number {
    return this.options.leaseMs / heartbeatsPerLease / looksPerHeartbeat
  }

  private arm(): void {
    const { timers, store } = this.options
    // A store that others share keeps the process alive to serve it; the memory store has nobody else to serve.
    const { shared } = store.capabilities
    this.timer = timers.after(this.lookEveryMs, () => this.look(), shared)
  }

  /**
   * Looks whether leases have run out, and heartbeats when it is time. A lease may begin late (its claim was slow to answer) or
   * end early (the machine slept), and the store may keep its answers back: so the looks go on by themselves.
   */
  private look(): void {
    this.inspect()
    if (this.running) this.arm()
    if (++this.looks >= looksPerHeartbeat && !this.beating) void this.heartbeatAll()
  }

  /**
   * Gives up the runs whose leases may have run out. On a store that this process has for itself nobody else can have taken
   * their jobs while the process stood still: then their leases are made longer first.
   */
  private inspect(): void {
    const { store, time } = this.options
    const now = time.read()
    const couldNotBeat = this.stoodStill(now) && !store.capabilities.shared && !this.beating
    this.lookedAt = now
    if (couldNotBeat) void this.heartbeatAll().then(() => this.fence())
    else this.fence()
  }

  private async heartbeatAll(): Promise<void> {
    const { runs, logger } = this.options
    this.beating = true
    this.looks = 0
    try {
      const now = this.options.time.read()
      await this.options.announce(now - this.beatenAt > this.options.leaseMs)
      // The empty heartbeat is the worker's own sign of life.
      const all = runs.all()
      for (let i = 0; i === 0 || i < all.length; i += heartbeatsMax) await this.send(all.slice(i, i + heartbeatsMax))
      this.beatenAt = now
      this.options.health.back()
    } catch (error) {
      this.options.health.lost(error)
      logger.warn('a heartbeat failed; trying again before the leases run out', { error, running: runs.size })
      this.looks = looksPerHeartbeat
    }
    this.beating = false
  }

  private async flushSoon(): Promise<void> {
    this.soonTimer = null
    this.reportAt = this.options.timers.clock.monotonic()
    const runs = [...this.soon].filter((run) => run.ending === null)
    this.soon.clear()
    if (runs.length > 0) await this.ask(runs)
  }

  private async send(all: readonly Run[]): Promise<void> {
    const { store, worker, leaseMs, time } = this.options
    const sentAt = time.read()
    // Whoever was told that his lease is lost has given the job up: nobody else should have to wait for it.
    const runs = all.filter((run) => run.abortReason?.code !== 'LEASE_LOST')
    const sent = runs.map((run) => takeNews(run))
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
      // Answers may overtake each other.
      if (answer.outcome === 'failed') return this.refused(run, answer)
      if (answer.outcome !== 'lost') run.fenceAt = Math.max(run.fenceAt, fenceAt(sentAt, leaseMs))
      this.applyAnswer(run, answer)
    })
  }

  /** What the run left on its way could not be written. It goes without: the next heartbeat makes its lease longer. */
  private refused(run: Run, { error }: HeartbeatAnswer): void {
    const { id } = run.claimed
    this.options.logger.error('what a run checked in or logged could not be written, and is lost', { error, id })
  }

  private applyAnswer(run: Run, answer: HeartbeatAnswer): void {
    if (run.ending !== null) return
    if (answer.inbox !== undefined) run.deliver(answer.inbox)
    if (answer.outcome === 'lost') this.options.lost(run)
    else if (answer.outcome === 'cancelling') this.options.cancelling(run, answer)
  }

  private fence(): void {
    const now = this.options.time.read()
    for (const run of this.options.runs.all()) if (now >= run.fenceAt) this.options.lost(run)
  }
}

export function leaseLost(run: Run): JobchartError {
  return new JobchartError('LEASE_LOST', `the lease of job ${run.claimed.id} ran out; it may be running elsewhere`, {
    hint: 'The process was blocked or cut off from its store for longer than the lease. Do not block the event loop; lengthen `lease`.',
  })
}

const heartbeatOf = ({ claimed: { id, attempt, token } }: Run): HeartbeatPayload => ({ id, attempt, token })

/** A check-in stays with its run until it is known to be written: should the run end first, its end carries it too. */
function takeNews(run: Run): HeartbeatPayload {
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
