/** Calls to machine jobs from outside: sends events, reads current and past states, and finds the origin of forks. */
import { nanoid } from 'nanoid'
import { checkId, sendSettings, type CancelOptions, type SendOptions, type SendSettings } from '../core/call-options.ts'
import type { JobDefinition, Judge, MachineRunner, MachineViewer } from '../core/definition.ts'
import { AbortError, describe, JobchartError, TimeoutError } from '../core/errors.ts'
import { endError } from './handle.ts'
import type { WaitCondition } from '../core/handle.ts'
import {
  cancelEvent,
  isForged,
  isForgottenCancel,
  type MachineTypes,
  type MachineView,
  type StatePath,
  type CheckpointEntry,
} from '../core/machine-record.ts'
import type { JobRecord } from '../core/record.ts'
import { isEnded } from '../core/lifecycle.ts'
import { toPayload, type Json } from '../core/payload.ts'
import { storedView } from '../core/stored-view.ts'
import { ownValue } from '../core/own-value.ts'
import { payloadLimits } from '../core/limits.ts'
import type { OpenTransaction, SendRequest, SynchronousTransaction, WorkerRecord } from '../store.ts'
import type { FollowOptions } from './follow.ts'
import { notFound, unknownType } from './not-found.ts'
import type { RecordWatch } from './record-watch.ts'
import { Sends, type CallServices, type EventMessage } from './sends.ts'
import { checkEvent, checkEventNow } from './validate.ts'
import type { Transactions } from './transactions.ts'
import type { Waits } from './waits.ts'

interface MachineCallsOptions extends CallServices {
  readonly follow: () => FollowOptions
  readonly watch: RecordWatch
  readonly cancel: (id: string, options: CancelOptions) => Promise<unknown>
  readonly waits: Waits
  readonly transactions: Transactions
}

export class MachineCalls {
  private readonly options: MachineCallsOptions
  private readonly sends: Sends
  /** One per machine: viewers cache states of this store's jobs. */
  private readonly viewers = new WeakMap<MachineRunner, MachineViewer>()

  constructor(options: MachineCallsOptions) {
    this.options = options
    this.sends = new Sends({
      ...options,
      admit: (record, event, accept) => this.admit(record, event, accept),
      guessed: (record) => this.forgetViews(record),
      cancel: (record, event) => this.cancelByEvent(record, event),
    })
  }

  /**
   * Sends an event, within the transaction that the call joins, if there is one.
   * @param job the definition that the caller has said the job is of
   * @throws JobchartError as `send`, and as `sendWithin`
   */
  async sendOrJoin(
    id: string,
    event: { readonly type: string },
    options: SendOptions,
    job: JobDefinition | undefined,
  ): Promise<void> {
    const tx = this.options.transactions.of(options)
    if (tx === null) return this.sends.send(id, messageOf(event), sendSettings(options), job?.type)
    return this.sendWithin(tx, id, event, sendSettings(options, true), job)
  }

  /**
   * Delivers an event after the commit of a transaction.
   * @param job the definition that the caller has passed: its schema checks the event
   * @throws JobchartError INVALID_INPUT, NOT_ACCEPTED for the event of a cancel; and as `Transactions.write`
   */
  private async sendWithin(
    tx: OpenTransaction,
    id: string,
    event: { readonly type: string },
    settings: SendSettings,
    job: JobDefinition | undefined,
  ): Promise<void> {
    const request = requestWithin(id, event, settings)
    await this.options.ready()
    await checkEvent(job, request.message.event)
    await this.options.transactions.write(tx, [{ kind: 'send', request }])
  }

  /** As `sendWithin`, and it is written when this returns. @throws JobchartError as that; UNSUPPORTED */
  sendWithinNow(
    tx: SynchronousTransaction,
    id: string,
    event: { readonly type: string },
    settings: SendSettings,
    job: JobDefinition | undefined,
  ): void {
    const request = requestWithin(id, event, settings)
    checkEventNow(job, request.message.event)
    this.options.transactions.writeNow(tx, [{ kind: 'send', request }])
  }

  /** @throws JobchartError NOT_ACCEPTED, UNKNOWN_TYPE */
  private async admit(record: JobRecord, event: { readonly type: string }, accept: SendSettings['accept']) {
    if (accept === 'now') return this.judge(record, event)
    // Without the definition this process does not know whether the job has a machine.
    if (this.options.jobs.has(record.type)) this.runnerOf(record, 'take events')
    return null
  }

  /**
   * Asks the machine, as this process knows it, whether it takes an event.
   * @returns its name if another definition has written the last checkpoint, or none is written yet: a worker that
   * knows only
   *   another one keeps the event; otherwise null
   * @throws JobchartError NOT_ACCEPTED, also if no live worker knows the event
   */
  private async judge(record: JobRecord, event: { readonly type: string }): Promise<string | null> {
    const judge = this.runnerOf(record, 'take events').judgeOf(record)
    if (!this.expectedView(record, 'take events').can(event)) throw notAccepted(record, event.type, judge)
    if (judge.isThatOfJob) return null
    if (record.checkpoint !== null && !(await this.isKnownToWorkers(record.type, event.type, judge.name)))
      throw unknownToWorkers(record, event.type)
    return judge.name
  }

