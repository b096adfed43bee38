/**
 * The worker: creates the parts of a running runtime and connects them by `pipeline.ts`. Every command passes through
 * the lanes control · cancel · settle · start · wake · idle. Each part is described in its own file.
 */
import type { Subscription } from 'rxjs'
import type { JobchartError } from '../core/errors.ts'
import type { RuntimeSettings } from '../core/settings.ts'
import { claimable } from '../core/transition.ts'
import type { CancelAnswer, CancelRequest, Hint, WorkerRecord } from '../store.ts'
import { Batches } from './batches.ts'
import { Canceller } from './cancel.ts'
import { Checkpoints } from './checkpoints.ts'
import { Claimer } from './claim.ts'
import {
  Commands,
  type ControlCommand,
  type IdleCommand,
  type CancelCommand,
  type WorkerCommand,
  type StartCommand,
  type WakeCommand,
} from './commands.ts'
import { Confirmer } from './confirm.ts'
import { DefinitionCheck } from './definition-check.ts'
import { DrainWatcher } from './drain.ts'
import { watchedHealth } from './health.ts'
import { Heartbeat, leaseLost } from './heartbeat.ts'
import { InboxChecks } from './inbox-checks.ts'
import { Lane } from './lanes.ts'
import { LeaseClock } from './lease-clock.ts'
import { pipeline } from './pipeline.ts'
import { RemoteCancels } from './remote-cancels.ts'
import { Peers } from './peers.ts'
import { Permits } from './permits.ts'
import type { Run, RunServices } from './attempt.ts'
import { Runs } from './runs.ts'
import { Selector } from './select.ts'
import { Settler } from './settle.ts'
import { runServices } from './run-services.ts'
import { Threads } from './threads.ts'
import { SlotWaits } from './slot-waits.ts'
import { ScheduleFirer } from './schedules.ts'
import { Sweeper, type Swept } from './sweep.ts'
import type { Connection } from '../client/connection.ts'
import { UnsupportedVersions } from './unsupported-versions.ts'
import { workerInfo, type WorkerLoad } from './worker-info.ts'

const claimableStates = [...claimable]

interface WorkerOptions {
  readonly id: string
  readonly settings: RuntimeSettings
  readonly connection: Connection
  /** Why no job may start now; null if jobs may. */
  readonly halted: () => JobchartError | null
  /** Called when work has ended. */
  readonly changed: () => void
  /** Called with the error when the store stops to answer, and with undefined when it answers again. */
  readonly storeError: (error: unknown) => void
}

export class Worker {
  readonly permits: Permits
  readonly selector: Selector
  readonly runs = new Runs()
  /** Of jobs whose handlers run in threads. */
  readonly threads: Threads
  /** Of jobs whose handlers take several at once. */
  readonly batches: Batches
  readonly drains: DrainWatcher
  /** Was `stop` called? */
  stopped = false
  /** Number of abandoned handlers that have not ended. */
  abandoned = 0
  readonly unsupported: UnsupportedVersions
  private readonly options: WorkerOptions
  private readonly commands = new Commands()
  private readonly attempts: Subscription
  private readonly claimer: Claimer
  private readonly canceller: Canceller
  private readonly confirmer: Confirmer
  private readonly settler: Settler
  private readonly heartbeat: Heartbeat
  private readonly sweeper: Sweeper
  private readonly firer: ScheduleFirer
  private readonly definitionCheck: DefinitionCheck
  private readonly peers: Peers
  private readonly slotWaits: SlotWaits
  private readonly remoteCancels: RemoteCancels
  private startedAt = 0
  /** Its record in the list of workers; null before the start. */
  private announced: WorkerLoad | null = null
  /** May the store lack that record, and how long ended jobs of its types are kept? */
  private mayBeUnknown = true
  /** Ended runs in the settle lane. */
  private unsettled = 0
  private readonly idleWaiters: (() => void)[] = []

