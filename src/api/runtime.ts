/**
 * The runtime: a client with a worker, and a life of its own (`machines/runtime.machine.ts`).
 *
 *   enqueue ─▶ insert ─▶ [store: queued] ─▶ wake ─▶ dispatch: cancels first, then settles, then picks
 *                                                        select (weights) ∩ permits (slots, semaphores)
 *                                                             │ demand
 *                                                        claim ─▶ run (middleware, handler) ─▶ how it ended
 *                                                                                                  │
 *   events ◀── after commit ── [store: next state] ◀── settle (conditional on the token) ◀── decide (chart)
 *   sweep: promote what is due · rescue expired leases · fire schedules · prune
 */
import { nanoid } from 'nanoid'
import { createActor, type Actor } from 'xstate'
import { runtimeMachine, type StopMode } from '../../machines/runtime.machine.ts'
import { checkInteger } from '../core/checks.ts'
import { Client } from './client.ts'
import type { Timer } from '../core/clock.ts'
import { AbortError, JobchartError } from '../core/errors.ts'
import { DrainWatcher, waitForDrain } from '../worker/drain.ts'
import { Pauses } from '../worker/pauses.ts'
import { stopOnSignals } from '../worker/signals.ts'
import { statesOf } from '../client/states.ts'
import { Shutdown, stopped, shutdown } from '../worker/shutdown.ts'
import type { Stream } from '../core/stream.ts'
import { Worker } from '../worker/worker.ts'
import {
  drainLimits,
  pauseLimits,
  stopLimits,
  type DrainOptions,
  type PauseOptions,
  type StopOptions,
  type StopReport,
} from '../core/call-options.ts'
import { limits } from '../core/limits.ts'
import { runtimeSettings, type RuntimeOptions } from './options.ts'
import { type RuntimeSettings } from '../core/settings.ts'
import type { RuntimeState, RuntimeStats } from './runtime-stats.ts'
import type { CancelAnswer, CancelRequest, Hint, Store } from '../store.ts'

/** A runtime that has stored jobs is expected to be started within this time, ms. */
const startReminderMs = 3_000
const startHint = 'Call await runtime.start(). For a process that only enqueues use createClient.'

export class Runtime extends Client {
  /** This runtime in the workers' list, and in the events it causes. */
  readonly id: string = nanoid()
  /** The live XState actor of the runtime's chart: subscribe to it, wait for it, embed it. */
  readonly actor: Actor<typeof runtimeMachine>
  private readonly settings: RuntimeSettings
  private readonly worker: Worker
  private readonly drains: DrainWatcher
  private readonly pauses = new Pauses(() => this.resumePicking())
  private readonly haltedBecause = stopped()
  private may = { accept: true, pick: false }
  private starting: Promise<void> | null = null
  /** Set while jobs were stored and nobody has called `start`. */
  private startReminder: Timer | null = null
  private stopping: { readonly wait: Shutdown; readonly report: Promise<StopReport> } | null = null

  constructor(store: Store | undefined, settings: RuntimeSettings) {
    super(store, settings)
    this.settings = settings
    const { hub, timers } = this.connection
    this.actor = createActor(runtimeMachine)
    this.actor.subscribe((snapshot) => {
      const pick = snapshot.hasTag('picks')
      const begins = pick && !this.may.pick
      this.may = { accept: snapshot.hasTag('accepts'), pick }
      // What was enqueued while nothing was picked (idle, paused) has been heard of, and nothing else says so again.
      if (begins) this.worker.nudge()
    })
    this.actor.start()
    this.worker = new Worker({
      id: this.id,
      settings,
      store: this.store,
      hub,
      timers,
      enqueue: (job, input, options) => this.connection.enqueue(job, input, options, true),
      enqueueChild: (...child) => this.connection.enqueueChild(...child),
      firing: {
        schedules: this.connection.schedules,
        mayFire: () => this.may.accept,
        inserted: (jobs, answers) => this.connection.inserted(jobs, answers),
      },
      halted: () => (this.may.pick ? null : this.haltedBecause),
      storeError: (error) =>
        this.actor.send(error === undefined ? { type: 'STORE_BACK' } : { type: 'STORE_LOST', error }),
      changed: () => {
        this.drains.check()
        this.stopping?.wait.check()
      },
    })
    this.drains = new DrainWatcher({
      store: this.store,
      types: new Set(settings.jobs.keys()),
      timers,
      logger: settings.logger,
      busy: () => this.busy() || this.worker.canClaim,
      promote: () => this.worker.promote(),
    })
  }

  get state(): RuntimeState {
    return this.actor.getSnapshot().value
  }

  /** Why its store does not answer at present, or null; it goes on trying. `actor` emits when that begins and is over. */
  get storeError(): Error | null {
    const { trouble } = this.actor.getSnapshot().context
    return trouble instanceof Error ? trouble : null
  }

  /** Its state now, then each change; completes when it has stopped. */
  get state$(): Stream<RuntimeState> {
    return statesOf<RuntimeState>(this.actor, this.settings.logger)
  }

