/**
 * The runtime: a client with a worker, and a lifecycle (`machines/runtime.machine.ts`).
 *
 *   enqueue ─▶ insert ─▶ [store: queued] ─▶ wake ─▶ dispatch: cancels first, then settles, then picks
 *                                                        select (weights) ∩ permits (slots, semaphores)
 *                                                             │ demand
 *                                                        claim ─▶ run (middleware, handler) ─▶ how it ended
 *                                                                                                  │
 *   events ◀── after commit ── [store: next state] ◀── settle (conditional on the token) ◀── decide (chart)
 *   sweep: promote what is due · rescue expired leases · fire schedules · prune
 */
import { createActor, type Actor } from 'xstate'
import { runtimeMachine, type StopMode } from '../../machines/runtime.machine.ts'
import { integer } from '../core/checks.ts'
import { Pauses } from './pauses.ts'
import { RetriedStart } from './retried-start.ts'
import { StoreClient } from './store-client.ts'
import type { Runtime } from './runtime.ts'
import type { Timer } from '../core/clock.ts'
import type { JobDefinition } from '../core/definition.ts'
import { AbortError, JobchartError } from '../core/errors.ts'
import { waitForDrain } from '../worker/drain.ts'
import { stopOnSignals } from '../worker/signals.ts'
import { slotHint } from '../worker/slot-waits.ts'
import { statesOf } from '../client/states.ts'
import { Shutdown, stopped, shutdown } from '../worker/shutdown.ts'
import type { Stream } from '../core/stream.ts'
import type { CancelTerms } from '../worker/commands.ts'
import { Worker } from '../worker/worker.ts'
import {
  drainOptions,
  pauseOptions,
  startOptions,
  stopLimits,
  type DrainOptions,
  type PauseOptions,
  type StartOptions,
  type StopOptions,
  type StopReport,
  type WorkersOptions,
} from '../core/call-options.ts'
import { limits } from '../core/limits.ts'
import { type RuntimeSettings } from '../core/settings.ts'
import { emptyQueue, queueStats, figuresIn } from './client-queue-handle.ts'
import type { RuntimeState, RuntimeStats } from './runtime-stats.ts'
import type { QueueStats } from './queue-handle.ts'
import type { SubmitBatch } from '../client/bulk-driver.ts'
import type { CancelAnswer, CancelRequest, Store, WorkerRecord } from '../store.ts'

/** Time after the first enqueue until a runtime that was not started logs a warning. */
const slotCount = integer(0, limits.slotsMax)
const startReminderMs = 3_000
/** Delay between two tries to declare schedules that the store may have lost. */
const declareAgainMs = 1_000
const startHint = 'Call await runtime.start(). For a process that only enqueues use createClient.'

export class WorkerRuntime extends StoreClient implements Runtime {
  readonly id: string
  readonly actor: Actor<typeof runtimeMachine>
  private readonly settings: RuntimeSettings
  private readonly worker: Worker
  private readonly retriedStart: RetriedStart
  private readonly pauses = new Pauses(() => this.resumePicking())
  private readonly stoppedError = stopped()
  private allowed = { accept: true, pick: false }
  private starting: Promise<void> | null = null
  /** Set from the first enqueue until `start` is called. */
  private startReminder: Timer | null = null
  /** Set while schedules could not be declared again. */
  private declareTimer: Timer | null = null
  private stopping: { readonly wait: Shutdown; readonly report: Promise<StopReport> } | null = null

  constructor(store: Store, settings: RuntimeSettings) {
    super(store, settings)
    this.id = settings.newId()
    this.settings = settings
    this.actor = createActor(runtimeMachine)
    this.actor.subscribe((snapshot) => {
      const pick = snapshot.hasTag('picks')
      const before = this.allowed.pick
      const pickingBegins = pick && !before
      this.allowed = { accept: snapshot.hasTag('accepts'), pick }
      // Hints that came while nothing was picked (idle, paused) are not repeated.
      if (pickingBegins) this.worker.nudge()
      if (pick !== before) void this.worker.announceChange()
    })
    this.actor.start()
    this.worker = new Worker({
      id: this.id,
      settings,
      connection: this.connection,
      halted: () => (this.allowed.pick ? null : this.stoppedError),
      storeError: (error) => this.storeAnswers(error),
      changed: () => this.checkWaits(),
    })
    this.connection.onHint(({ kind }) => {
      if (kind === 'rollback' || kind === 'restart') void this.declareAgain()
    })
    const { logger } = settings
    const { timers } = this.connection
    this.retriedStart = new RetriedStart({ timers, logger, storeError: (error) => this.storeAnswers(error) })
  }

  get state(): RuntimeState {
    return this.actor.getSnapshot().value
  }

  get storeError(): Error | null {
    const { storeError } = this.actor.getSnapshot().context
    return storeError instanceof Error ? storeError : null
  }

  get state$(): Stream<RuntimeState> {
    return statesOf<RuntimeState>(this.actor, this.settings.logger)
  }

  get concurrency(): number {
    return this.worker.permits.slots
  }

  set concurrency(slots: number) {
    this.worker.permits.slots = slotCount(slots, 'concurrency')
    void this.worker.announceChange()
    this.worker.nudge()
  }

