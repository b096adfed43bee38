/**
 * One attempt of a machine job: runs the machine, checkpoint after checkpoint, until it is done or only waits.
 *
 *   messages, timers, actors that end ─▶ plan (transitions; effects are pending)
 *        ▲                                │
 *        │                                ▼
 *   execute the effects ◀── commit (state, timers, outbox, messages read: one conditional write)
 *
 * When no effect is pending and no actor does work, the job is done or parked; that write includes the last checkpoint.
 * After a crash the next attempt resumes from the last checkpoint and executes the effects in its outbox again.
 */
import type { Random, Timer } from '../core/clock.ts'
import type { AnyActorRef, AnyEventObject } from 'xstate'
import { JobchartError } from '../core/errors.ts'
import type { RunResult, MachineRunContext } from '../core/definition.ts'
import type { Inspect } from '../core/inspection.ts'
import { fatal } from '../core/intent.ts'
import {
  cancelEvent,
  isForgottenCancel,
  type Gather,
  type InboxEntry,
  type NewCheckpoint,
} from '../core/machine-record.ts'
import { innermost } from '../core/state-paths.ts'
import { ActorSteps } from './actor-steps.ts'
import { DeferredEvents, eventOf, isEvent, type EventEntry } from './deferred-events.ts'
import { toDisplayJson } from './codec.ts'
import { ChildJobs } from './child-jobs.ts'
import { notifyActor } from './from-job.ts'
import { LiveMachine, type MachineHost } from './live-machine.ts'
import { usableArgs } from './action-args.ts'
import type { PendingEffect, PendingAction } from './plan.ts'
import type { PlannedLogic } from './actor-kinds.ts'
import { PlannedSize } from './planned-size.ts'
import { packState, type MachineState, type ReadCancel } from './state.ts'
import { nameOf, type MachineVersion } from './versions.ts'

/** Commits after which the run yields to the event loop: a store may answer without doing so. */
const commitsPerYield = 100

const cancelled = (reason: string | null) => ({ type: cancelEvent, reason })
/** For the question whether a state takes a cancel. */
const anyCancel = cancelled(null)

const nothing = (): void => {}

/** Mutable, because it is made field by field: most checkpoints have no more than the first ones. */
type MadeCheckpoint = { -readonly [K in keyof NewCheckpoint]: NewCheckpoint[K] }

interface Reading {
  readonly number: number
  readonly what: string
  readonly isDeferred: boolean
}

export class MachineRun implements MachineHost {
  readonly logic: PlannedLogic
  readonly version: MachineVersion
  readonly jobs: ChildJobs
  private readonly attempt: MachineRunContext
  /** The steps of its durable promises; null before the first. */
  private ownSteps: ActorSteps | null = null
  private readonly machine: LiveMachine
  /** Number of the last checkpoint. */
  private number: number
  /** Messages that have arrived and are not read, oldest first. */
  private inbox: InboxEntry[]
  private readonly deferred: DeferredEvents
  /** The snapshot of the machine that has taken none of the deferred events. */
  private offeredTo: unknown = null
  /** Number of the last message that has arrived, and of the last one read. */
  private arrived: number
  private read: number
  /** Number of the last message that was read before the last checkpoint. */
  private stored: number
  /** Has the state changed since the last checkpoint? */
  private dirty: boolean
  private commits = 0
  /** When the run began, ms since the epoch. */
  private readonly beganAt: number
  /** The cancel that was read in this generation. */
  private cancel: ReadCancel | null
  /**
   * After a failed attempt each message gets its own checkpoint: the message that causes the failure becomes the first
   * unread.
   */
  private readonly checkpointEachMessage: boolean
  /** The message that the machine handles now. */
  private reading: Reading | null = null
  private failure: { readonly error: unknown } | null = null
  /** How much the pending effects weigh. */
  private readonly planned = new PlannedSize()
  /** Ends the wait for a change. */
  private endWait = nothing