  /** Slots: jobs at once in this process. Set it to grow or shrink; what runs goes on. 0…1,000,000. */
  get concurrency(): number {
    return this.worker.permits.slots
  }

  set concurrency(slots: number) {
    checkInteger('concurrency', slots, 0, limits.slotsMax)
    this.worker.permits.slots = slots
    this.worker.nudge()
  }

  /**
   * Opens the store and begins to pick. Calling it again is harmless.
   * @throws JobchartError STORE_UNAVAILABLE (the state is `failed` then), STOPPED
   */
  start(): Promise<void> {
    if (this.stopping !== null) return Promise.reject(stopped())
    return (this.starting ??= this.startOnce())
  }

  /**
   * Picks nothing more in this process; what runs goes on. After this has resolved nothing starts: a job that was claimed and
   * has not started is released, its attempt not spent. The pause lasts until `resume()`; one with a `signal` ends when that
   * aborts, if no other pause lasts.
   * @throws JobchartError NOT_ACCEPTED unless it is running or paused, INVALID_OPTION; AbortError if `signal` has aborted, or
   *   the pause ends while it waits for `idle`
   * @example await runtime.pause({ idle: true }) // no job runs now
   */
  async pause(options: PauseOptions = {}): Promise<void> {
    const { signal, idle } = pauseLimits(options)
    if (signal?.aborted) throw new AbortError('the pause was aborted', signal.reason)
    if (this.state !== 'running' && this.state !== 'paused') throw this.notAccepted('pause')
    const pause = this.pauses.begin({ signal, idle })
    this.actor.send({ type: 'PAUSE' })
    const claimed = this.worker.holdBack(null, paused('the runtime'))
    await pause.during(idle ? claimed.then(() => this.worker.idle()) : claimed)
  }

  /** Ends every pause of this runtime. @throws JobchartError NOT_ACCEPTED unless it is running or paused */
  async resume(): Promise<void> {
    if (this.state !== 'running' && this.state !== 'paused') throw this.notAccepted('resume')
    this.pauses.end()
    this.resumePicking()
  }

  /**
   * Waits until the work of this runtime's types is done, in whichever process: nothing is queued and nothing runs. What
   * waits for a later time (scheduled, the backoff of a retry) or an event, or is queued in a paused queue, is not waited for;
   * with `retries`, jobs that are to be retried are. New jobs are accepted all the while.
   * @returns false if `timeout` passed, or the runtime stopped, before all was done
   * @throws AbortError if `signal` aborts; JobchartError INVALID_OPTION, STORE_UNAVAILABLE
   */
  async drain(options: DrainOptions = {}): Promise<boolean> {
    const { timeoutMs, signal, retries } = drainLimits(options)
    if (signal?.aborted) throw new AbortError('drain was aborted', signal.reason)
    await this.connection.ready()
    const { timers, follow } = this.connection
    return waitForDrain(this.drains, { timers, onEnd: follow.onEnd, timeoutMs, signal, retries })
  }

  /**
   * Stops for good; never takes longer than `timeout` (and two seconds for the last writes). Further calls join the first; a
   * harder mode or an earlier timeout takes effect.
   * @throws JobchartError INVALID_OPTION
   */
  async stop(options: StopOptions = {}): Promise<StopReport> {
    const { mode: asked, timeoutMs, graceMs, retries } = stopLimits(options, this.settings.graceMs)
    // A runtime that does not run drains nothing.
    const mode = asked === 'drain' && !['running', 'paused', 'draining'].includes(this.state) ? 'finish' : asked
    if (this.stopping === null) {
      const { worker, drains } = this
      const { timers } = this.connection
      const [busy, halt] = [() => this.busy(), () => this.halt()]
      const wait = new Shutdown({ worker, drains, scope: { retries }, timers, busy, halt }, mode)
      this.stopping = { wait, report: this.stopOnce(wait, mode, timeoutMs, graceMs) }
    } else {
      if (this.state === 'draining') this.actor.send({ type: 'STOP', mode })
      this.stopping.wait.escalate(mode, timeoutMs, graceMs)
    }
    return this.stopping.report
  }

  /**
   * Stops on the first of these signals, and aborts on the next; one that comes within 300 ms of the one before is taken for
   * its echo and ignored. Once stopped the process ends by itself if nothing else keeps it, or by the signal if a stuck
   * handler does. The signal handlers are removed when the runtime has stopped, however that came.
   * @param signals one, or several
   * @returns a function that removes the signal handlers before that
   * @throws JobchartError INVALID_OPTION for a name that is no signal, a signal that no process can handle (SIGKILL, SIGSTOP),
   *   and options that `stop` would refuse
   * @example runtime.stopOn(['SIGTERM', 'SIGINT'], { mode: 'finish', timeout: '30s' })
   */
  stopOn(signals: NodeJS.Signals | readonly NodeJS.Signals[], options: StopOptions = {}): () => void {
    stopLimits(options, this.settings.graceMs)
    return stopOnSignals(this, signals, options, this.settings)
  }

