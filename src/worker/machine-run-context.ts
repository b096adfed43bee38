/** Implements the context of a machine's run with the parts of the worker: commits, steps, messages and child jobs. */
import type { Random, Timer } from '../core/clock.ts'
import type { JobDefinition, ChildEnd, MachineRunContext } from '../core/definition.ts'
import type { JobchartError } from '../core/errors.ts'
import { inheritFrom, type Inherit } from '../core/inherit.ts'
import type { Inspect } from '../core/inspection.ts'
import type { Logger } from '../core/logger.ts'
import type { InboxEntry, NewCheckpoint, Parent } from '../core/machine-record.ts'
import type { OpenTransaction } from '../core/open-transaction.ts'
import type { Json } from '../core/payload.ts'
import type { JobRecord } from '../core/record.ts'
import type { EnqueueOptions } from '../core/call-options.ts'
import type { CheckpointAnswer, Store } from '../store.ts'
import { refusedBy } from '../client/answer.ts'
import type { EventHub } from '../client/event-hub.ts'
import { untilFree } from '../client/held.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { InboxChecks } from './inbox-checks.ts'
import { Mailbox, type Run } from './attempt.ts'
import { withMeta } from './event-meta.ts'
import type { Timers } from '../client/timers.ts'

export interface MachineRunContextOptions {
  readonly store: Store
  readonly worker: string
  readonly hub: EventHub
  readonly timers: Timers
  readonly heartbeat: Heartbeat
  readonly checkpoints: Checkpoints
  readonly inboxChecks: InboxChecks
  /** Enqueues a child; gives its record if it was there before. */
  readonly enqueueChild: (
    job: JobDefinition,
    input: unknown,
    options: EnqueueOptions,
    parent: Parent,
  ) => Promise<JobRecord | null>
  readonly cancel: MachineRunContext['cancelChild']
  readonly random: Random
  readonly inspect: Inspect | null
  readonly log: (run: Run, message: string) => void
}

/**
 * The context of one run. It is a class, with methods and not with members that are functions, because V8 makes an
 * object literal that mostly outlives young memory, and the functions in it, as old objects: each would keep the run
 * and its machine in memory until all of it is collected.
 */
export class WorkerRunContext implements MachineRunContext {
  readonly input: unknown
  private readonly run: Run
  private readonly options: MachineRunContextOptions
  /** Made at the first child. */
  private inherit: Inherit | null = null

  constructor(run: Run, input: unknown, options: MachineRunContextOptions) {
    this.run = run
    this.input = input
    this.options = options
  }

  get id(): string {
    return this.run.claimed.id
  }

  get type(): string {
    return this.run.claimed.type
  }

  get generation(): number {
    return this.run.claimed.generation
  }

  get checkpoint(): MachineRunContext['checkpoint'] {
    return this.run.claimed.checkpoint
  }

  get inbox(): readonly InboxEntry[] {
    return this.run.claimed.inbox
  }

  get steps(): MachineRunContext['steps'] {
    return this.run.claimed.steps
  }

  get logger(): Logger {
    return this.run.services.logger
  }

  get random(): Random {
    return this.options.random
  }

  get inspect(): Inspect | null {
    return this.options.inspect
  }

  hasFailed(): boolean {
    return this.run.claimed.record().errors.length > 0
  }

  onAbort(listener: (reason: unknown) => void): void {
    this.run.onAbort(listener)
  }

  now(): number {
    return this.options.store.now()
  }

  after(delayMs: number, go: () => void): Timer {
    return this.options.timers.after(delayMs, go)
  }

  onMessages(listener: (messages: readonly InboxEntry[]) => void): void {
    this.run.mailbox = new Mailbox(this.inbox.at(-1)?.number ?? 0, listener)
    this.options.inboxChecks.listens(this.run)
  }

  commit(next: NewCheckpoint): Promise<readonly InboxEntry[]> {
    const { run, options } = this
    if (run.span === null) return commit(run, next, options)
    return run.tracedPart('checkpoint', next.note, () => commit(run, next, options))
  }