  /** @param change how `from` differs from what the store has, for the note of a checkpoint; null if it does not */
  constructor(
    attempt: MachineRunContext,
    logic: PlannedLogic,
    version: MachineVersion,
    from: MachineState | null,
    change: string | null = null,
  ) {
    this.attempt = attempt
    this.beganAt = attempt.now()
    this.logic = logic
    this.version = version
    this.number = attempt.checkpoint?.number ?? 0
    this.read = this.stored = from?.read ?? 0
    const isRead = ({ number }: InboxEntry): boolean => number <= this.read
    this.inbox = attempt.inbox.filter((entry) => !isRead(entry))
    this.deferred = new DeferredEvents(nameOf(version), attempt.inbox.filter(isRead))
    this.checkpointEachMessage = attempt.inbox.length > 1 && attempt.hasFailed()
    this.arrived = Math.max(attempt.inbox.at(-1)?.number ?? 0, this.read)
    this.dirty = from === null || change !== null
    this.cancel = cancelOf(from, attempt.generation)
    this.jobs = new ChildJobs(attempt, this, from?.jobs)
    // The first checkpoint may have to remove some.
    if (attempt.steps !== null) this.ownSteps = this.steps
    this.machine = new LiveMachine(this, from)
    this.restored = from === null ? null : this.machine.pendingOf(from)
    if (change !== null) this.machine.asides.add(change)
  }

  /** The outbox of the last checkpoint: effects that may not have been executed before a crash. */
  private readonly restored: readonly PendingEffect[] | null

  // ── what the machine asks ────────────────────────────────────────────────────────────────────────────────────────

  get jobId(): string {
    return this.attempt.id
  }

  get input(): unknown {
    return this.attempt.input
  }

  get random(): Random {
    return this.attempt.random
  }

  get inspect(): Inspect | null {
    return this.attempt.inspect
  }

  get steps(): ActorSteps {
    return (this.ownSteps ??= new ActorSteps(this.attempt, (error) => this.fail(error)))
  }

  now(): number {
    return this.attempt.now()
  }

  after(delayMs: number, run: () => void): Timer {
    return this.attempt.after(delayMs, run)
  }

  log(line: string): void {
    this.attempt.log(line)
  }

  traced<T>(kind: 'actor' | 'step', name: string, work: () => T): T {
    return this.attempt.traced(kind, name, work)
  }

  changed(): void {
    this.dirty = true
    this.wake()
  }

  childStopped(job: string): void {
    this.machine.plan.hold({ kind: 'cancelChild', job })
  }

  // ── the run ──────────────────────────────────────────────────────────────────────────────────────────────────────

  async run(): Promise<RunResult> {
    const { attempt, machine } = this
    attempt.onAbort((reason) => this.fail(reason))
    attempt.onMessages((messages) => this.arrive(messages))
    try {
      this.throwIfFailed()
      machine.start()
      if (this.restored !== null) await this.executeRestored(this.restored)
      return await this.runUntilIdle()
    } finally {
      this.jobs.end()
      machine.stop()
    }
  }

  private async runUntilIdle(): Promise<RunResult> {
    const { machine } = this
    for (;;) {
      this.takeTurn()
      const done = machine.status === 'done'
      if (machine.plan.pending.length > 0) {
        await this.commitAndExecute()
      } else if (done || (machine.isIdle && !this.jobs.busy)) {
        if (done) this.warnUnread()
        const checkpoint = this.dirty || this.jobs.hasUnsavedIds ? this.checkpoint([]) : null
        return done
          ? {
              kind: 'done',
              output: machine.output,
              outcome: outcomeOf(machine.standing.states, machine.output),
              checkpoint,
              cancelTaken: this.cancelTaken,
            }
          : { kind: 'parked', checkpoint, wakeAt: this.nextAt, ...gatherOf(machine.jobIds.length) }
      } else if (this.dirty) {
        await this.commitAndExecute()
      } else {
        await this.waitForChange()
      }
    }
  }

  /** Handles the messages that have arrived, and the timers that are due. */
  private takeTurn(): void {
    this.readWaiting(this.now())
    this.readCancel()
    this.offerDeferred()
    this.throwIfFailed()
    // It takes nothing any more, and will never be done.
    if (this.machine.status === 'stopped') throw fatal(stoppedItself(this.version))
  }

  /** Handles the messages that have arrived, and the timers that are due at `by`. */
  private readWaiting(by: number): void {
    // What has happened since the last turn may have led to a state that takes a deferred event.
    this.offerDeferred()
    this.readInbox()
    // A message that waits for the next checkpoint comes before the timers that were due after it.
    this.advance(Math.min(by, this.inbox[0]?.at ?? Infinity))
  }

  private async commitAndExecute(): Promise<void> {
    const { machine } = this
    if (++this.commits % commitsPerYield === 0) await this.yieldTurn()
    const pending = machine.plan.pending.splice(0)
    this.planned.restart()
    const checkpoint = this.checkpoint(pending)
    this.dirty = false
    const messages = await this.attempt.commit(checkpoint)
    this.throwIfFailed()
    this.arrive(messages)
    if (pending.some(isOneTimeEffect)) await this.executeOnce(pending)
    else this.startWork(pending)
  }