  constructor(options: WorkerOptions) {
    this.options = options
    const { id: worker, settings, connection, halted } = options
    const { store, hub, timers } = connection
    const { jobs, leaseMs, logger, random, clock, graceMs } = settings
    const { runs, commands } = this
    const shared = {
      jobs,
      store,
      // Answers after the stop are ignored.
      health: watchedHealth((error) => void (this.stopped || options.storeError(error))),
      worker,
      hub,
      runs,
      leaseMs,
      timers,
      logger,
      time: new LeaseClock(clock),
    }
    this.unsupported = new UnsupportedVersions(logger)
    this.permits = new Permits(settings.concurrency)
    this.slotWaits = new SlotWaits({ ...shared, permits: this.permits, waits: connection.waits })
    const slots = (): number => this.permits.slots
    this.threads = new Threads({ slots, timers, logger })
    this.batches = new Batches({ slots, timers, isHurried: () => halted() !== null || this.drains.isAwaited })
    this.selector = new Selector({
      jobs: jobs.values(),
      selection: settings.selection,
      random,
      now: () => clock.monotonic(),
      logger,
    })
    this.canceller = new Canceller({ ...shared, graceMs, ...this.cancelServices() })
    this.sweeper = new Sweeper({
      ...shared,
      look: () => void this.wakeQueuesWithWork(),
      fire: () => void this.firer.fire(),
      mayRescue: () => this.heartbeat.mayRescue,
      whenHandled: (apply) => this.commands.next({ lane: Lane.idle, apply }),
    })
    this.firer = new ScheduleFirer(connection)
    this.drains = new DrainWatcher({
      store,
      types: new Set(jobs.keys()),
      timers,
      logger,
      busy: () => this.hasWork || this.canClaim,
      promote: () => this.promote(),
    })
    this.definitionCheck = new DefinitionCheck(shared)
    this.peers = new Peers(shared)
    this.heartbeat = new Heartbeat({
      ...shared,
      cancelling: (run, answer) => this.canceller.cancelRun(run, answer),
      lost: (run) => this.fence(run),
      announce: async (wasSilent) => {
        this.mayBeUnknown ||= wasSilent
        if (this.hasChanged) await this.announce()
      },
    })
    this.settler = new Settler({ ...shared, random, settled: () => this.changed() })
    const { permits, selector, canceller } = this
    this.confirmer = new Confirmer(shared)
    this.claimer = new Claimer({
      ...shared,
      startedAt: () => this.startedAt,
      permits,
      selector,
      canceller,
      confirmer: this.confirmer,
      commands,
      services: this.runServices(),
      halted,
      changed: () => this.changed(),
    })
    const { claimer, heartbeat } = this
    this.remoteCancels = new RemoteCancels({ runs, canceller, heartbeat, claiming: () => claimer.busy })
    this.attempts = this.dispatch()
    this.listen()
  }

  private listen(): void {
    const { commands } = this
    const { connection } = this.options
    connection.onHint((hint) => this.hint(hint))
    connection.onInsert((type, atMost) => commands.next({ lane: Lane.wake, type, atMost, isExpected: true }))
    connection.waits.onWait(() => this.slotWaits.check())
  }

  /** Connects the dispatcher to the parts. */
  private dispatch(): Subscription {
    const { claimer, commands } = this
    const { clock, logger } = this.options.settings
    return commands
      .pipe(
        pipeline({
          clock,
          handle: (lane, batch, waits) => this.handle(lane, batch, waits),
          select: () => claimer.pick(),
          claim: (claim, answered) => claimer.send(claim, answered),
          failed: (error) => logger.error('a command of the dispatcher failed; it continues with the next', { error }),
        }),
      )
      .subscribe((start) => commands.next(start))
  }

  private cancelServices(): Pick<ConstructorParameters<typeof Canceller>[0], 'answered' | 'lastClaim'> {
    return { answered: () => this.afterCancels(), lastClaim: () => this.claimer.lastClaim }
  }

  /** Is there a run, a claim in flight, or an end that is not written yet? */
  get busy(): boolean {
    return this.runs.size > 0 || this.unsettled > 0 || this.claimer.busy || this.settler.inFlight > 0
  }

  /** As `busy`; or does an insert of this process wait for its answer? */
  get hasWork(): boolean {
    return this.busy || this.options.connection.inserter.pending > 0
  }

  /** Could a pick find a job now? */
  get canClaim(): boolean {
    return !this.selector.idle && this.permits.free > 0 && this.options.halted() === null
  }

