/** A job in the caller's hand: wait for it, watch it, cancel it. */
import { checkSignal, knownKeys } from './checks.ts'
import { AbortError, JobCancelledError, JobchartError, JobDeadError, TimeoutError } from './errors.ts'
import type { CancelOptions, CancelReport } from './call-options.ts'
import type { IterateOptions } from './flow/iterate.ts'
import type { Stream } from './flow/stream.ts'
import { durationMs, type Duration } from './job/duration.ts'
import { reviveError } from './job/failure.ts'
import type { JobEvent, JobRecord } from './job/job.ts'
import { actorAt, type JobActor, type JobCounters, type JobState } from './job/lifecycle.ts'

/** What a handle asks of the client that gave it. */
export interface HandleHost {
  whenEnded(id: string, told: (record: JobRecord | null) => void, closed: (reason: JobchartError) => void): () => void
  after(delayMs: number, run: () => void): { cancel(): void }
  record(id: string): Promise<JobRecord>
  cancel(id: string, options?: CancelOptions): Promise<CancelReport>
  retry(id: string): Promise<unknown>
  state$(id: string): Stream<JobState>
  events$(id: string): Stream<JobEvent>
  /** Calls `told` with what has happened since `seq` and what happens, until the job ends. */
  eventsSince(id: string, seq: number, told: (event: JobEvent) => void): void
}

export interface ResultOptions {
  /** Waits this long at most. */
  readonly timeout?: Duration
  /** Gives up waiting; the job goes on. */
  readonly signal?: AbortSignal
}

export class JobHandle<Output = unknown> {
  readonly id: string
  readonly type: string
  /** Was it there already: the same id, or the same unique key? */
  readonly deduplicated: boolean
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
    state: JobState,
    seq: number,
    counters: JobCounters,
  ) {
    this.host = host
    this.id = id
    this.type = type
    this.deduplicated = deduplicated
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

  /** Sends it through again if it is dead or cancelled. @throws JobchartError NOT_ACCEPTED, NOT_FOUND */
  async retry(): Promise<void> {
    await this.host.retry(this.id)
  }

  /**
   * A live XState actor of the job's chart: at the state this handle has seen last (by its enqueue, `record` or `result`),
   * from where it follows the job to its end. For inspection and pictures; sending to it moves nothing in the store.
   */
  actor(): JobActor {
    const actor = actorAt(this.state, this.counters)
    this.host.eventsSince(this.id, this.seq, (event) => {
      if (event.event === 'FAIL') actor.send({ type: 'FAIL', fatal: event.to === 'dead' })
      else if (event.event !== 'CHECKIN' && event.event !== 'LOG' && event.event !== 'ENQUEUE') {
        actor.send({ type: event.event })
      }
    })
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
    knownKeys('result options', options, ['timeout', 'signal'])
    const { timeout, signal } = options
    if (signal !== undefined) checkSignal(signal)
    const timeoutMs = timeout === undefined ? null : durationMs(timeout, 'timeout')
    if (signal?.aborted) return reject(new AbortError('waiting for the result was aborted', signal.reason))
    const done = (settle: () => void): void => {
      off()
      timer?.cancel()
      signal?.removeEventListener('abort', onAbort)
      settle()
    }
    const onAbort = (): void => done(() => reject(new AbortError('waiting for the result was aborted', signal?.reason)))
    const timer =
      timeoutMs === null
        ? null
        : host.after(timeoutMs, () =>
            done(() => reject(new TimeoutError(`job ${id} has not ended within ${timeoutMs} ms`))),
          )
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

function endError(id: string, record: JobRecord | null): JobchartError {
  if (record === null) {
    return new JobchartError('NOT_FOUND', `job ${id} is not in the store`, {
      hint: 'It was pruned or discarded; keep ended jobs longer with `retention`.',
    })
  }
  if (record.state === 'cancelled') return new JobCancelledError(id, record.cancelReason ?? undefined)
  const cause = record.error === null ? undefined : reviveError(record.error)
  return new JobDeadError(id, `job ${id} (${record.type}) is dead: ${record.error?.message ?? 'its worker died'}`, {
    cause,
  })
}