  /**
   * Does a live worker of the type know an event, or the definition that has judged it? Also if there is no such
   * worker.
   */
  private async isKnownToWorkers(type: string, event: string, definition: string): Promise<boolean> {
    const { store } = this.options
    const workers = (await store.workers()).filter(({ types, lost }) => types.includes(type) && !lost)
    const knows = ({ definitions, events }: WorkerRecord): boolean =>
      ownValue(definitions, type)?.split(', ').includes(definition) === true ||
      (ownValue(events, type) ?? []).some((each) => isNamedBy(each, event))
    return workers.length === 0 || workers.some(knows)
  }

  /**
   * The event of a cancel is sent by a cancel alone: so the job ends as cancelled, with the reason. @throws
   * JobchartError NOT_ACCEPTED
   */
  private async cancelByEvent(
    record: JobRecord,
    event: { readonly type: string; readonly reason?: unknown },
  ): Promise<void> {
    const judge = this.runnerOf(record, 'take events').judgeOf(record)
    // A second cancel would end the job.
    if (record.inbox.some(({ message }) => message.kind === 'cancel' && !isForgottenCancel(message, record.generation)))
      return
    if (record.cancelReason !== null || !judge.takesCancel()) throw notAccepted(record, cancelEvent, judge)
    const { reason } = event
    await this.options.cancel(record.id, { ...(typeof reason === 'string' && { reason }), tx: null })
  }

  async can(id: string, event: { readonly type: string }): Promise<boolean> {
    const record = await this.options.record(id)
    if (isEnded(record.state)) return false
    if (event.type === cancelEvent)
      return record.cancelReason === null && this.runnerOf(record, 'take events').judgeOf(record).takesCancel()
    return !isForged(event.type) && this.expectedView(record, 'take events').can(event)
  }

  async view<Machine extends MachineTypes>(id: string): Promise<MachineView<Machine>> {
    const record = await this.options.record(id)
    if (record.checkpoint === null) return this.expectedView({ ...record, inbox: [] }, 'show a snapshot')
    return this.shown(record, record.checkpoint.state, record.machineTags)
  }

  /** A checkpoint of a job; as it is stored, if this process does not list the definition. */
  shown<Machine extends MachineTypes>(
    record: JobRecord,
    state: Json,
    tags: readonly string[] = [],
  ): MachineView<Machine> {
    if (!this.options.jobs.has(record.type)) return storedView(state, tags, unknownType(record.type))
    return this.runnerOf(record, 'show a snapshot').viewAt(state, tags)
  }

  /** The state of the machine after its unread messages and due timers. */
  private expectedView<Machine extends MachineTypes>(record: JobRecord, what: string): MachineView<Machine> {
    const runner = this.runnerOf(record, what)
    let viewer = this.viewers.get(runner)
    if (viewer === undefined) this.viewers.set(runner, (viewer = runner.viewer()))
    return viewer(record, this.options.store.now())
  }

  private forgetViews({ type }: JobRecord): void {
    const runner = this.options.jobs.get(type)?.machine
    if (runner) this.viewers.delete(runner)
  }

  async checkpoints(id: string): Promise<readonly CheckpointEntry[]> {
    const record = await this.options.record(id)
    if (this.options.jobs.has(record.type)) this.runnerOf(record, 'list checkpoints')
    return this.options.store.checkpoints(id)
  }

  /** The state of the machine at its last checkpoint up to `seq`. @throws JobchartError NOT_FOUND */
  async viewAt<Machine extends MachineTypes>(id: string, seq: number): Promise<MachineView<Machine>> {
    const record = await this.options.record(id)
    if (this.options.jobs.has(record.type)) this.runnerOf(record, 'show a snapshot')
    return this.shown(record, (await this.checkpointAt(id, seq)).state)
  }

  /** The job to fork and the state to start from. @throws JobchartError NOT_FOUND */
  async origin(id: string, seq: number): Promise<{ readonly record: JobRecord; readonly state: Json }> {
    const record = await this.options.record(id)
    this.runnerOf(record, 'be forked')
    return { record, state: (await this.checkpointAt(id, seq)).state }
  }

