/** The handle of a job: awaits, observes and controls it. */
import { AbortError, JobCancelledError, JobchartError, JobDeadError, TimeoutError } from '../core/errors.ts'
import {
  waitOptions,
  type CancelOptions,
  type CancelReport,
  type EnqueueOptions,
  type RetryFrom,
  type SendOptions,
  type WaitOptions,
} from '../core/call-options.ts'
import type { MachineEvent, MachineTypes, MachineView, CheckpointEntry } from '../core/machine-record.ts'
import type { EnqueueOutcome, JobHandle, JobSnapshot, ResultOptions, WaitCondition } from '../core/handle.ts'
import type { IterateOptions, Stream } from '../core/stream.ts'
import { copyPayload } from '../core/payload.ts'
import { reviveError } from '../core/failure.ts'
import type { AnyJobEvent, JobEvent, JobRecord } from '../core/record.ts'
import { actorAt, isArrow, type JobActor, type JobCounters, type JobState } from '../core/lifecycle.ts'

/** The calls of a handle to the client that made it. */
export interface HandleServices {
  /**
   * @param done is called instead of `ended` with an event of this process by which the job is done
   * @param mayEndSoon the job was inserted just now
   */
  whenEnded(
    id: string,
    ended: (record: JobRecord | null) => void,
    closed: (reason: JobchartError) => void,
    done: (event: AnyJobEvent) => void,
    mayEndSoon: boolean,
  ): () => void
  /** A wait for a job begins. @returns to be called at its end */
  waits(id: string): () => void
  after(delayMs: number, run: () => void): { cancel(): void }
  record(id: string): Promise<JobRecord>
  cancel(id: string, options?: CancelOptions): Promise<CancelReport>
  retry(id: string, options?: RetryFrom): Promise<unknown>
  fork<Output, Machine extends MachineTypes>(
    id: string,
    seq: number,
    options?: EnqueueOptions,
  ): Promise<JobHandle<Output, Machine>>
  send(id: string, type: string, event: MachineEvent, options: SendOptions): Promise<void>
  can(id: string, event: MachineEvent): Promise<boolean>
  view<Machine extends MachineTypes>(id: string): Promise<MachineView<Machine>>
  viewAt<Machine extends MachineTypes>(id: string, seq: number): Promise<MachineView<Machine>>
  checkpoints(id: string): Promise<readonly CheckpointEntry[]>
  waitFor<Machine extends MachineTypes>(
    id: string,
    what: WaitCondition<Machine>,
    timeoutMs: number | null,
    signal?: AbortSignal,
    stored?: () => Promise<string>,
  ): Promise<MachineView<Machine>>
  snapshot$<Machine extends MachineTypes>(id: string): Stream<JobSnapshot<Machine>>
  state$(id: string): Stream<JobState>
  events$(id: string): Stream<JobEvent>
  /**
   * Calls `listener` with events after `seq`, past and future, until the job ends or the returned function is called.
   */
  eventsSince(id: string, seq: number, listener: (event: AnyJobEvent) => void): () => void
}

/** Called with the handle of a job as soon as the store has answered, before the enqueue resolves. */
export type Inserted<Output, Machine extends MachineTypes> = (handle: ClientHandle<Output, Machine>) => void

export class ClientHandle<Output, Machine extends MachineTypes> implements JobHandle<Output, Machine> {
  id: string
  readonly type: string
  outcome: EnqueueOutcome
  sameInput: boolean
  private readonly services: HandleServices
  /** As of the last record that was read. */
  private state: JobState
  private seq: number
  private counters: JobCounters

  constructor(
    services: HandleServices,
    id: string,
    type: string,
    outcome: EnqueueOutcome,
    sameInput: boolean,
    state: JobState,
    seq: number,
    counters: JobCounters,
  ) {
    this.services = services
    this.id = id
    this.type = type
    this.outcome = outcome
    this.sameInput = sameInput
    this.state = state
    this.seq = seq
    this.counters = counters
  }

  get deduplicated(): boolean {
    return this.outcome === 'kept' || this.outcome === 'replaced'
  }

  async stored(options: WaitOptions = {}): Promise<void> {
    waitOptions(options, 'options of stored')
  }

  /** What the enqueue has led to, if that was known only after a commit. */
  protected became(id: string, outcome: EnqueueOutcome, sameInput: boolean): void {
    this.id = id
    this.outcome = outcome
    this.sameInput = sameInput
  }

  /** @param mayEndSoon the job was inserted just now: a result by an event needs no read of the store */
  result(options: ResultOptions = {}, mayEndSoon = false): Promise<Output> {
    const done = ({ to, seq, attempt }: AnyJobEvent): void => {
      this.state = to
      this.seq = seq
      this.counters = { ...this.counters, attempt }
    }
    const see = { record: (record: JobRecord) => void this.remember(record), done }
    return waitForResult<Output>(this.services, this.id, options, see, mayEndSoon)
  }

  async record(): Promise<JobRecord> {
    return this.remember(await this.services.record(this.id))
  }

  get snapshot$(): Stream<JobSnapshot<Machine>> {
    return this.services.snapshot$(this.id)
  }

  get state$(): Stream<JobState> {
    return this.services.state$(this.id)
  }

