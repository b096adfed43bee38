/**
 * The host of a machine: brings it from where it stands to its next rest, one checkpoint after the other.
 *
 *   messages, timers, actors that end ─▶ plan (transitions; effects are held back)
 *        ▲                                │
 *        │                                ▼
 *   execute what was held ◀── commit (state, timers, outbox, messages read: one conditional write)
 *
 * It rests when nothing is held, and no actor works: then it parks, or is done, and its last checkpoint is part of that
 * write. After a crash it goes on from the last checkpoint; what the outbox of that one holds is executed again.
 */
import { format } from 'node:util'
import type { Timer } from '../core/clock.ts'
import type { AnyActorRef, AnyEventObject } from 'xstate'
import { JobchartError } from '../core/errors.ts'
import type { RunResult, MachineRunContext } from '../core/definition.ts'
import { fatal } from '../core/intent.ts'
import type { Gather, InboxEntry, NewCheckpoint } from '../core/machine-record.ts'
import { ActorSteps } from './actor-steps.ts'
import { shown } from './codec.ts'
import { ChildJobs } from './child-jobs.ts'
import { notifyActor } from './from-job.ts'
import { LiveMachine } from './live-machine.ts'
import { usableArgs } from './kept-args.ts'
import type { PendingEffect, PendingAction } from './plan.ts'
import type { PlannedLogic } from './actor-kinds.ts'
import { packState, type MachineState, type ReadCancel } from './state.ts'
import type { MachineVersion } from './versions.ts'

/** What a machine that has a compensation is sent when its job is cancelled. */
export const cancelEvent = 'job.cancel'

const noteCharsMax = 200
/** Checkpoints that a machine may come to without letting anybody else have a turn. */
const turnsMax = 100

const cancelled = (reason: string | null) => ({ type: cancelEvent, reason })

interface Reading {
  readonly number: number
  readonly what: string
}

export class MachineRun {
  private readonly attempt: MachineRunContext
  private readonly machine: LiveMachine
  /** Number of the last checkpoint. */
  private number: number
  /** Messages that have come and are not read, oldest first. */
  private inbox: InboxEntry[]
  /** Number of the last message that has come, and of the last one read. */
  private arrived: number
  private read: number
  /** Does the last checkpoint lack something? */
  private dirty: boolean
  private turns = 0
  /** The cancel that was read; undefined if an earlier release has not written whether there was one. */
  private cancel: ReadCancel | null | undefined
  private readonly childJobs: ChildJobs
  private readonly steps: ActorSteps
  /** Is a checkpoint to follow each message? */
  private readonly oneByOne: boolean
  /** The message that is read now. */
  private reading: Reading | null = null
  private failure: { readonly error: unknown } | null = null
  private wake: () => void = () => {}

  /** @param adopted was the state taken over from another definition, and is not written yet? */
  constructor(
    attempt: MachineRunContext,
    logic: PlannedLogic,
    version: MachineVersion,
    from: MachineState | null,
    adopted = false,
  ) {
    this.attempt = attempt
    this.number = attempt.checkpoint?.number ?? 0
    this.inbox = [...attempt.inbox]
    this.oneByOne = attempt.inbox.length > 1 && attempt.hasFailed()
    this.arrived = attempt.inbox.at(-1)?.number ?? from?.read ?? 0
    this.read = from?.read ?? 0
    this.dirty = from === null || adopted
    this.cancel = cancelOf(from, attempt.generation)
    const stopped = (job: string): void => this.machine.plan.hold({ kind: 'leave', job })
    const told = { stopped, changed: () => this.wake(), failed: (error: unknown) => this.fail(error) }
    this.childJobs = new ChildJobs({ attempt, ...told }, from?.jobs)
    this.steps = new ActorSteps({ context: attempt, failed: (error) => this.fail(error) })
    this.machine = new LiveMachine(
      {
        logic,
        version,
        jobId: attempt.id,
        input: attempt.input,
        now: attempt.now,
        jobs: this.childJobs,
        attempts: { random: attempt.random, after: attempt.after, log: attempt.log },
        steps: this.steps,
        logger: (...args) => attempt.log(format(...args)),
        changed: () => this.changed(),
      },
      from,
    )
    this.restored = from === null ? null : this.machine.pendingOf(from)
  }

  /** What was decided before a crash and may not have been done. */
  private readonly restored: readonly PendingEffect[] | null

  async run(): Promise<RunResult> {
    const { attempt, machine: hosted } = this
    const abort = (): void => this.fail(attempt.signal.reason)
    attempt.signal.addEventListener('abort', abort, { once: true })
    attempt.onMessages((messages) => this.arrive(messages))
    try {
      if (attempt.signal.aborted) throw attempt.signal.reason
      hosted.start()
      if (this.restored !== null) await this.goOn(this.restored)
      return await this.runToRest()
    } finally {
      this.childJobs.end()
      attempt.signal.removeEventListener('abort', abort)
      hosted.stop()
    }
  }

