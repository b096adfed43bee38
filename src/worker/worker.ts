/**
 * The worker: makes the parts of a running runtime and joins them by `pipeline.ts`. Every command goes through its lanes:
 * control · cancel · settle · start · wake. What each part does is written in its own file.
 */
import type { Subscription } from 'rxjs'
import type { JobchartError } from '../core/errors.ts'
import type { RuntimeSettings } from '../core/settings.ts'
import type { CancelAnswer, CancelRequest, Hint, Store } from '../store.ts'
import { Canceller } from './cancel.ts'
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
import type { EventHub } from '../client/event-hub.ts'
import { watchedHealth } from './health.ts'
import { Heartbeat, leaseLost } from './heartbeat.ts'
import { Lane } from './lanes.ts'
import { LeaseClock } from './lease-clock.ts'
import { pipeline } from './pipeline.ts'
import { RemoteCancels } from './remote-cancels.ts'
import { Peers } from './peers.ts'
import { Permits } from './permits.ts'
import type { Run, RunServices, ContextServices } from './attempt.ts'
import { Runs } from './runs.ts'
import { Selector } from './select.ts'
import { Settler } from './settle.ts'
import { runServices } from './run-services.ts'
import type { MachineRunContextOptions } from './machine-run-context.ts'
import { ScheduleFirer, type ScheduleFirerOptions } from './schedules.ts'
import { Sweeper } from './sweep.ts'
import type { Timers } from '../client/timers.ts'
import { UnsupportedVersions } from './unsupported-versions.ts'
import { workerInfo } from './worker-info.ts'

export interface WorkerOptions {
  readonly id: string
  readonly settings: RuntimeSettings
  readonly store: Store
  readonly hub: EventHub
  readonly timers: Timers
  readonly firing: Pick<ScheduleFirerOptions, 'schedules' | 'mayFire' | 'inserted'>
  readonly enqueue: ContextServices['enqueue']
  readonly enqueueChild: MachineRunContextOptions['enqueueChild']
  /** Why nothing may start now, if so. */
  readonly halted: () => JobchartError | null
  /** Some work has come to an end. */
  readonly changed: () => void
  /** The store does not answer, for this reason; or, undefined, it does again. */
  readonly storeError: (trouble: unknown) => void
}

export class Worker {
  readonly permits: Permits
  readonly selector: Selector
  readonly runs = new Runs()
  /** Does it take no more commands? */
  stopped = false
  /** Handlers that were abandoned and have not come back. */
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
  private readonly marks: RemoteCancels
  private startedAt = 0
  /** The slots that the list of workers says it has. */
  private announcedSlots = 0
  /** Runs that have ended and wait in their lane. */
  private unsettled = 0
  private readonly idleWaiters: (() => void)[] = []