  /** Registers the worker in the store and starts to pick. */
  async start(): Promise<void> {
    const { id, settings, connection } = this.options
    this.startedAt = connection.store.now()
    const load = { slots: this.permits.slots, paused: false }
    await this.announce(load)
    if (this.stopped) return
    this.heartbeat.start()
    this.sweeper.start()
    this.firer.start()
    this.definitionCheck.start()
    this.peers.start(workerInfo(id, settings, load, this.startedAt))
    void this.wakeQueuesWithWork()
  }

  /**
   * Writes the worker's record again if its slots have changed, or it was paused or resumed: jobs may be handed over to
   * it, or not.
   */
  async announceChange(): Promise<void> {
    if (this.stopped || !this.hasChanged) return
    try {
      await this.announce()
    } catch (error) {
      // The next heartbeat repeats it.
      this.options.settings.logger.debug('the record of the worker could not be written', { error })
    }
  }

  private get load(): WorkerLoad {
    return { slots: this.permits.slots, paused: this.options.halted() !== null }
  }

  private get hasChanged(): boolean {
    const { announced, load } = this
    return (
      announced !== null && (this.mayBeUnknown || announced.slots !== load.slots || announced.paused !== load.paused)
    )
  }

  /**
   * Writes what the store is to know of this worker: how long ended jobs of its types are kept, if it may not know
   * that, and its record.
   */
  private async announce(load = this.load): Promise<void> {
    const { id, settings, connection } = this.options
    const { mayBeUnknown } = this
    this.mayBeUnknown = false
    try {
      if (mayBeUnknown) await connection.store.retain(settings.retention)
      await connection.store.worker(id, workerInfo(id, settings, load, this.startedAt))
    } catch (error) {
      this.mayBeUnknown = true
      throw error
    }
    this.announced = load
  }

  /** The store may have lost what has no transition, and may have other jobs queued or waiting than before. */
  private storeChanged(): void {
    this.mayBeUnknown = true
    void this.announceChange()
    void this.wakeQueuesWithWork()
    this.definitionCheck.repeat()
  }

  /** Asks the store which queues have work. With thousands of types this is cheaper than a claim from each. */
  private async wakeQueuesWithWork(): Promise<void> {
    try {
      for (const { type, paused, counts } of await this.options.connection.store.queues()) {
        if (!paused && claimableStates.some((state) => counts[state] > 0)) this.selector.wake(type)
      }
    } catch (error) {
      // The claims that follow report it, and are repeated until the store answers.
      this.options.settings.logger.debug('could not ask for the queues that have work', { error })
      this.selector.wakeAll()
    }
    if (!this.stopped) this.nudge()
  }

  /** Stops the periodic parts and the dispatcher. All runs must have ended. */
  async stop(): Promise<void> {
    this.heartbeat.stop()
    this.sweeper.stop()
    this.firer.stop()
    this.definitionCheck.stop()
    this.peers.stop()
    this.stopped = true
    // Commands given before are still handled.
    await new Promise<void>((resolve) => this.commands.next({ lane: Lane.idle, apply: resolve }))
    this.attempts.unsubscribe()
    this.claimer.close()
    this.answerIdle()
  }

  /** Its record after the stop, when it is in the list of workers no more. */
  stoppedRecord(): WorkerRecord {
    const { id, settings, connection } = this.options
    const info = workerInfo(id, settings, { slots: 0, paused: true }, this.startedAt)
    return { ...info, seenAt: connection.store.now(), lost: false, running: [] }
  }

  /** Queues the jobs that are due now, if the worker was started. */
  promote(): Promise<Swept> {
    return this.sweeper.promote()
  }

  /** Triggers a pick, after `apply`. */
  nudge(apply: () => void = () => {}): void {
    this.commands.next({ lane: Lane.control, apply })
  }

  /**
   * For a pause: claimed jobs of this type (null: of all types) that have not started are released, and those that wait
   * for their batch run at once. Resolves when no claim is in flight.
   */
  holdBack(type: string | null, reason: JobchartError): Promise<void> {
    for (const run of this.runs.all()) {
      if (!run.hasBegun && (type === null || run.claimed.type === type)) run.abort(reason)
    }
    this.batches.flush(type)
    this.claimer.holdBack(type, reason)
    return this.claimer.whenIdle()
  }

  /** Resolves when no job runs and every end is written, or the worker has stopped. */
  idle(): Promise<void> {
    return this.busy && !this.stopped
      ? new Promise((resolve) => void this.idleWaiters.push(resolve))
      : Promise.resolve()
  }