  private async runToRest(): Promise<RunResult> {
    const { machine: hosted, attempt } = this
    for (;;) {
      this.readLetters()
      hosted.fire(attempt.now())
      this.readCancel()
      this.check()
      const done = hosted.status === 'done'
      if (hosted.plan.pending.length > 0) {
        await this.commitAndExecute()
      } else if (done || (hosted.atRest && !this.childJobs.busy)) {
        const checkpoint = this.dirty || this.childJobs.unreportedEnds ? this.checkpoint([]) : null
        return done
          ? { kind: 'done', output: hosted.output, checkpoint, cancelTaken: this.cancelTaken }
          : { kind: 'parked', checkpoint, wakeAt: hosted.timers.nextAt, ...gatherOf(hosted.jobIds.length) }
      } else if (this.dirty) {
        await this.commitAndExecute()
      } else {
        await this.change()
      }
    }
  }

  private async commitAndExecute(): Promise<void> {
    const { machine: hosted } = this
    if (++this.turns % turnsMax === 0) await this.pause()
    const held = hosted.plan.pending.splice(0)
    const checkpoint = this.checkpoint(held)
    this.dirty = false
    const messages = await this.attempt.commit(checkpoint)
    this.check()
    this.arrive(messages)
    await this.executeOrHold(held)
  }

  /** What was decided before a crash, and work that was going on. */
  private async goOn(restored: readonly PendingEffect[]): Promise<void> {
    const work = this.machine.plan.pending.splice(0)
    await this.executeOrHold([...work, ...restored])
  }

  /**
   * Executes effects, or, where there are none, what begins work. That effects were executed is written before work begins
   * that may fail: they would be executed again with it.
   */
  private async executeOrHold(held: readonly PendingEffect[]): Promise<void> {
    const effects = held.filter(isEffect)
    const work = held.filter((each) => !isEffect(each))
    if (effects.length === 0) return this.startWork(work)
    await this.execute(effects)
    this.machine.plan.pending.unshift(...work)
  }

  /** In order; an action that gives a promise is waited for. */
  private async execute(effects: readonly PendingEffect[]): Promise<void> {
    for (const each of effects) {
      // Its outbox must not hold it any longer.
      this.dirty = true
      if (each.kind === 'emit') this.attempt.emitted(shown(each.event))
      else if (each.kind === 'leave') await this.childJobs.cancelChild(each.job)
      else if (each.kind === 'action') await act(each)
      this.check()
    }
  }

  private startWork(work: readonly PendingEffect[]): void {
    const { machine: hosted } = this
    hosted.startWork(() => {
      for (const each of work) {
        if (each.kind === 'start') hosted.plan.startWork(each.actor)
        else if (each.kind === 'stop') hosted.plan.stopWork(each.actor)
        else if (each.kind === 'attempt') each.begin()
        else if (each.kind === 'log') each.run()
        else if (each.kind === 'send') {
          this.dirty = true
          hosted.plan.notified(each.actor)
          sendIfActive(each.actor, each.event)
        }
      }
    })
    this.check()
  }

  private checkpoint(held: readonly PendingEffect[]): NewCheckpoint {
    const { machine: hosted } = this
    const note = hosted.notes.splice(0).join(', ')
    const takesCancel = hosted.names(cancelled(null))
    try {
      const state = hosted.state(held)
      const gone = this.steps.takeGone((address) => hosted.isActive(address))
      return {
        number: ++this.number,
        ...(gone.length > 0 && { forgetSteps: gone }),
        state: packState(
          {
            ...state,
            jobs: this.childJobs.jobs(hosted.jobIds),
            read: this.read,
            ...(this.cancel !== undefined && { cancel: this.cancel }),
          },
          (actor) => hosted.addressOf(actor),
        ),
        read: this.read,
        note: note.length > noteCharsMax ? `${note.slice(0, noteCharsMax - 1)}…` : note,
        takesCancel,
        ...hosted.standing,
      }
    } catch (error) {
      // What cannot be written now cannot be written the next time.
      throw fatal(error)
    }
  }