  /**
   * Executes the outbox of the restored checkpoint, and starts the actors that were at work: before any message or
   * timer is delivered. An actor that has not started would only keep the event in memory, while the next checkpoint
   * says that it was read.
   */
  private async executeRestored(restored: readonly PendingEffect[]): Promise<void> {
    const { plan } = this.machine
    const pending = [...plan.pending.splice(0), ...restored]
    if (pending.some(isOneTimeEffect)) await this.executeOnce(pending)
    else this.startWork(pending)
    while (plan.pending.some(({ kind }) => kind === 'start')) await this.commitAndExecute()
  }

  /**
   * Executes one-time effects. Work waits for the checkpoint that removes the executed effects from the outbox: if it
   * failed before, the next attempt would execute them again.
   */
  private async executeOnce(pending: readonly PendingEffect[]): Promise<void> {
    await this.execute(pending.filter(isOneTimeEffect))
    this.machine.plan.pending.unshift(...pending.filter((each) => !isOneTimeEffect(each)))
  }

  /** Executes in order, and awaits actions that return a promise. */
  private async execute(effects: readonly PendingEffect[]): Promise<void> {
    for (const each of effects) {
      // The next checkpoint must remove the effect from the outbox.
      this.dirty = true
      this.machine.asides.add('effects carried out')
      if (each.kind === 'emit') this.attempt.emitted(toDisplayJson(each.event))
      else if (each.kind === 'cancelChild') await this.jobs.cancelChild(each.job)
      else if (each.kind === 'action') await act(each)
      this.throwIfFailed()
    }
  }

  private startWork(work: readonly PendingEffect[]): void {
    const { machine } = this
    const start = (): void => {
      for (const each of work) {
        if (each.kind === 'start') machine.startActor(each.actor)
        else if (each.kind === 'stop') machine.plan.stopWork(each.actor)
        else if (each.kind === 'attempt') each.begin()
        else if (each.kind === 'log') each.run()
        else if (each.kind === 'send') {
          this.dirty = true
          machine.asides.add('events delivered to work')
          machine.plan.delivered(each.actor)
          sendIfActive(each.actor, each.event)
        }
      }
    }
    // They have arrived, or were due, before the work began: what it sends, or its end, is handled after them.
    machine.startWork(start, () => this.readWaiting(this.beganAt - 1))
    this.throwIfFailed()
    this.takeTurn()
  }

  private checkpoint(pending: readonly PendingEffect[]): NewCheckpoint {
    const { machine, deferred } = this
    if (this.jobs.hasUnsavedIds) machine.asides.add('child jobs enqueued')
    const note = machine.takeNote()
    const takesCancel = machine.namesEvent(anyCancel)
    try {
      const { read, cancel } = this
      this.stored = read
      const state = machine.state(pending)
      const forgetSteps = this.ownSteps?.takeStale((address) => machine.isActive(address))
      const jobs = this.jobs.storedAmong(() => machine.jobIds)
      const { states, tags } = machine.standing
      const heat = machine.takeHeat()
      const next: MadeCheckpoint = {
        number: ++this.number,
        state: packState(state, { jobs, read, cancel }, machine.encode),
        read,
        note,
        takesCancel,
        states,
        tags,
      }
      if (!deferred.isEmpty) next.deferred = deferred.all.map(({ number }) => number)
      if (deferred.dropped.length > 0) next.dropped = deferred.dropped.splice(0)
      if (forgetSteps !== undefined && forgetSteps.length > 0) next.forgetSteps = forgetSteps
      if (machine.failures.length > 0) next.failures = machine.failures.splice(0)
      if (heat.length > 0) next.heat = heat
      return next
    } catch (error) {
      // A state that cannot be encoded now cannot be encoded by a retry.
      throw fatal(error)
    }
  }

  /** Reads messages, as many as one checkpoint can hold the effects of. */
  private readInbox(): void {
    // Messages to a machine that has ended are not read, not even a cancel.
    while (this.machine.status === 'active') {
      const [entry] = this.inbox
      if (entry === undefined) return
      const { number, at, message } = entry
      // Timers that were due before the message arrived fire before it.
      this.advance(at)
      this.throwIfFailed()
      if (this.isFull || (this.checkpointEachMessage && this.read > this.stored)) return
      this.inbox.shift()
      this.read = number
      this.dirty = true
      if (isEvent(entry)) this.deliver(entry)
      else {
        this.reading = { number, what: message.kind, isDeferred: false }
        this.machine.asides.add(`${messageWords[message.kind]} read`)
        if (message.kind === 'cancel' && !isForgottenCancel(message, this.attempt.generation)) {
          this.cancel = { generation: this.attempt.generation, reason: message.reason, taken: false }
          this.readCancel()
        } else if (message.kind === 'ended' || message.kind === 'checkin') {
          const actor = this.machine.jobActor(message.child)
          if (actor !== null) notifyActor(actor, message)
        }
        this.throwIfFailed()
        this.reading = null
      }
      this.offerDeferred()
    }
  }

