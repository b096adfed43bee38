/** A job in the caller's hand: wait for it, watch it, cancel it. */
import { AbortError, JobCancelledError, JobchartError, JobDeadError, TimeoutError } from './errors.ts'
import {
  sendChoice,
  waitLimits,
  type CancelOptions,
  type CancelReport,
  type EnqueueOptions,
  type RetryFrom,
  type SendChoice,
  type SendOptions,
  type WaitOptions,
} from './call-options.ts'
import type { MachineEvent } from './define-job.ts'
import type { MachineView } from './hosting.ts'
import type { IterateOptions } from './flow/iterate.ts'
import type { Stream } from './flow/stream.ts'
import { reviveError } from './job/failure.ts'
import type { JobEvent, JobRecord } from './job/job.ts'
import type { CheckpointEntry } from './job/machine.ts'
import { actorAt, isArrow, type JobActor, type JobCounters, type JobState } from './job/lifecycle.ts'

/** What a handle asks of the client that gave it. */
export interface HandleHost {
  whenEnded(id: string, told: (record: JobRecord | null) => void, closed: (reason: JobchartError) => void): () => void
  after(delayMs: number, run: () => void): { cancel(): void }
  record(id: string): Promise<JobRecord>
  cancel(id: string, options?: CancelOptions): Promise<CancelReport>
  retry(id: string, options?: RetryFrom): Promise<unknown>
  fork(id: string, seq: number, options?: EnqueueOptions): Promise<JobHandle>
  send(id: string, event: MachineEvent, choice: SendChoice): Promise<void>
  can(id: string, event: MachineEvent): Promise<boolean>
  view(id: string): Promise<MachineView>
  viewAt(id: string, seq: number): Promise<MachineView>
  checkpoints(id: string): Promise<readonly CheckpointEntry[]>
  waitFor(id: string, what: Wanted, timeoutMs: number | null, signal?: AbortSignal): Promise<MachineView>
  state$(id: string): Stream<JobState>
  events$(id: string): Stream<JobEvent>
  /** Calls `told` with what has happened since `seq` and what happens, until the job ends or the returned function is called. */
  eventsSince(id: string, seq: number, told: (event: JobEvent) => void): () => void
}

/** Gives up waiting after `timeout`, or when `signal` aborts; the job goes on. */
export type ResultOptions = WaitOptions

/** What is waited for: a state (`'paid.shipping'`), a tag, or whatever a function says. */
export type Wanted = string | ((view: MachineView) => boolean)

export class JobHandle<Output = unknown, Event extends MachineEvent = MachineEvent> {
  readonly id: string
  readonly type: string
  /** Was it there already: the same id, or the same unique key? */
  readonly deduplicated: boolean
  /**
   * Has the job the input of the call that gave this handle? False if it was there already, with another input: then that of
   * the call was not stored.
   */
  readonly sameInput: boolean
  private readonly host: HandleHost
  /** What it has seen of its job last. */
  private state: JobState
  private seq: number
  private counters: JobCounters

  /** Made by a runtime or client. */
  constructor(
    host: HandleHost,
    id: string,
    type: string,
    deduplicated: boolean,
    sameInput: boolean,
    state: JobState,
    seq: number,
    counters: JobCounters,
  ) {
    this.host = host
    this.id = id
    this.type = type
    this.deduplicated = deduplicated
    this.sameInput = sameInput
    this.state = state
    this.seq = seq
    this.counters = counters
  }

  /**
   * Waits for the job's end, in whichever process it comes.
   * @throws JobDeadError (its `cause` is the last error), JobCancelledError, TimeoutError, AbortError; NOT_FOUND if the
   *   record is gone (pruned or discarded); STOPPED if the runtime stops before the job has ended; INVALID_OPTION
   */
  result(options: ResultOptions = {}): Promise<Output> {
    return waitForResult<Output>(this.host, this.id, options, (record) => this.see(record))
  }

  /** The job as it is now. @throws JobchartError NOT_FOUND */
  async record(): Promise<JobRecord> {
    return this.see(await this.host.record(this.id))
  }

  /** Its state now, then each change; completes at its end. */
  get state$(): Stream<JobState> {
    return this.host.state$(this.id)
  }

  /** The latest event so far, then each one that happens in this process; completes at its end. */
  get events$(): Stream<JobEvent> {
    return this.host.events$(this.id)
  }

  /**
   * The same events for `for await`, through a bounded buffer.
   * @example for await (const event of job.events({ overflow: 'drop-oldest' })) console.log(event.event)
   */
  events(options?: IterateOptions): AsyncIterableIterator<JobEvent, undefined> {
    return this.events$.iterate(options)
  }

  cancel(options?: CancelOptions): Promise<CancelReport> {
    return this.host.cancel(this.id, options)
  }

  /**
   * Sends it through again if it is dead or cancelled; a machine goes on at its last checkpoint, or from its start.
   * @throws JobchartError NOT_ACCEPTED, NOT_FOUND
   */
  async retry(options?: RetryFrom): Promise<void> {
    await this.host.retry(this.id, options)
  }

  // ── machines ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Sends an event to its machine: kept with the job, read once and in order, also if it is parked or its process has died.
   * @param options `key` names the event, so that it may be sent again; `accept: 'always'` keeps it whatever its state
   * @throws JobchartError NOT_ACCEPTED if its state does not take the event, or it has ended; NOT_FOUND, CAPACITY (its inbox is
   *   full), INVALID_INPUT, UNKNOWN_TYPE, STORE_UNAVAILABLE
   */
  async send(event: Event, options: SendOptions = {}): Promise<void> {
    return this.host.send(this.id, event, sendChoice(options))
  }

