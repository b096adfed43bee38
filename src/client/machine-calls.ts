/** Calls to machine jobs from outside: events sent to them, where they stand, where they stood, and forks. */
import { nanoid } from 'nanoid'
import type { SendSettings } from '../core/call-options.ts'
import type { JobDefinition, MachineRunner, MachineViewer } from '../core/definition.ts'
import { AbortError, describe, JobchartError, TimeoutError } from '../core/errors.ts'
import type { Timer } from '../core/clock.ts'
import { endError } from './handle.ts'
import type { WaitCondition } from '../core/handle.ts'
import type { MachineView, CheckpointEntry, InboxMessage } from '../core/machine-record.ts'
import type { JobRecord } from '../core/record.ts'
import { isEnded } from '../core/lifecycle.ts'
import { toPayload, type Json } from '../core/payload.ts'
import { payloadLimits } from '../core/limits.ts'
import type { SendAnswer, SendRequest, Store } from '../store.ts'
import { promised, refusedBy } from './answer.ts'
import type { FollowOptions } from './follow.ts'
import type { EventHub } from './event-hub.ts'
import { unknownType } from './not-found.ts'

export interface MachineCallsOptions {
  readonly store: Store
  readonly hub: EventHub
  readonly jobs: ReadonlyMap<string, JobDefinition>
  readonly follow: () => FollowOptions
  /** @throws JobchartError NOT_FOUND */
  readonly record: (id: string) => Promise<JobRecord>
}

/** A job that changes all the time is written to however it stands after so many looks at it. */
const looksMax = 20
/** Across processes a hint may be missed. */
const pollMs = 250

export class MachineCalls {
  private readonly options: MachineCallsOptions
  /** The last send to each job that is under way. */
  private readonly turns = new Map<string, Promise<void>>()
  /** One for each machine: what they remember is of this store. */
  private readonly viewers = new WeakMap<MachineRunner, MachineViewer>()

  constructor(options: MachineCallsOptions) {
    this.options = options
  }

  /** @throws JobchartError NOT_FOUND, NOT_ACCEPTED, CAPACITY, INVALID_INPUT, UNKNOWN_TYPE, STORE_UNAVAILABLE */
  async send(id: string, event: { readonly type: string }, choice: SendSettings): Promise<void> {
    const message = messageOf(event)
    // One after the other, so that they keep their order and none is in the way of the next.
    const turn = (this.turns.get(id) ?? Promise.resolve()).then(() => this.sendNow(id, message, choice))
    const over = turn.catch(() => {})
    this.turns.set(id, over)
    await over
    if (this.turns.get(id) === over) this.turns.delete(id)
    return turn
  }

  private async sendNow(id: string, message: EventMessage, { key, always }: SendSettings): Promise<void> {
    const event = message.event as { readonly type: string }
    const request = { id, message, key: key ?? nanoid() }
    // Sent again by its key, it may have been read already, and its state would not take it a second time.
    if (key !== undefined && (await this.put({ ...request, expect: never })).outcome === 'duplicate') return
    for (let looks = 1; ; looks++) {
      const record = await this.options.record(id)
      if (isEnded(record.state)) throw hasEnded(record)
      // A process that does not know the type cannot tell whether it is a machine, either.
      if (always && this.options.jobs.has(record.type)) this.runnerOf(record, 'take events')
      else if (!always && !this.expected(record, 'take events').can(event)) throw notAccepted(record, event.type)
      const expect = { checkpoint: record.checkpoint?.number ?? 0, lastMessageNumber: record.lastMessageNumber }
      const { outcome } = await this.put({ ...request, expect: always || looks >= looksMax ? null : expect })
      if (outcome === 'kept' || outcome === 'duplicate') return
      if (outcome === 'full') throw inboxFull(id)
    }
  }

  async can(id: string, event: { readonly type: string }): Promise<boolean> {
    const record = await this.options.record(id)
    return !isEnded(record.state) && !isForged(event.type) && this.expected(record, 'take events').can(event)
  }

  async view(id: string): Promise<MachineView> {
    const record = await this.options.record(id)
    if (record.checkpoint === null) return this.expected({ ...record, inbox: [] }, 'show a snapshot')
    return this.runnerOf(record, 'show a snapshot').viewAt(record.checkpoint.state)
  }

  /** Where its machine will stand when it has read what waits for it. */
  private expected(record: JobRecord, what: string): MachineView {
    const host = this.runnerOf(record, what)
    let viewer = this.viewers.get(host)
    if (viewer === undefined) this.viewers.set(host, (viewer = host.viewer()))
    return viewer(record, this.options.store.now())
  }

  async checkpoints(id: string): Promise<readonly CheckpointEntry[]> {
    this.runnerOf(await this.options.record(id), 'list checkpoints')
    return this.options.store.checkpoints(id)
  }

  /** Where it stood when `seq` was the last that had happened. @throws JobchartError NOT_FOUND */
  async viewAt(id: string, seq: number): Promise<MachineView> {
    const host = this.runnerOf(await this.options.record(id), 'show a snapshot')
    return host.viewAt((await this.checkpointAt(id, seq)).state)
  }

  /** What a fork needs: the job, and the state to go on from. @throws JobchartError NOT_FOUND */
  async origin(id: string, seq: number): Promise<{ readonly record: JobRecord; readonly state: Json }> {
    const record = await this.options.record(id)
    this.runnerOf(record, 'be forked')
    return { record, state: (await this.checkpointAt(id, seq)).state }
  }