  private readLetters(): void {
    // What comes when the machine has ended comes too late, also a cancel.
    while (this.machine.status === 'active') {
      const mail = this.inbox.shift()
      if (mail === undefined) return
      const { number, at, message } = mail
      // What was due before the message came happens before it.
      this.machine.fire(at)
      this.check()
      this.read = number
      this.dirty = true
      this.reading = {
        number,
        what: message.kind === 'event' ? (message.event as { type: string }).type : message.kind,
      }
      if (message.kind === 'cancel') {
        this.cancel = { generation: this.attempt.generation, reason: message.reason, taken: false }
        this.readCancel()
      } else if (message.kind === 'event') this.deliver(message.event as { readonly type: string })
      else if (message.kind !== 'resume') {
        const actor = this.machine.jobActor(message.child)
        if (actor !== null) notifyActor(actor, message)
      }
      this.check()
      this.reading = null
      // The next one may be what it has failed at: then it is the first in its inbox.
      if (this.oneByOne) return
    }
  }

  /**
   * A cancel that was acknowledged where the machine takes it may find the machine gone on: with what it has done since it is
   * not ended, the cancel waits for the next state that takes it.
   */
  private readCancel(): void {
    if (this.cancel === null || this.cancel === undefined || this.cancel.taken) return
    const event = cancelled(this.cancel.reason)
    if (!this.machine.names(event)) return
    this.cancel = { ...this.cancel, taken: true }
    this.dirty = true
    this.machine.send(event)
  }

  /** Has the machine taken the cancel that its job was sent? In earlier releases each that was read was taken. */
  private get cancelTaken(): boolean {
    return this.cancel === undefined
      ? !this.inbox.some(({ message }) => message.kind === 'cancel')
      : this.cancel?.taken === true
  }

  private deliver(event: { readonly type: string }): void {
    if (!this.machine.can(event)) {
      const { id, type } = this.attempt
      this.attempt.logger.warn('the state of a machine does not take an event any more; it is dropped', {
        id,
        type,
        event: event.type,
      })
    }
    this.machine.send(event)
  }

  private arrive(messages: readonly InboxEntry[]): void {
    for (const mail of messages) {
      if (mail.number <= this.arrived) continue
      this.arrived = mail.number
      this.inbox.push(mail)
    }
    this.wake()
  }

  private changed(): void {
    this.dirty = true
    this.wake()
  }

  /** @throws why the machine has failed or is to end, if so */
  private check(): void {
    const failure = this.failure ?? this.machine.failure
    if (failure === null) return
    const { error } = failure
    if (this.reading !== null && this.failure === null) this.attempt.log(failedAt(this.reading))
    throw error instanceof JobchartError && error.code === 'NOT_DURABLE' ? fatal(error) : error
  }

  private fail(error: unknown): void {
    this.failure ??= { error }
    this.wake()
  }

  private pause(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve
      this.attempt.after(1, resolve)
    })
  }

  /** Resolves when something has happened, or a timer is due. */
  private async change(): Promise<void> {
    const { nextAt } = this.machine.timers
    let timer: Timer | null = null
    await new Promise<void>((resolve) => {
      this.wake = resolve
      if (nextAt !== null) timer = this.attempt.after(nextAt - this.attempt.now(), resolve)
      if (this.inbox.length > 0 || this.failure !== null || this.dirty) resolve()
    })
    this.wake = () => {}
    ;(timer as Timer | null)?.cancel()
  }
}

/** The cancel that was read in this generation. A machine that begins has read none. */
function cancelOf(from: MachineState | null, generation: number): ReadCancel | null | undefined {
  if (from === null) return null
  return from.cancel?.generation === generation || from.cancel === undefined ? from.cancel : null
}

/**
 * A machine with many child jobs at work is restored and kept whole for each batch of their ends. So a batch is a part of
 * them: all batches together cost in proportion to the children. The last ones wake it one by one.
 */
const gatherParts = 8
const gatherMs = { least: 50, perJob: 0.05 }

function gatherOf(jobs: number): { readonly gather?: Gather } {
  const messages = Math.floor(jobs / gatherParts)
  return messages < 2 ? {} : { gather: { messages, ms: Math.ceil(gatherMs.least + jobs * gatherMs.perJob) } }
}

const failedAt = ({ number, what }: Reading): string =>
  `the machine failed when it read ${what}, message ${number}; retry(id, { dropInbox: 1 }) drops the first that is unread`

/** What is done once, of itself: all else begins work, or is told to it. */
const isEffect = ({ kind }: PendingEffect): boolean => kind === 'action' || kind === 'emit' || kind === 'leave'

function act({ act: exec, actor, name, ...args }: PendingAction): unknown {
  const { context, event, params } = usableArgs(args, name.type)
  return exec({ context, event, self: actor, system: actor.system }, params)
}

/** Its actor may have ended since it was decided. */
function sendIfActive(actor: AnyActorRef, event: AnyEventObject): void {
  if ((actor.getSnapshot() as { readonly status?: string } | undefined)?.status === 'active') actor.send(event)
}