  /** Would its machine take this event now, after all that was sent to it before? @throws as `send` */
  can(event: Event): Promise<boolean> {
    return this.host.can(this.id, event)
  }

  /** Where its machine stands: at its last checkpoint, or at its start. @throws JobchartError NOT_FOUND, NOT_ACCEPTED, UNSUPPORTED */
  snapshot(): Promise<MachineView> {
    return this.host.view(this.id)
  }

  /** Every checkpoint that is kept (the last 50), oldest first: what led there, and when. @throws as `snapshot` */
  checkpoints(): Promise<readonly CheckpointEntry[]> {
    return this.host.checkpoints(this.id)
  }

  /** Where it stood after the entry `seq` of the transition log. @throws as `snapshot`; NOT_FOUND if that is too long ago */
  snapshotAt(seq: number): Promise<MachineView> {
    return this.host.viewAt(this.id, seq)
  }

  /** A new job that goes on from where this one stood after `seq`. @throws as `snapshotAt` and `enqueue` */
  fork(seq: number, options?: EnqueueOptions): Promise<JobHandle<Output, Event>> {
    return this.host.fork(this.id, seq, options) as Promise<JobHandle<Output, Event>>
  }

  /**
   * Waits until its machine rests in a state, has a tag, or is as a function says.
   * @param wanted `'paid.shipping'`, a tag, or `(view) => view.matches('paid') && …`
   * @returns where it stood then
   * @throws TimeoutError, AbortError; JobDeadError, JobCancelledError or NOT_ACCEPTED (done) if it ends elsewhere;
   *   INVALID_OPTION for a name that is no state and no tag; as `snapshot`
   * @example await job.waitFor('approval', { timeout: '10s' })
   */
  async waitFor(wanted: Wanted, options: ResultOptions = {}): Promise<MachineView> {
    const { timeoutMs, signal } = waitLimits('waitFor', options)
    return this.host.waitFor(this.id, wanted, timeoutMs, signal)
  }

  /**
   * A live XState actor of the job's chart: at the state this handle has seen last (by its enqueue, `record` or `result`),
   * from where it follows the job to its end, or until it is stopped. For inspection and pictures; sending to it moves nothing
   * in the store.
   */
  actor(): JobActor {
    const actor = actorAt(this.state, this.counters)
    const off = this.host.eventsSince(this.id, this.seq, (event) => {
      if (event.event === 'FAIL') actor.send({ type: 'FAIL', fatal: event.to === 'dead' })
      else if (isArrow(event.event)) actor.send({ type: event.event })
    })
    actor.subscribe({ complete: off })
    return actor
  }

  private see(record: JobRecord): JobRecord {
    const { state, attempt, maxAttempts, generation, history } = record
    this.state = state
    this.seq = history.at(-1)?.seq ?? 0
    this.counters = { attempt, maxAttempts, generation }
    return record
  }
}

function waitForResult<Output>(
  host: HandleHost,
  id: string,
  options: ResultOptions,
  see: (record: JobRecord) => void,
): Promise<Output> {
  return new Promise((resolve, reject) => {
    const { timeoutMs, signal } = waitLimits('result', options)
    if (signal?.aborted) return reject(new AbortError('waiting for the result was aborted', signal.reason))
    const done = (settle: () => void): void => {
      off()
      timer?.cancel()
      signal?.removeEventListener('abort', onAbort)
      settle()
    }
    const onAbort = (): void => done(() => reject(new AbortError('waiting for the result was aborted', signal?.reason)))
    const timer = timeoutMs === null ? null : host.after(timeoutMs, () => done(() => reject(timedOut(id, timeoutMs))))
    signal?.addEventListener('abort', onAbort, { once: true })
    const ended = (record: JobRecord | null): void => {
      if (record !== null) see(record)
      if (record?.state === 'done') resolve(record.output as Output)
      else reject(endError(id, record))
    }
    const off = host.whenEnded(
      id,
      (record) => done(() => ended(record)),
      (reason) => done(() => reject(reason)),
    )
  })
}

const timedOut = (id: string, timeoutMs: number): TimeoutError =>
  new TimeoutError(`job ${id} did not end within ${timeoutMs} ms`, {
    hint: 'The job goes on: wait again with result(), or look at record().state. Does a runtime of its type run?',
  })

/** What those are told who wait for a job that has ended otherwise than done, or is gone. */
export function endError(id: string, record: JobRecord | null): JobchartError {
  if (record === null) {
    return new JobchartError('NOT_FOUND', `job ${id} is not in the store`, {
      hint: 'It was pruned or discarded; keep ended jobs longer with `retention`.',
    })
  }
  if (record.state === 'cancelled') return new JobCancelledError(id, record.cancelReason ?? undefined)
  const cause = record.error === null ? undefined : reviveError(record.error)
  const unread = record.inbox.length
  const dropping = `If the machine fails at the first of the ${unread} unread messages: runtime.retry(id, { dropInbox: 1 }).`
  return new JobDeadError(id, `job ${id} (${record.type}) is dead: ${record.error?.message ?? 'its worker died'}`, {
    cause,
    ...(unread > 0 && {
      hint: `Look at record().errors and .logs; runtime.retry(id) sends it through again. ${dropping}`,
    }),
  })
}