  /** Resolves when a checkpoint of the job is as wanted. @throws TimeoutError, AbortError, JobDeadError, JobCancelledError, NOT_ACCEPTED */
  waitFor(
    id: string,
    what: WaitCondition,
    timeoutMs: number | null,
    signal: AbortSignal | undefined,
  ): Promise<MachineView> {
    const wanted = typeof what === 'string' ? (view: MachineView) => view.hasTag(what) || view.matches(what) : what
    const { timers, onChange, onEnd } = this.options.follow()
    return new Promise((resolve, reject) => {
      const offs: (() => void)[] = []
      const done = (settle: () => void): void => {
        for (const off of offs.splice(0)) off()
        settle()
      }
      const failed = (error: unknown): void => done(() => reject(error))
      let looking = false
      let again = false
      const look = async (): Promise<void> => {
        again = looking
        if (looking) return
        looking = true
        try {
          const record = await this.options.record(id)
          const host = this.runnerOf(record, 'reach a state of one')
          if (typeof what === 'string') host.checkName(what)
          const view = record.checkpoint === null ? null : host.viewAt(record.checkpoint.state)
          if (view !== null && wanted(view)) done(() => resolve(view))
          else if (isEnded(record.state)) failed(endedElsewhere(record))
        } catch (error) {
          failed(error)
        }
        looking = false
        if (again && offs.length > 0) await look()
      }
      let polling: Timer | null = null
      const poll = (): void => {
        polling = timers.after(pollMs, () => void look().then(() => offs.length > 0 && poll()))
      }
      offs.push(() => polling?.cancel())
      offs.push(onChange(() => void look()))
      offs.push(
        onEnd(() =>
          failed(new JobchartError('STOPPED', `the runtime stopped before job ${id} reached the awaited state`)),
        ),
      )
      if (timeoutMs !== null) {
        const timer = timers.after(timeoutMs, () =>
          failed(new TimeoutError(`job ${id} did not reach the awaited state within ${timeoutMs} ms`)),
        )
        offs.push(() => timer.cancel())
      }
      const onAbort = (): void => failed(new AbortError('waiting was aborted', signal?.reason))
      signal?.addEventListener('abort', onAbort, { once: true })
      offs.push(() => signal?.removeEventListener('abort', onAbort))
      if (signal?.aborted === true) return onAbort()
      poll()
      void look()
    })
  }

  /** @param asked what the caller wants of its machine, after "cannot" */
  private runnerOf({ id, type }: JobRecord, asked: string): MachineRunner {
    const job = this.options.jobs.get(type)
    if (job === undefined) throw unknownType(type)
    if (job.machine !== null) return job.machine
    throw new JobchartError('NOT_ACCEPTED', `job ${id} (${type}) has no machine, so it cannot ${asked}`, {
      hint: 'Only jobs defined with `machine` can. For this one use record(), state$, events() and result().',
    })
  }

  private async checkpointAt(id: string, seq: number): Promise<CheckpointEntry> {
    const entries = await this.options.store.checkpoints(id)
    const entry = entries.findLast((each) => each.seq <= seq)
    if (entry !== undefined) return entry
    throw new JobchartError('NOT_FOUND', `job ${id} has no checkpoint at ${seq} any more`, {
      hint: 'The oldest are dropped; `job.checkpoints()` lists those that are kept.',
    })
  }

  private put(request: SendRequest): Promise<SendAnswer> {
    return promised(
      () => this.options.store.send([request]),
      ([answer]) => {
        if (answer?.outcome === 'failed') {
          throw refusedBy(this.options.store.name, `an event to job ${request.id}`, answer.error)
        }
        if (answer?.move !== undefined) this.options.hub.emit(answer.move)
        return answer as SendAnswer
      },
    )
  }
}

/** No job is ever as this: only a message with the same key is found. */
const never = { checkpoint: -1, lastMessageNumber: -1 }

/** What XState tells itself: nobody else may say that an actor has ended or a time has come. A route is asked for from outside. */
const isForged = (type: string): boolean => type.startsWith('xstate.') && type !== 'xstate.route'

type EventMessage = InboxMessage & { readonly kind: 'event' }

function messageOf(event: { readonly type: string }): EventMessage {
  if (typeof event?.type !== 'string' || event.type === '') {
    throw new JobchartError('INVALID_INPUT', `the event sent: expected an object with a type, got ${describe(event)}`, {
      hint: "Send an object such as { type: 'APPROVE' }.",
    })
  }
  if (isForged(event.type)) {
    throw new JobchartError(
      'NOT_ACCEPTED',
      `${event.type} is an event of XState itself, which is not sent from outside`,
      {
        hint: 'Give the machine an event of its own.',
      },
    )
  }
  return { kind: 'event', event: toPayload(event, 'INVALID_INPUT', payloadLimits, 'event', event.type) }
}

const notAccepted = ({ id, type, checkpoint }: JobRecord, event: string): JobchartError =>
  new JobchartError(
    'NOT_ACCEPTED',
    `job ${id} (${type}) does not take ${event} in its present state${checkpoint === null ? ', its start' : ''}`,
    {
      hint: 'Ask job.can(event) first, or wait with job.waitFor(state); job.snapshot() shows its state.',
    },
  )

const hasEnded = ({ id, state }: JobRecord): JobchartError =>
  new JobchartError('NOT_ACCEPTED', `job ${id} is ${state}: it takes no events any more`, {
    hint: 'Look at record().state first; runtime.retry(id) sends a dead or cancelled job through again.',
  })

const inboxFull = (id: string): JobchartError =>
  new JobchartError('CAPACITY', `the inbox of job ${id} is full: it holds events that its machine has not read`, {
    hint: 'Send again later. Does a runtime of its type run, and does its machine come to rest?',
  })

function endedElsewhere(record: JobRecord): JobchartError {
  const { id, state } = record
  if (state !== 'done') return endError(id, record)
  return new JobchartError('NOT_ACCEPTED', `job ${id} is done and did not reach the awaited state`, {
    hint: 'job.checkpoints() lists the states it went through.',
  })
}