  /** Its state, its slots, and the figures of each queue, among them the shares that were given. */
  async stats(): Promise<RuntimeStats> {
    const queues = await Promise.all([...this.settings.jobs.keys()].map((type) => this.queue(type).stats()))
    const { permits, abandoned, unsupported } = this.worker
    return {
      state: this.state,
      storeError: this.storeError,
      concurrency: permits.slots,
      taken: permits.taken,
      running: this.worker.runs.size,
      abandoned,
      unsupportedVersions: unsupported.count,
      queues,
    }
  }

  /** The same as `stop({ mode: 'finish' })`. */
  override async close(): Promise<void> {
    await this.stop()
  }

  protected override get fires(): boolean {
    return true
  }

  protected override get cancelGraceMs(): number {
    return this.settings.graceMs
  }

  protected override refusing(): JobchartError | null {
    return this.may.accept ? null : stopped()
  }

  protected override submitCancel(request: CancelRequest, priority: number): Promise<CancelAnswer> {
    return this.worker.stopped ? super.submitCancel(request, priority) : this.worker.cancel(request, priority)
  }

  protected override given(): ReadonlyMap<string, number> {
    return this.worker.selector.given()
  }

  protected override queuePaused(type: string): Promise<void> {
    return this.worker.holdBack(type, paused(`queue ${type}`))
  }

  protected override stored(): void {
    if (this.starting !== null || this.stopping !== null || this.startReminder !== null) return
    // What the memory store holds is lost with the process, which lives until this was told.
    const keepAlive = !this.store.capabilities.durable
    const remind = (): void => void this.remindOfStart()
    this.startReminder = this.connection.timers.after(startReminderMs, remind, keepAlive)
  }

  protected override hint(hint: Hint): void {
    this.worker.hint(hint)
  }

  private resumePicking(): void {
    if (this.state === 'paused') this.actor.send({ type: 'RESUME' })
  }

  /** A drain is over: what it would still pick would be left alone. */
  private halt(): void {
    if (this.state === 'draining') this.actor.send({ type: 'STOP', mode: 'finish' })
  }

  /** Once, unless another process has taken the jobs: the next enqueue sets the reminder again then. */
  private async remindOfStart(): Promise<void> {
    const { logger, jobs } = this.settings
    try {
      const [waiting] = await this.list({ type: [...jobs.keys()], state: 'queued', limit: 1 })
      if (this.starting !== null || this.stopping !== null) return
      if (waiting === undefined) this.startReminder = null
      else logger.warn('jobs wait, and start() of this runtime was not called', { type: waiting.type, hint: startHint })
    } catch (error) {
      this.startReminder = null
      logger.debug('the jobs that wait for start() could not be looked for', { error })
    }
  }

  private busy(): boolean {
    return this.worker.busy || this.connection.inserter.pending > 0
  }

  private async startOnce(): Promise<void> {
    if (this.stopping !== null) throw stopped()
    this.startReminder?.cancel()
    this.actor.send({ type: 'START' })
    try {
      await this.connection.ready()
      await this.declareSchedules()
      await this.worker.start()
    } catch (error) {
      if (this.stopping === null) this.actor.send({ type: 'FAILED', error })
      throw error
    }
    if (this.stopping !== null) throw stopped()
    this.actor.send({ type: 'STARTED' })
  }

  private async declareSchedules(): Promise<void> {
    const { schedules, scheduleOwner, retireSchedules, logger } = this.settings
    const known = this.connection.schedules
    if (schedules.length > 0) await known.declare(schedules, scheduleOwner)
    if (!retireSchedules) return
    const names = await known.retire(scheduleOwner, schedules)
    if (names.length > 0) logger.info('schedules that are declared no longer were removed', { names })
  }

  private async stopOnce(wait: Shutdown, mode: StopMode, timeoutMs: number, graceMs: number): Promise<StopReport> {
    this.actor.send({ type: 'STOP', mode })
    this.pauses.end()
    this.connection.inserter.refuseWaiting(stopped())
    const { connection, worker, starting, id } = this
    const completed = (await wait.wait(timeoutMs, graceMs)) && worker.abandoned === 0
    const dropped = await shutdown({ connection, worker, id, starting: starting ?? Promise.resolve() })
    this.actor.send({ type: 'STOPPED' })
    // A handler that was abandoned may have ended since.
    return { completed, running: worker.abandoned, dropped }
  }

  private notAccepted(what: string): JobchartError {
    return new JobchartError('NOT_ACCEPTED', `the runtime cannot ${what} while it is ${this.state}`, {
      hint: 'Only a runtime that is running or paused can: await start() first; a stopped one stays stopped.',
    })
  }
}

/** Why a job that was claimed is released before its start. */
const paused = (what: string): JobchartError => new JobchartError('STOPPED', `${what} was paused`)

/**
 * Creates a runtime. It takes jobs at once and runs them after `start()`.
 * @throws JobchartError INVALID_OPTION
 * @example const runtime = createRuntime({ jobs: [sendEmail], concurrency: 20 })
 */
export function createRuntime(options: RuntimeOptions): Runtime {
  const settings = runtimeSettings(options)
  return new Runtime(options.store, settings)
}