  get events$(): Stream<JobEvent> {
    return this.services.events$(this.id)
  }

  events(options?: IterateOptions): AsyncIterableIterator<JobEvent, undefined> {
    return this.events$.iterate(options)
  }

  cancel(options?: CancelOptions): Promise<CancelReport> {
    return this.services.cancel(this.id, options)
  }

  async retry(options?: RetryFrom): Promise<void> {
    await this.services.retry(this.id, options)
  }

  // ── machines ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async send(event: Machine['event'], options: SendOptions = {}): Promise<void> {
    return this.services.send(this.id, this.type, event, options)
  }

  can(event: Machine['event']): Promise<boolean> {
    return this.services.can(this.id, event)
  }

  snapshot(): Promise<MachineView<Machine>> {
    return this.services.view(this.id)
  }

  checkpoints(): Promise<readonly CheckpointEntry[]> {
    return this.services.checkpoints(this.id)
  }

  snapshotAt(seq: number): Promise<MachineView<Machine>> {
    return this.services.viewAt(this.id, seq)
  }

  fork(seq: number, options?: EnqueueOptions): Promise<JobHandle<Output, Machine>> {
    return this.services.fork(this.id, seq, options)
  }

  async waitFor(wanted: WaitCondition<Machine>, options: ResultOptions = {}): Promise<MachineView<Machine>> {
    const { timeout, signal } = waitOptions(options, 'options of waitFor')
    return this.services.waitFor(this.id, wanted, timeout, signal)
  }

  actor(): JobActor {
    const actor = actorAt(this.state, this.counters)
    const off = this.services.eventsSince(this.id, this.seq, (event) => {
      if (event.event === 'FAIL') actor.send({ type: 'FAIL', fatal: event.to === 'dead' })
      else if (isArrow(event.event)) actor.send({ type: event.event })
    })
    actor.subscribe({ complete: off })
    return actor
  }

  private remember(record: JobRecord): JobRecord {
    const { state, attempt, maxAttempts, generation, history } = record
    this.state = state
    this.seq = history.at(-1)?.seq ?? 0
    this.counters = { attempt, maxAttempts, generation }
    return record
  }
}

function waitForResult<Output>(
  services: HandleServices,
  id: string,
  options: ResultOptions,
  see: { readonly record: (record: JobRecord) => void; readonly done: (event: AnyJobEvent) => void },
  mayEndSoon: boolean,
): Promise<Output> {
  return new Promise((resolve, reject) => {
    const { timeout: timeoutMs, signal } = waitOptions(options, 'options of result')
    if (signal?.aborted) return reject(new AbortError('waiting for the result was aborted', signal.reason))
    const done = (settle: () => void): void => {
      off()
      waited()
      timer?.cancel()
      signal?.removeEventListener('abort', onAbort)
      settle()
    }
    const onAbort = (): void => done(() => reject(new AbortError('waiting for the result was aborted', signal?.reason)))
    const timer =
      timeoutMs === null ? null : services.after(timeoutMs, () => done(() => reject(timedOut(id, timeoutMs))))
    signal?.addEventListener('abort', onAbort, { once: true })
    const waited = services.waits(id)
    const ended = (record: JobRecord | null): void => {
      if (record !== null) see.record(record)
      if (record?.state === 'done') resolve(record.output as Output)
      else reject(endError(id, record))
    }
    const off = services.whenEnded(
      id,
      (record) => done(() => ended(record)),
      (reason) => done(() => reject(reason)),
      (event) =>
        done(() => {
          see.done(event)
          // A copy of its own: the listeners of the event have the same value.
          resolve(copyPayload(event.value) as Output)
        }),
      mayEndSoon,
    )
  })
}

/** A new job that is scheduled without a due time waits for the end of another one. */
export const outcomeOfNew = ({ state, dueAt }: Pick<JobRecord, 'state' | 'dueAt'>): EnqueueOutcome =>
  state === 'scheduled' && dueAt === null ? 'following' : 'inserted'

const timedOut = (id: string, timeoutMs: number): TimeoutError =>
  new TimeoutError(`job ${id} did not end within ${timeoutMs} ms`, {
    hint: 'The job continues: call result() again, or read record().state. Check that a runtime with this job type is running.',
  })

/** The error for waiters of a job that is dead, cancelled or not in the store. */
export function endError(id: string, record: JobRecord | null): JobchartError {
  if (record === null) {
    return new JobchartError('NOT_FOUND', `job ${id} is not in the store`, {
      hint: 'It was pruned or discarded; keep ended jobs longer with `retention`.',
    })
  }
  if (record.state === 'cancelled') return new JobCancelledError(id, record.cancelReason ?? undefined)
  const cause = record.error === null ? undefined : reviveError(record.error)
  const unread = record.inbox.length
  const dropping = `If the first of the ${unread} unread messages makes the machine fail: runtime.retry(id, { dropInbox: 1 }).`
  return new JobDeadError(id, `job ${id} (${record.type}) is dead: ${record.error?.message ?? 'its worker died'}`, {
    cause,
    ...(unread > 0 && {
      hint: `See record().errors and .logs; runtime.retry(id) runs it again. ${dropping}`,
    }),
  })
}