  saveStep(name: string, result: Json, tx: OpenTransaction | null): ReturnType<MachineRunContext['saveStep']> {
    return this.run.services.saveStep(this.run, name, result, tx)
  }

  refusal(): JobchartError | null {
    return this.options.heartbeat.refusal(this.run)
  }

  log(message: string): void {
    this.options.log(this.run, message)
  }

  traced<T>(kind: 'actor' | 'step', name: string, work: () => T): T {
    return this.run.tracedPart(kind, name, work)
  }

  emitted(event: Json): void {
    emitted(this.run, event, this.options)
  }

  async enqueueChild(
    job: JobDefinition,
    input: unknown,
    options: EnqueueOptions,
    checkins: boolean,
  ): Promise<ChildEnd | null> {
    const { claimed } = this.run
    const inherit = (this.inherit ??= inheritFrom(claimed))
    const parent = { id: claimed.id, checkins }
    const record = await this.run.traced(() =>
      this.whenFree(() => this.options.enqueueChild(job, input, inherit(options), parent)),
    )
    return record === null ? null : endOf(record)
  }

  cancelChild(id: string): Promise<unknown> {
    return this.whenFree(() => this.options.cancel(id))
  }

  /** The handler of a job may hold it in its transaction for long: that is no failure of this attempt. */
  private whenFree<T>(call: () => Promise<T>): Promise<T> {
    return untilFree(call, () => this.run.ending === null && this.run.abortReason === null)
  }
}

/** Writes a checkpoint. Its number and the token make the write idempotent: it may be repeated. */
async function commit(
  run: Run,
  checkpoint: NewCheckpoint,
  options: MachineRunContextOptions,
): Promise<readonly InboxEntry[]> {
  const { store, heartbeat, checkpoints, inboxChecks, hub } = options
  const { id, attempt, token } = run.claimed
  const request = { id, attempt, token, checkpoint }
  const answer = await heartbeat.writeUntilAnswered(run, () => checkpoints.write(request, run))
  if (answer.outcome === 'lost') throw heartbeat.leaseRefused(run)
  if (answer.outcome === 'failed') throw refusedBy(store.name, `a checkpoint of job ${id}`, answer.error)
  inboxChecks.answered(run)
  run.maxAttempts = answer.maxAttempts
  if (answer.outcome === 'cancelling') heartbeat.cancelling(run, answer)
  if (hub.hasListener(id)) emitCheckpoint(run, checkpoint, answer, options)
  return answer.inbox
}

function emitCheckpoint(
  run: Run,
  { note: reason }: NewCheckpoint,
  { outcome, seq, at }: CheckpointAnswer,
  { hub, worker }: MachineRunContextOptions,
): void {
  const { id, type, attempt } = run.claimed
  const state = outcome === 'kept' ? 'running' : 'cancelling'
  const event = { seq, at, id, type, event: 'CHECKPOINT', from: state, to: state, attempt, worker, reason } as const
  hub.emit({ ...event, ...withMeta(run.claimed) })
}

function emitted(run: Run, value: Json, { hub, store, worker }: MachineRunContextOptions): void {
  const { id, type, seq, attempt } = run.claimed
  if (!hub.hasListener(id)) return
  const event = {
    seq,
    at: store.now(),
    id,
    type,
    event: 'EMIT',
    from: 'running',
    to: 'running',
    attempt,
    worker,
  } as const
  hub.emit({ ...event, value, ...withMeta(run.claimed) })
}

/** null if the job has not ended. */
function endOf({ id, state, output, error, cancelReason }: JobRecord): ChildEnd | null {
  if (state !== 'done' && state !== 'dead' && state !== 'cancelled') return null
  return {
    child: id,
    state,
    ...(output !== undefined && { output }),
    ...(error !== null && state === 'dead' && { error }),
    ...(cancelReason !== null && { reason: cancelReason }),
  }
}