  start(options: StartOptions = {}): Promise<void> {
    if (this.stopping !== null) return Promise.reject(stopped())
    return (this.starting ??= this.startOnce(options))
  }

  async pause(options: PauseOptions = {}): Promise<void> {
    const { signal, idle } = pauseOptions(options, 'options of pause')
    if (signal?.aborted) throw new AbortError('the pause was aborted', signal.reason)
    if (!this.actor.getSnapshot().hasTag('pausable')) throw this.notAccepted('pause')
    const pause = this.pauses.begin({ signal, idle })
    this.actor.send({ type: 'PAUSE' })
    const claimed = this.worker.holdBack(null, paused('the runtime'))
    await pause.during(idle ? claimed.then(() => this.worker.idle()) : claimed)
  }

  async resume(): Promise<void> {
    if (!this.actor.getSnapshot().hasTag('pausable')) throw this.notAccepted('resume')
    this.pauses.end()
    this.resumePicking()
  }

  async drain(options: DrainOptions = {}): Promise<boolean> {
    const { timeout: timeoutMs, signal, retries } = drainOptions(options, 'options of drain')
    if (signal?.aborted) throw new AbortError('drain was aborted', signal.reason)
    const { timers, follow } = this.connection
    if (timers.closed) return false
    const wait = (drained: () => void): (() => void) => {
      const off = this.worker.drains.wait({ retries }, drained)
      this.worker.batches.flush(null)
      return off
    }
    return waitForDrain({ ready: this.connection.ready(), wait, timers, onEnd: follow.onEnd, timeoutMs, signal })
  }

  async stop(options: StopOptions = {}): Promise<StopReport> {
    const { mode: asked, timeoutMs, graceMs, retries } = stopLimits(options, this.settings.graceMs)
    const mode = asked === 'drain' && !this.actor.getSnapshot().hasTag('drainable') ? 'finish' : asked
    if (this.stopping === null) {
      const { worker } = this
      const { timers } = this.connection
      const wait = new Shutdown({ worker, scope: { retries }, timers, halt: () => this.halt() }, mode)
      this.stopping = { wait, report: this.stopOnce(wait, mode, timeoutMs, graceMs) }
    } else {
      if (this.state === 'draining') this.actor.send({ type: 'STOP', mode })
      this.stopping.wait.escalate(mode, timeoutMs, graceMs)
    }
    return this.stopping.report
  }

  stopOn(signals: NodeJS.Signals | readonly NodeJS.Signals[], options: StopOptions = {}): () => void {
    stopLimits(options, this.settings.graceMs)
    return stopOnSignals(this, signals, options, this.settings)
  }

  async stats(): Promise<RuntimeStats> {
    const figures = this.state === 'stopped' ? [] : await this.queueFigures()
    const { permits, abandoned, unsupported } = this.worker
    // It may have stopped meanwhile.
    const { state } = this
    const { slots, queues } = state === 'stopped' ? { slots: 0, queues: [] } : { slots: permits.slots, queues: figures }
    return {
      state,
      storeError: this.storeError,
      concurrency: slots,
      taken: permits.taken,
      running: this.worker.runs.size,
      abandoned,
      unsupportedVersions: unsupported.count,
      queues,
    }
  }

  private async queueFigures(): Promise<readonly QueueStats[]> {
    await this.connection.ready()
    const types = [...this.settings.jobs.keys()]
    const known = new Map((await this.store.queues()).map((info) => [info.type, info]))
    const infos = types.map((type) => known.get(type) ?? emptyQueue(type))
    return infos.map(queueStats(this.settings.jobs, this.given(), await figuresIn(this.store, infos)))
  }

