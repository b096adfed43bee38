/**
 * The worker: creates the parts of a running runtime, each from parts that were made before it, and connects them by
 * `pipeline.ts`. Each part is described in its own file.
 */
import { BehaviorSubject, Subject, type Subscription } from 'rxjs'
import type { JobchartError } from '../core/errors.ts'
import type { RuntimeSettings } from '../core/settings.ts'
import { TurnBudget } from '../core/turn-budget.ts'
import type { Answer, BulkAnswer, CancelAnswer, CancelRequest, Hint, WorkerRecord } from '../store.ts'
import type { Connection } from '../client/connection.ts'
import { enqueueFromRun } from '../client/enqueue-now.ts'
import type { RunServices } from './attempt.ts'
import { Batches } from './batches.ts'
import { cancelRun } from './cancel-jobs.ts'
import { Checkpoints } from './checkpoints.ts'
import { Claims } from './claims.ts'
import type { CancelCommand, CancelTerms, WakeCommand } from './commands.ts'
import { Confirmer } from './confirm.ts'
import { DefinitionCheck } from './definition-check.ts'
import { DrainWatcher } from './drain.ts'
import { findWork } from './find-work.ts'
import { watchedHealth } from './health.ts'
import { Heartbeat, leaseLost } from './heartbeat.ts'
import { InboxChecks } from './inbox-checks.ts'
import { Lanes } from './lanes.ts'
import { LeaseClock } from './lease-clock.ts'
import { LostClaims } from './lost-claims.ts'
import { Peers } from './peers.ts'
import { Permits } from './permits.ts'
import { pipeline } from './pipeline.ts'
import { RateWaits } from './rate-waits.ts'
import { Registration } from './registration.ts'
import { RemoteCancels } from './remote-cancels.ts'
import { writesInTransactions } from './writes-in-transactions.ts'
import { runServices } from './run-services.ts'
import { Runs } from './runs.ts'
import { ScheduleFirer } from './schedules.ts'
import { Selector } from './selector.ts'
import { SlotWaits } from './slot-waits.ts'
import { StoreCalls } from './store-calls.ts'
import { Sweeper, type Swept } from './sweep.ts'
import { Threads } from './threads.ts'
import { UnsupportedVersions } from './unsupported-versions.ts'
import { Workload } from './workload.ts'

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
  readonly unsupported: UnsupportedVersions
  /** Was `stop` called? */
  stopped = false
  /** Number of abandoned handlers that have not ended. */
  abandoned = 0
  private readonly options: WorkerOptions
  /** What enters the pipeline. */
  private readonly cancels = new Subject<CancelCommand>()
  private readonly wakes = new Subject<WakeCommand>()
  private readonly idleCalls = new Subject<() => void>()
  private readonly lanes: Lanes
  private readonly events: Subscription
  private readonly workload: Workload
  private readonly claims: Claims
  private readonly registration: Registration
  private readonly heartbeat: Heartbeat
  private readonly sweeper: Sweeper
  private readonly firer: ScheduleFirer
  private readonly definitionCheck: DefinitionCheck
  private readonly peers: Peers
  private readonly slotWaits: SlotWaits
  private readonly remoteCancels: RemoteCancels

  /** Each part is made of parts that were made before it. */
  constructor(options: WorkerOptions) {
    this.options = options
    const { id: worker, settings, connection, halted } = options
    const { store, hub, timers, waits, inserter, repeated } = connection
    const { jobs, leaseMs, telemetry, logger, clock, random, graceMs } = settings
    const { runs, cancels, wakes, idleCalls } = this
    // Answers after the stop are ignored.
    const health = watchedHealth((error) => void (this.stopped || options.storeError(error)))
    const time = new LeaseClock(clock)
    const calls = { store, health, repeated, hub, timers, logger }
    const shared = { ...calls, jobs, worker, runs, leaseMs, time, random, graceMs, halted }

    const lanes = (this.lanes = new Lanes({ budget: new TurnBudget(clock) }))
    const permits = (this.permits = new Permits(settings.concurrency))
    const { selection } = settings
    const now = (): number => clock.monotonic()
    const selector = (this.selector = new Selector({ jobs: jobs.values(), selection, random, now, logger }))
    const workload = (this.workload = new Workload(options.changed))
    const isDivided = store.confirm === undefined && store.capabilities.wholeClaims !== true
    const claims = (this.claims = new Claims({ selector, permits, workload, timers, lanes, isDivided }))

    const registration = (this.registration = new Registration({ id: worker, settings, connection, permits, halted }))
    const heartbeat = (this.heartbeat = new Heartbeat({
      ...shared,
      cancelling: (run, answer) => cancelRun(run, { ...answer, graceMs: answer.graceMs ?? graceMs }),
      lost: (run) => run.abortWithin(leaseLost(run), graceMs),
      announce: (wasSilent) => registration.renew(wasSilent),
    }))
    const firer = (this.firer = new ScheduleFirer(connection))
    const sweeper = (this.sweeper = new Sweeper({
      ...shared,
      findWork: () => void findWork({ store, jobs, wakes, logger }),
      fire: () => void firer.fire(),
      mayRescue: () => heartbeat.mayRescue,
      whenHandled: (apply) => idleCalls.next(apply),
    }))
    const mayPick = (): boolean => !selector.idle && permits.free > 0 && halted() === null
    const drains = (this.drains = new DrainWatcher({
      ...shared,
      types: new Set(jobs.keys()),
      busy: () => workload.busy || inserter.pending > 0 || mayPick(),
      promote: () => sweeper.promote(),
    }))
    const slots = (): number => permits.slots
    this.threads = new Threads({ slots, timers, logger })
    const startsAtOnce = (): boolean => halted() !== null || drains.isAwaited
    this.batches = new Batches({ slots, timers, telemetry, startsAtOnce, outside: waits.outside })
    this.unsupported = new UnsupportedVersions(logger)
    const definitionCheck = (this.definitionCheck = new DefinitionCheck(shared))
    this.peers = new Peers({ ...shared, met: (others) => definitionCheck.met(others) })
    this.slotWaits = new SlotWaits({ ...shared, permits, waits })

    const cancelling = new BehaviorSubject(false)
    this.remoteCancels = new RemoteCancels({ runs, claims, heartbeat, cancelling })
    const confirmer = new Confirmer(shared)
    const { unsupported } = this
    const rateWaits = new RateWaits({ jobs, store, timers, wakes })
    const services = this.runServices(confirmer)
    const max = (): number => (store.capabilities.groupsCalls === true ? Infinity : claims.callsMax)
    const storeCalls = new StoreCalls({ max, timers })
    const inputs = { lanes, cancels, wakes, idleCalls, cancelling, storeCalls }
    const lostClaims = new LostClaims({ ...shared, wake: (type) => wakes.next({ type, atMost: Infinity }) })
    const own = { permits, selector, workload, claims, lostClaims, registration }
    const parts = { ...own, confirmer, unsupported, rateWaits, services }
    this.events = pipeline({ ...shared, ...inputs, ...parts }).subscribe((event) => hub.emit(event))
    this.listen()
  }

  private listen(): void {
    const { connection } = this.options
    connection.onHint((hint) => this.hint(hint))
    connection.onInsert((type, atMost) => this.wakes.next({ type, atMost, isExpected: true }))
    connection.waits.onWait(() => this.slotWaits.check())
  }

  /** Does anything run, or is it written? Or does an insert of this process wait for its answer? */
  get hasWork(): boolean {
    return this.workload.busy || this.options.connection.inserter.pending > 0
  }

  /** How many jobs have run whose end could not be written. */
  get lost(): number {
    return this.workload.lost
  }

  /** Registers the worker in the store and starts to pick. */
  async start(): Promise<void> {
    const { registration, permits } = this
    await registration.begin()
    if (this.stopped) return
    this.heartbeat.start()
    this.sweeper.start()
    this.firer.start()
    this.definitionCheck.start()
    this.peers.start(registration.info({ slots: permits.slots, paused: false }))
    this.findWork()
  }

  /** Its slots have changed, or it was paused or resumed. */
  async announceChange(): Promise<void> {
    if (!this.stopped) await this.registration.announceChange()
  }

  /** The store may have lost what has no transition, and may have other jobs queued or waiting than before. */
  private storeChanged(): void {
    this.registration.lost()
    void this.announceChange()
    this.findWork()
    this.definitionCheck.repeat()
  }

  private findWork(): void {
    const { settings, connection } = this.options
    void findWork({ ...settings, store: connection.store, wakes: this.wakes })
  }

  /** Stops the periodic parts and the pipeline. All runs must have ended. */
  async stop(): Promise<void> {
    this.heartbeat.stop()
    this.sweeper.stop()
    this.firer.stop()
    this.definitionCheck.stop()
    this.peers.stop()
    this.stopped = true
    // Commands given before are still handled.
    await new Promise<void>((resolve) => this.idleCalls.next(resolve))
    this.events.unsubscribe()
    this.claims.close()
    this.workload.close()
  }

  /** Its record after the stop, when it is in the list of workers no more. */
  stoppedRecord(): WorkerRecord {
    return this.registration.stoppedRecord()
  }

  /** Queues the jobs that are due now, if the worker was started. */
  promote(): Promise<Swept> {
    return this.sweeper.promote()
  }

  /** Picks may be possible that were not before. */
  nudge(): void {
    this.lanes.nudge()
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
    this.claims.refuseTypes(type === null ? this.options.settings.jobs.keys() : [type], reason)
    return this.claims.whenEnded()
  }

  /** Resolves when no job runs and every end is written, or the worker has stopped. */
  idle(): Promise<void> {
    return this.stopped ? Promise.resolve() : this.workload.idle()
  }

  cancel(request: CancelRequest, priority: number): Promise<CancelAnswer> {
    return new Promise((resolve, reject) => {
      this.cancels.next({ request, priority, resolve, reject })
    })
  }

  /** Lets the store do a batch of an operation that cancels, before the next pick. */
  cancelBatch(terms: CancelTerms, priority: number, ask: () => Answer<BulkAnswer>): Promise<BulkAnswer> {
    return new Promise((resolve, reject) => {
      this.cancels.next({ terms, ask, priority, resolve, reject })
    })
  }

  /**
   * For a stop: aborts every run, and abandons those that have not ended after `graceMs`. Transactions that handlers
   * have left open are waited for no longer, either: if one commits later, another runtime carries it out.
   */
  abort(reason: JobchartError, graceMs: number): void {
    const { transactions, timers } = this.options.connection
    for (const run of this.runs.all()) run.abortWithin(reason, graceMs)
    const timer = timers.after(graceMs, () => transactions.close(reason))
    void this.idle().then(() => timer.cancel())
    // A test that awaits the stop cannot advance its clock meanwhile.
    this.options.settings.clock.pass?.(graceMs, () => this.runs.size > 0)
  }

  private hint(hint: Hint): void {
    if (hint.kind === 'ready') this.wakes.next({ type: hint.type, atMost: hint.atMost ?? Infinity })
    else if (hint.kind === 'due') this.sweeper.due(hint.at)
    else if (hint.kind === 'schedule') this.firer.due(hint.at)
    else if (hint.kind === 'bulk') this.sweeper.bulk(hint.id)
    else if (hint.kind === 'ended') this.sweeper.ended(hint.ids?.length ?? 1)
    else if (hint.kind === 'messages') this.remoteCancels.messagesArrived(hint.ids)
    // Leases that are gone are noticed by the next heartbeat.
    else if (hint.kind === 'rollback' || hint.kind === 'restart') this.storeChanged()
    else if (hint.kind === 'missed') this.findWork()
    else if (hint.kind === 'cancelled') this.remoteCancels.cancelled(hint.ids)
  }

  private runServices(confirmer: Confirmer): RunServices {
    const { id: worker, settings, connection } = this.options
    const { store, hub, timers, waits } = connection
    const { heartbeat, threads, batches } = this
    const { middleware, telemetry, logger, random, inspect } = settings
    return {
      middleware,
      telemetry,
      logger,
      timers,
      threads,
      batches,
      waits,
      enqueue: (job, input, options) => connection.enqueue(job, input, options, true),
      enqueueNow: (tx, job, input, options) => enqueueFromRun(connection, { tx, job, input, options }),
      abandoned: (change) => (this.abandoned += change),
      confirm: (run) => {
        if (confirmer.isDue(run)) confirmer.confirm([run])
      },
      ...runServices({
        inTransactions: writesInTransactions({
          transactions: connection.transactions,
          refusal: (run) => heartbeat.refusal(run),
          leaseMs: settings.leaseMs,
        }),
        logger,
        store,
        worker,
        hub,
        timers,
        heartbeat,
        checkpoints: new Checkpoints({ store, timers }),
        inboxChecks: new InboxChecks({ heartbeat, timers }),
        enqueueChild: (...child) => connection.enqueueChild(...child),
        cancel: (request) => this.cancel(request, 0),
        random,
        inspect,
      }),
    }
  }
}