  cancel(request: CancelRequest, priority: number): Promise<CancelAnswer> {
    return new Promise((resolve, reject) => {
      this.commands.next({ lane: Lane.cancel, request, priority, resolve, reject })
    })
  }

  /** Aborts every run, and abandons those that have not ended after `graceMs`. */
  abort(reason: JobchartError, graceMs: number): void {
    for (const run of this.runs.all()) {
      run.abort(reason)
      run.abandonAfter(graceMs)
    }
    // A test that awaits the stop cannot advance its clock meanwhile.
    this.options.settings.clock.pass?.(graceMs, () => this.runs.size > 0)
  }

  private hint(hint: Hint): void {
    if (hint.kind === 'ready') {
      this.commands.next({ lane: Lane.wake, type: hint.type, atMost: hint.atMost ?? Infinity })
    } else if (hint.kind === 'due') this.sweeper.due(hint.at)
    else if (hint.kind === 'schedule') this.firer.due(hint.at)
    else if (hint.kind === 'bulk') this.sweeper.bulk(hint.id)
    else if (hint.kind === 'ended') this.sweeper.ended(hint.ids?.length ?? 1)
    else if (hint.kind === 'messages') this.remoteCancels.messagesArrived(hint.ids)
    // Leases that are gone are noticed by the next heartbeat.
    else if (hint.kind === 'rollback' || hint.kind === 'restart') this.storeChanged()
    else if (hint.kind === 'missed') void this.wakeQueuesWithWork()
    else if (hint.kind === 'cancelled') this.remoteCancels.cancelled(hint.ids)
  }

  private handle(lane: number, batch: readonly WorkerCommand[], waits: (lane: number) => boolean): void {
    // All commands of a lane have the same kind.
    if (lane === Lane.settle) {
      this.unsettled -= batch.length
      this.settler.settle(batch as readonly Run[])
    } else if (lane === Lane.start)
      this.claimer.start(batch as readonly StartCommand[], () => waits(Lane.control) || waits(Lane.cancel))
    else if (lane === Lane.cancel) this.canceller.cancel(batch as readonly CancelCommand[])
    else if (lane === Lane.wake) {
      for (const { type, atMost, isExpected = false } of batch as readonly WakeCommand[]) {
        if (isExpected) this.selector.expect(type, atMost)
        else this.selector.wake(type, atMost)
      }
    } else for (const command of batch as readonly (ControlCommand | IdleCommand)[]) command.apply()
  }

  private afterCancels(): void {
    if (!this.canceller.inFlight) {
      this.canceller.forget(this.claimer.oldestClaim)
      this.claimer.resume()
      this.remoteCancels.confirm()
    }
    this.changed()
  }

  private changed(): void {
    if (!this.busy) this.answerIdle()
    this.options.changed()
  }

  private answerIdle(): void {
    for (const resolve of this.idleWaiters.splice(0)) resolve()
  }

  private fence(run: Run): void {
    run.abort(leaseLost(run))
    run.abandonAfter(this.options.settings.graceMs)
  }

  private runServices(): RunServices {
    const { id: worker, settings, connection } = this.options
    const { store, hub, timers } = connection
    const { heartbeat } = this
    const { graceMs, random, inspect } = settings
    const cancel = (request: CancelRequest): Promise<unknown> => this.cancel(request, 0)
    return {
      middleware: settings.middleware,
      logger: settings.logger,
      timers,
      threads: this.threads,
      batches: this.batches,
      waits: connection.waits,
      enqueue: (job, input, options) => connection.enqueue(job, input, options, true),
      ended: (run) => {
        if (run.machineResult?.kind === 'unsupported') this.unsupported.note(run.claimed, run.machineResult)
        this.runs.remove(run)
        this.permits.give(1)
        this.unsettled++
        this.commands.next(run)
      },
      abandoned: (change) => (this.abandoned += change),
      confirm: (run) => {
        if (this.confirmer.isDue(run)) this.confirmer.confirm([run])
      },
      ...runServices({
        store,
        worker,
        hub,
        timers,
        heartbeat,
        checkpoints: new Checkpoints({ store, timers }),
        inboxChecks: new InboxChecks({ heartbeat, timers }),
        enqueueChild: (...child) => connection.enqueueChild(...child),
        cancel,
        graceMs,
        random,
        inspect,
      }),
    }
  }
}