  /**
   * Fires the timers that are due at `by`, and drops the deferred events that have expired then, in the order of their
   * times; those that the next checkpoint cannot hold the effects of wait for the one after it.
   */
  private advance(by: number): void {
    const { machine, deferred } = this
    const isFull = (): boolean => this.isFull
    if (deferred.isEmpty) return machine.fireTimers(by, { isFull })
    machine.fireTimers(by, { isFull, before: (at) => this.expire(at), after: () => this.offerDeferred() })
    if (!this.isFull) this.expire(by)
  }

  private get isFull(): boolean {
    return this.planned.isFull(this.machine.plan.pending)
  }

  private expire(by: number): void {
    for (const entry of this.deferred.expire(by)) {
      this.dirty = true
      this.machine.asides.add(`${eventOf(entry).type} dropped`)
      this.warnDropped(eventOf(entry), 'no state took it in the time that it was kept')
    }
  }

  /** Delivers the deferred events that the state takes now; each may lead to a state that takes others. */
  private offerDeferred(): void {
    const { machine, deferred } = this
    while (machine.status === 'active' && !deferred.isEmpty && this.offeredTo !== machine.snapshot && !this.isFull) {
      const taken = deferred.takeFirst((entry) => this.reads(entry, true, () => machine.can(eventOf(entry))))
      if (taken === null) {
        this.offeredTo = machine.snapshot
        return
      }
      this.dirty = true
      this.reads(taken, true, () => machine.send(eventOf(taken)))
      this.noteTaken(taken)
    }
  }

  /** When the next timer is due or the next deferred event expires, ms since the epoch; null: never. */
  private get nextAt(): number | null {
    const times = [this.machine.timers.nextAt, this.deferred.nextExpiry].filter((at) => at !== null)
    return times.length === 0 ? null : Math.min(...times)
  }

  /**
   * Sends the cancel to the machine if its state handles it. The machine may have left the state in which the cancel
   * was accepted; then the cancel waits for the next state that handles it.
   */
  private readCancel(): void {
    if (this.cancel === null || this.cancel.taken) return
    const event = cancelled(this.cancel.reason)
    if (!this.machine.namesEvent(event)) return
    this.cancel = { ...this.cancel, taken: true }
    this.dirty = true
    this.machine.send(event)
  }

  /** Did the machine handle the cancel of its job? */
  private get cancelTaken(): boolean {
    return this.cancel?.taken === true
  }

  private deliver(entry: EventEntry): void {
    if (this.reads(entry, false, () => this.machine.offer(eventOf(entry)))) return this.noteTaken(entry)
    const isKept = this.deferred.add(entry)
    this.machine.asides.add(`${eventOf(entry).type} ${isKept ? 'deferred' : 'dropped'}`)
    if (!isKept) this.warnDropped(eventOf(entry), 'the state of the machine no longer handles it')
  }

  private noteTaken(entry: EventEntry): void {
    this.machine.noteAside(() => `${eventOf(entry).type} taken`)
  }

  /** Lets the machine handle an event: if it fails, the log of the job names the message. */
  private reads<T>(entry: EventEntry, isDeferred: boolean, handle: () => T): T {
    const reading = (this.reading = { number: entry.number, what: eventOf(entry).type, isDeferred })
    try {
      const result = handle()
      this.throwIfFailed()
      this.reading = null
      return result
    } catch (error) {
      // A guard that throws does not stop the machine: nothing has been logged yet.
      if (this.machine.failure === null && this.failure === null) this.attempt.log(failedAtMessage(reading))
      throw error
    }
  }

  /** The machine has ended before it took the last events: the write that ends the job drops them. */
  private warnUnread(): void {
    for (const entry of [...this.deferred.all, ...this.inbox]) {
      if (isEvent(entry)) this.warnDropped(eventOf(entry), 'the machine has ended')
    }
  }