  constructor(options: WorkerOptions) {
    this.options = options
    const { id: worker, settings, store, hub, timers, halted } = options
    const { jobs, leaseMs, logger, random, clock, graceMs, retention } = settings
    const { runs, commands } = this
    const changed = (): void => this.changed()
    const shared = {
      store,
      // An answer may come after the stop.
      health: watchedHealth((trouble) => void (this.stopped || options.storeError(trouble))),
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
    this.selector = new Selector({
      jobs: jobs.values(),
      selection: settings.selection,
      random,
      now: () => clock.monotonic(),
      logger,
    })
    this.canceller = new Canceller({ ...shared, graceMs, answered: () => this.afterCancels() })
    this.sweeper = new Sweeper({
      ...shared,
      retention,
      look: () => this.look(),
      fire: () => void this.firer.fire(),
      mayRescue: () => this.heartbeat.mayRescue,
      whenHandled: (apply) => this.commands.next({ lane: Lane.rest, apply }),
    })
    this.firer = new ScheduleFirer({ ...shared, ...options.firing })
    this.definitionCheck = new DefinitionCheck({ ...shared, jobs })
    this.peers = new Peers(shared)
    this.heartbeat = new Heartbeat({
      ...shared,
      cancelling: (run, answer) => this.canceller.cancelRun(run, answer),
      lost: (run) => this.lose(run),
      announce: async (wasSilent) => {
        if (wasSilent || this.permits.slots !== this.announcedSlots) await this.announce()
      },
    })
    this.settler = new Settler({
      ...shared,
      random,
      settled: changed,
    })
    const { permits, selector, canceller } = this
    this.confirmer = new Confirmer(shared)
    this.claimer = new Claimer({
      ...shared,
      jobs,
      permits,
      selector,
      canceller,
      confirmer: this.confirmer,
      commands,
      host: this.runServices(),
      halted,
      changed,
    })
    const { claimer, heartbeat } = this
    this.marks = new RemoteCancels({ runs, canceller, heartbeat, claiming: () => claimer.busy })
    this.attempts = commands
      .pipe(
        pipeline({
          clock,
          handle: (lane, batch, waits) => this.handle(lane, batch, waits),
          select: () => claimer.pick(),
          claim: (demand, answered) => claimer.claim(demand, answered),
          failed: (error) => logger.error('a command of the dispatcher failed; it continues with the next', { error }),
        }),
      )
      .subscribe((start) => commands.next(start))
  }

  /** Is any run going on, or about to, or not written yet? */
  get busy(): boolean {
    return this.runs.size > 0 || this.unsettled > 0 || this.claimer.busy || this.settler.inFlight > 0
  }

  /** Is there, as far as it knows, more to pick? */
  get canClaim(): boolean {
    return !this.selector.idle && this.permits.free > 0 && this.options.halted() === null
  }

  /** Makes itself known and begins to pick. */
  async start(): Promise<void> {
    const { id, settings, store } = this.options
    const info = workerInfo(id, settings, this.permits.slots, store.now())
    this.startedAt = info.startedAt
    await this.announce()
    if (this.stopped) return
    this.heartbeat.start()
    this.sweeper.start()
    this.firer.start()
    this.definitionCheck.start()
    this.peers.start(info)
    this.look()
  }

  /** Says who it is and how many slots it has now. */
  private async announce(): Promise<void> {
    const { id, settings, store } = this.options
    const { slots } = this.permits
    await store.worker(id, workerInfo(id, settings, slots, this.startedAt))
    this.announcedSlots = slots
  }

  /** Every queue may have work. */
  private look(): void {
    this.selector.wakeAll()
    this.nudge()
  }

  /** Ends all that goes on by itself. What is under way must be over. */
  async stop(): Promise<void> {
    this.heartbeat.stop()
    this.sweeper.stop()
    this.firer.stop()
    this.definitionCheck.stop()
    this.peers.stop()
    this.stopped = true
    // What has been asked for is still handled.
    await new Promise<void>((resolve) => this.commands.next({ lane: Lane.rest, apply: resolve }))
    this.attempts.unsubscribe()
    this.claimer.close()
    this.answerIdle()
  }

  /** Moves what is due now, if it has been started. */
  promote(): Promise<void> {
    return this.sweeper.promote()
  }

  /** Something about this runtime has changed: look again what can be picked. */
  nudge(apply: () => void = () => {}): void {
    this.commands.next({ lane: Lane.control, apply })
  }

  /**
   * A pause is in force: nothing of this type (null: of any) that was claimed before starts, it is released. Resolves when no
   * claim is under way.
   */
  holdBack(type: string | null, reason: JobchartError): Promise<void> {
    for (const run of this.runs.all()) {
      if (!run.hasBegun && (type === null || run.claimed.type === type)) run.abort(reason)
    }
    this.claimer.holdBack(type, reason)
    return this.claimer.over()
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

  /** Asks every run to end; after `graceMs` those that have not are abandoned. */
  abort(reason: JobchartError, graceMs: number): void {
    for (const run of this.runs.all()) {
      run.abort(reason)
      run.abandonAfter(graceMs)
    }
  }

  hint(hint: Hint): void {
    if (hint.kind === 'ready') {
      this.commands.next({ lane: Lane.wake, type: hint.type, atMost: hint.atMost ?? Infinity })
    } else if (hint.kind === 'due') this.sweeper.due(hint.at)
    else if (hint.kind === 'schedule') this.firer.due(hint.at)
    else if (hint.kind === 'ended') this.sweeper.ended(hint.ids?.length ?? 1)
    else if (hint.kind === 'messages') this.marks.messagesArrived(hint.ids)
    else if (hint.kind === 'cancelled') this.marks.cancelled(hint.ids)
  }

  private handle(lane: number, batch: readonly WorkerCommand[], waits: (lane: number) => boolean): void {
    // The lane names the kind of all its commands.
    if (lane === Lane.settle) {
      this.unsettled -= batch.length
      this.settler.settle(batch as readonly Run[])
    } else if (lane === Lane.start)
      this.claimer.start(batch as readonly StartCommand[], () => waits(Lane.control) || waits(Lane.cancel))
    else if (lane === Lane.cancel) this.canceller.cancel(batch as readonly CancelCommand[])
    else if (lane === Lane.wake) {
      for (const { type, atMost } of batch as readonly WakeCommand[]) this.selector.wake(type, atMost)
    } else for (const command of batch as readonly (ControlCommand | IdleCommand)[]) command.apply()
  }

  private afterCancels(): void {
    if (!this.canceller.inFlight) {
      if (!this.claimer.busy) this.canceller.forget()
      this.claimer.resume()
      this.marks.ask()
    }
    this.changed()
  }

  /** Some work has come to an end. */
  private changed(): void {
    if (!this.busy) this.answerIdle()
    this.options.changed()
  }

  private answerIdle(): void {
    for (const resolve of this.idleWaiters.splice(0)) resolve()
  }

  private lose(run: Run): void {
    run.abort(leaseLost(run))
    run.abandonAfter(this.options.settings.graceMs)
  }

  private runServices(): RunServices {
    const { id: worker, settings, store, hub, timers, enqueue, enqueueChild } = this.options
    const { heartbeat } = this
    const { graceMs, random } = settings
    const cancel = (request: CancelRequest): Promise<unknown> => this.cancel(request, 0)
    return {
      middleware: settings.middleware,
      logger: settings.logger,
      timers,
      enqueue,
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
      ...runServices({ store, worker, hub, timers, heartbeat, enqueueChild, cancel, graceMs, random }),
    }
  }
}