  override async workers(options?: WorkersOptions): Promise<WorkerRecord[]> {
    return this.state === 'stopped' ? [this.worker.stoppedRecord()] : super.workers(options)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  protected override get fires(): boolean {
    return true
  }

  protected override refusing(): JobchartError | null {
    return this.allowed.accept ? null : stopped()
  }

  /** In virtual time, a handler that runs a job of its own type fails before a queue is full of such handlers. */
  protected override refusingRun(job: JobDefinition): JobchartError | null {
    const caller = this.settings.clock.isVirtual === true ? this.connection.waits.run : undefined
    // Of what is no definition, the enqueue says so.
    if (caller === undefined || caller.claimed.type !== job?.type) return null
    const { type } = job
    const message = `job ${caller.claimed.id} (${type}) runs a job of its own type and awaits it: when all slots do so, none goes on`
    return new JobchartError('NOT_ACCEPTED', message, { hint: slotHint })
  }

  protected override submitCancel(request: CancelRequest, priority: number): Promise<CancelAnswer> {
    return this.worker.stopped ? super.submitCancel(request, priority) : this.worker.cancel(request, priority)
  }

  protected override submitBatches(terms: CancelTerms, priority: number): SubmitBatch {
    const submit = super.submitBatches(terms, priority)
    return (ask) => (this.worker.stopped ? submit(ask) : this.worker.cancelBatch(terms, priority, ask))
  }

  protected override given(): ReadonlyMap<string, number> {
    return this.worker.selector.given()
  }

  protected override topKeys(type: string, count: number): readonly { readonly key: string; readonly picks: number }[] {
    return this.worker.selector.topKeys(type, count)
  }

  protected override queuePaused(type: string): Promise<void> {
    return this.worker.holdBack(type, paused(`queue ${type}`))
  }

  protected override stored(): void {
    if (this.starting !== null || this.stopping !== null || this.startReminder !== null) return
    // The end of the process loses the jobs of a memory store: the timer keeps it alive until the warning.
    const keepAlive = !this.store.capabilities.durable
    const remind = (): void => void this.remindOfStart()
    this.startReminder = this.connection.timers.after(startReminderMs, remind, keepAlive)
  }

  protected override answered(): void {
    this.checkWaits()
  }

  /** A run or a write has ended: a drain or a stop may have waited for nothing else. */
  private checkWaits(): void {
    this.worker.drains.check()
    this.stopping?.wait.check()
  }

  private resumePicking(): void {
    if (this.state === 'paused') this.actor.send({ type: 'RESUME' })
  }

  /** Ends the drain of a stop: nothing more is picked. */
  private halt(): void {
    if (this.state === 'draining') this.actor.send({ type: 'STOP', mode: 'finish' })
  }

  /** Warns once. If another process has taken the jobs, the next enqueue sets the reminder again. */
  private async remindOfStart(): Promise<void> {
    const { logger, jobs } = this.settings
    try {
      const [queued] = await this.list({ type: [...jobs.keys()], state: 'queued', limit: 1 })
      if (this.starting !== null || this.stopping !== null) return
      if (queued === undefined) this.startReminder = null
      else logger.warn('jobs are queued, but this runtime was not started', { type: queued.type, hint: startHint })
    } catch (error) {
      this.startReminder = null
      logger.debug('the check for queued jobs before start() failed', { error })
    }
  }

  /** @param error of a call to the store that failed; undefined: it answers again */
  private storeAnswers(error: unknown): void {
    this.actor.send(error === undefined ? { type: 'STORE_BACK' } : { type: 'STORE_LOST', error })
  }

  private async startOnce(options: StartOptions): Promise<void> {
    const { retry } = startOptions(options, 'options of start')
    if (this.stopping !== null) throw stopped()
    this.startReminder?.cancel()
    this.actor.send({ type: 'START' })
    try {
      await this.retriedStart.run(() => this.open(), retry)
    } catch (error) {
      if (this.stopping === null) this.actor.send({ type: 'FAILED', error })
      else if (retry) throw stopped()
      throw error
    }
    if (this.stopping !== null) throw stopped()
    this.actor.send({ type: 'STARTED' })
  }

  private async open(): Promise<void> {
    await this.connection.ready()
    await this.declareSchedules()
    await this.worker.start()
  }

  private async declareSchedules(): Promise<void> {
    const { schedules, scheduleOwner, retireSchedules, logger } = this.settings
    const known = this.connection.schedules
    if (schedules.length > 0) await known.declare(schedules, scheduleOwner)
    if (!retireSchedules) return
    const names = await known.retire(scheduleOwner, schedules)
    if (names.length > 0) logger.info('schedules that are declared no longer were removed', { names })
  }

  /** The store may have lost schedules that have been declared. Repeated until it answers. */
  private async declareAgain(): Promise<void> {
    const { settings, connection, starting, stopping } = this
    if (starting === null || stopping !== null || settings.schedules.length === 0) return
    this.declareTimer?.cancel()
    const failure = 'schedules could not be declared again; it is repeated'
    try {
      await this.declareSchedules()
      connection.repeated.succeeded(failure)
    } catch (error) {
      connection.repeated.failed(failure, { error })
      this.declareTimer = connection.timers.after(declareAgainMs, () => void this.declareAgain(), false)
    }
  }

  private async stopOnce(wait: Shutdown, mode: StopMode, timeoutMs: number, graceMs: number): Promise<StopReport> {
    this.actor.send({ type: 'STOP', mode })
    this.pauses.end()
    this.connection.inserter.refuseWaiting(stopped())
    this.retriedStart.cancel()
    const { connection, worker, starting, id } = this
    worker.batches.flush(null)
    const { lost } = worker
    const { inTime, deadline } = await wait.wait(timeoutMs, graceMs)
    const completed = inTime && worker.abandoned === 0 && worker.lost === lost
    const dropped = await shutdown({ connection, worker, id, starting: starting ?? Promise.resolve(), deadline })
    this.actor.send({ type: 'STOPPED' })
    // `abandoned` is read again: an abandoned handler may have ended meanwhile.
    return { completed, running: worker.abandoned + worker.threads.size, dropped }
  }

  private notAccepted(what: string): JobchartError {
    return new JobchartError('NOT_ACCEPTED', `the runtime cannot ${what} while it is ${this.state}`, {
      hint: 'The runtime must be running or paused: await start() first. A stopped runtime cannot be started again.',
    })
  }
}

/** The reason for releasing a claimed job before its start. */
const paused = (what: string): JobchartError => new JobchartError('STOPPED', `${what} was paused`)