  private warnDropped(event: { readonly type: string }, why: string): void {
    const { id, type, logger } = this.attempt
    logger.warn(`an event was dropped: ${why}`, { id, type, event: event.type })
  }

  private arrive(messages: readonly InboxEntry[]): void {
    for (const entry of messages) {
      if (entry.number <= this.arrived) continue
      this.arrived = entry.number
      this.inbox.push(entry)
    }
    this.wake()
  }

  /** @throws the error that the machine failed with, or the reason to end the run */
  private throwIfFailed(): void {
    const failure = this.failure ?? this.machine.failure
    if (failure === null) return
    const { error } = failure
    if (this.reading !== null && this.failure === null) this.attempt.log(failedAtMessage(this.reading))
    throw error instanceof JobchartError && error.code === 'NOT_DURABLE' ? fatal(error) : error
  }

  fail(error: unknown): void {
    this.failure ??= { error }
    this.wake()
  }

  wake(): void {
    this.endWait()
  }

  private yieldTurn(): Promise<void> {
    return new Promise((resolve) => {
      this.endWait = resolve
      this.attempt.after(1, resolve)
    })
  }

  /** Resolves when a message, a change or a failure arrives, or a timer is due. */
  private async waitForChange(): Promise<void> {
    const { nextAt } = this
    let timer: Timer | null = null
    await new Promise<void>((resolve) => {
      this.endWait = resolve
      if (nextAt !== null) timer = this.attempt.after(nextAt - this.now(), resolve)
      if (this.inbox.length > 0 || this.failure !== null || this.dirty) resolve()
    })
    this.endWait = nothing
    ;(timer as Timer | null)?.cancel()
  }
}

/** Messages to a job in the note of a checkpoint. */
const messageWords: Readonly<Record<InboxEntry['message']['kind'], string>> = {
  event: 'event',
  cancel: 'cancel',
  resume: 'resume',
  ended: 'end of a child job',
  checkin: 'check-in of a child job',
}

/** A `status` that is counted: ids and sentences would make a name each. */
const statusWord = /^[a-z][a-z _-]{0,39}$/i

/** How a machine has ended: its final states, the innermost ones, and the `status` of its output. */
function outcomeOf(states: readonly string[], output: unknown): string {
  const final = innermost(states).join(', ')
  const status = typeof output === 'object' && output !== null && 'status' in output ? output.status : undefined
  return typeof status === 'string' && status !== final && statusWord.test(status) ? `${final} (${status})` : final
}

/** The cancel that was read in this generation; null if none was read. */
const cancelOf = (from: MachineState | null, generation: number): ReadCancel | null =>
  from?.cancel?.generation === generation ? from.cancel : null

/**
 * Each wake-up restores and stores the whole machine. A machine with many child jobs therefore waits for the ends of a
 * fraction of them, so that the total cost is proportional to their number. The last ends wake it one by one.
 */
const gathered = { part: 1 / 4, jobsLeast: 16, msLeast: 50, msPerJob: 0.15 }

function gatherOf(jobs: number): { readonly gather?: Gather } {
  const { part, jobsLeast, msLeast, msPerJob } = gathered
  if (jobs < jobsLeast) return {}
  return { gather: { messages: Math.floor(jobs * part), ms: Math.ceil(msLeast + jobs * msPerJob) } }
}

const stoppedItself = ({ id }: MachineVersion): JobchartError =>
  new JobchartError('NOT_DURABLE', `machine ${id} was stopped by self.stop(), and has no result`, {
    hint: 'Let it enter a final state instead, or cancel its job.',
  })

const failedAtMessage = ({ number, what, isDeferred }: Reading): string =>
  isDeferred
    ? `the machine failed on ${what}, message ${number}, which was deferred; retry(id, { dropInbox: [${number}] }) drops it`
    : `the machine failed on ${what}, message ${number}; retry(id, { dropInbox: 1 }) drops the first unread message`

/** Effects that are executed once and end with their call. The others start, stop or notify an actor. */
const isOneTimeEffect = ({ kind }: PendingEffect): boolean =>
  kind === 'action' || kind === 'emit' || kind === 'cancelChild'

function act({ act: exec, actor, name, ...args }: PendingAction): unknown {
  const { context, event, params } = usableArgs(args, name.type)
  return exec({ context, event, self: actor, system: actor.system }, params)
}

/** The actor may have ended since the event was planned. */
function sendIfActive(actor: AnyActorRef, event: AnyEventObject): void {
  if ((actor.getSnapshot() as { readonly status?: string } | undefined)?.status === 'active') actor.send(event)
}