  /**
   * Resolves when a checkpoint of the job meets the condition. The limits hold from the call on.
   * @param stored resolves with the id of the job when it is stored; null: it is
   * @throws TimeoutError, AbortError, JobDeadError, JobCancelledError, NOT_ACCEPTED
   */
  waitFor<Machine extends MachineTypes>(
    id: string,
    what: WaitCondition<Machine>,
    timeoutMs: number | null,
    signal: AbortSignal | undefined,
    stored: (() => Promise<string>) | null = null,
  ): Promise<MachineView<Machine>> {
    const wanted =
      typeof what === 'string'
        ? (view: MachineView<Machine>) => view.hasTag(what) || view.matches(what as StatePath<Machine['value']>)
        : what
    const { timers, onEnd } = this.options.follow()
    return new Promise((resolve, reject) => {
      const offs: (() => void)[] = []
      let isOver = false
      const done = (settle: () => void): void => {
        isOver = true
        for (const off of offs.splice(0)) off()
        settle()
      }
      const failed = (error: unknown): void => done(() => reject(error))
      const check = (record: JobRecord | null): void => {
        try {
          if (record === null) throw notFound(id)
          const runner = this.runnerOf(record, 'reach a state of one')
          if (typeof what === 'string') runner.checkName(what)
          const view =
            record.checkpoint === null ? null : runner.viewAt<Machine>(record.checkpoint.state, record.machineTags)
          if (view !== null && wanted(view)) done(() => resolve(view))
          else if (isEnded(record.state)) failed(endedBeforeState(record))
        } catch (error) {
          failed(error)
        }
      }
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
      const begin = (job: string): void => {
        if (isOver) return
        offs.push(this.options.waits.begin(job))
        offs.push(this.options.watch.watch(job, { record: check, failed }))
      }
      if (stored === null) begin(id)
      else stored().then(begin, failed)
    })
  }

  /** @param asked what the caller asks for, to follow "cannot" in the message */
  private runnerOf({ id, type }: JobRecord, asked: string): MachineRunner {
    const job = this.options.jobs.get(type)
    if (job === undefined) throw unknownType(type)
    if (job.machine !== null) return job.machine
    throw new JobchartError('NOT_ACCEPTED', `job ${id} (${type}) has no machine, so it cannot ${asked}`, {
      hint: 'Only jobs defined with `machine` can. Use record(), state$, events$ and result() for this one.',
    })
  }

  private async checkpointAt(id: string, seq: number): Promise<CheckpointEntry> {
    const entries = await this.options.store.checkpoints(id)
    const entry = entries.findLast((each) => each.seq <= seq)
    if (entry !== undefined) return entry
    throw new JobchartError('NOT_FOUND', `job ${id} has no checkpoint at ${seq} any more`, {
      hint: 'Old checkpoints are dropped; `job.checkpoints()` lists those that are kept.',
    })
  }
}

/** What a send in a transaction asks for. @throws JobchartError INVALID_OPTION, INVALID_INPUT, NOT_ACCEPTED */
function requestWithin(
  id: string,
  event: { readonly type: string },
  { key, keepMs }: SendSettings,
): SendRequest & { readonly message: EventMessage } {
  checkId(id)
  const sent = messageOf(event)
  if (event.type === cancelEvent) {
    const hint = 'Cancel the job instead: cancel(id, { tx }).'
    throw new JobchartError('NOT_ACCEPTED', `${cancelEvent} cannot be sent in a transaction`, { hint })
  }
  const message = { ...sent, ...(key !== undefined && { key }), ...(keepMs !== undefined && { keepMs }) }
  return { id, message, key: key ?? nanoid(), expect: null }
}

function messageOf(event: { readonly type: string }): EventMessage {
  if (typeof event?.type !== 'string' || event.type === '') {
    throw new JobchartError('INVALID_INPUT', `the event sent: expected an object with a type, got ${describe(event)}`, {
      hint: "Send an object such as { type: 'APPROVE' }.",
    })
  }
  if (isForged(event.type)) {
    throw new JobchartError('NOT_ACCEPTED', `${event.type} is an internal event of XState and cannot be sent`, {
      hint: 'Define an event of your own in the machine.',
    })
  }
  return { kind: 'event', event: toPayload(event, 'INVALID_INPUT', payloadLimits, 'event', event.type) }
}

/** Does an event of a chart, which may be a wildcard, name this one? */
const isNamedBy = (descriptor: string, event: string): boolean =>
  descriptor === event || descriptor === '*' || (descriptor.endsWith('.*') && event.startsWith(descriptor.slice(0, -1)))

function notAccepted({ id, type, checkpoint }: JobRecord, event: string, judge: Judge): JobchartError {
  const version = judge.versionOfJob
  const versions = judge.versionsThatKnow(event)
  const message = `job ${id} (${type}) does not accept ${event} in its current state${checkpoint === null ? ', its start' : ''}`
  const isNewer = version !== null && versions.length > 0 && !versions.includes(version)
  return new JobchartError('NOT_ACCEPTED', message, {
    hint: isNewer
      ? `The job is at version ${version} of its machine; version ${versions.join(' and ')} knows ${event}. ${keepHint}`
      : `Call job.can(event) first, or wait with job.waitFor(state); job.snapshot() shows the state. ${keepHint}`,
  })
}

const keepHint = "Sent with { accept: 'later' }, an event is kept until a state takes it."

const unknownToWorkers = ({ id, type }: JobRecord, event: string): JobchartError =>
  new JobchartError('NOT_ACCEPTED', `job ${id} (${type}) does not accept ${event}: no worker knows this event yet`, {
    hint: `This process has another definition of the machine than the job and all live workers. Deploy the workers first. ${keepHint}`,
  })

function endedBeforeState(record: JobRecord): JobchartError {
  const { id, state } = record
  if (state !== 'done') return endError(id, record)
  return new JobchartError('NOT_ACCEPTED', `job ${id} is done, and not in the awaited state`, {
    hint: 'job.checkpoints() lists its states.',
  })
}
