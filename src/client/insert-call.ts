/** One insert call, from the request to its answer. A signal or timeout may end its wait for room. */
import type { Timer } from '../core/clock.ts'
import { AbortError, JobchartError, TimeoutError } from '../core/errors.ts'
import type { EnqueueOptions } from '../core/call-options.ts'
import { durationMs } from '../core/duration.ts'
import type { InsertAnswer, InsertRequest, NewJob, QueueLimit } from '../store.ts'
import type { Timers } from './timers.ts'

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
}

type Failed = (error: unknown) => void

/** Inserts all of its jobs or none. The object itself is the request to the store. */
export class InsertCall<T = unknown> implements InsertRequest {
  readonly jobs: readonly NewJob[]
  readonly capacity: number | null
  readonly queue?: QueueLimit
  /** Which capacity has kept it waiting. */
  private fullOf: InsertAnswer['full']
  /** Does it wait for room? Else it is answered at once. */
  readonly waits: boolean
  readonly promise: Promise<T>
  private readonly finish: (call: InsertCall<T>, answers: InsertAnswer[] | null) => T
  private resolve: (value: T) => void = nothing
  private failed: Failed = nothing
  /** Until when it is tried again if somebody else holds what it changes; null: that was not so. */
  heldUntil: number | null = null
  /** Called when it is answered or refused. */
  ended: () => void = nothing
  /** null for most calls: no signal and no timeout. */
  private waitLimit: WaitLimit | null = null

  /** @param finish makes the caller's result of the answers; null means no room */
  constructor(
    { jobs, capacity, queue }: Omit<InsertRequest, 'queue'> & { readonly queue: QueueLimit | undefined },
    waits: boolean,
    finish: (call: InsertCall<T>, answers: InsertAnswer[] | null) => T,
  ) {
    this.jobs = jobs
    this.capacity = capacity
    if (queue !== undefined) this.queue = queue
    this.waits = waits
    this.finish = finish
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.failed = reject
    })
  }

  /** Does a capacity apply to it? */
  get isBounded(): boolean {
    return this.capacity !== null || this.queue !== undefined
  }

  /** A capacity is reached. */
  refused(full: InsertAnswer['full']): void {
    this.fullOf = full
  }

  /** Why the caller has given up. A call that is being written still gets the answer of the write. */
  get givenUp(): JobchartError | null {
    return this.waitLimit?.givenUp ?? null
  }

  /** Calls `giveUp` when the caller's signal aborts or the timeout ends. */
  watch(wait: WaitOptions, timers: Timers, giveUp: (error: JobchartError) => void): void {
    this.waitLimit = new WaitLimit(wait, timers, () => this.full(), giveUp)
  }

  giveUp(error: JobchartError): void {
    this.waitLimit ??= new WaitLimit(
      {},
      null,
      () => error,
      () => {},
    )
    this.waitLimit.givenUp = error
  }

  private full(): JobchartError {
    const { capacity, queue, fullOf } = this
    if (queue?.capacity === 0 && fullOf !== 'store')
      return full(`no worker has a free slot for jobs of type ${queue.type}`)
    return queue !== undefined && (fullOf === 'queue' || capacity === null)
      ? full(`\`capacity\` (${queue.capacity}) jobs of type ${queue.type} are waiting`)
      : full(`\`capacity\` (${capacity}) jobs are waiting`)
  }

  done(answers: InsertAnswer[] | null): void {
    this.waitLimit?.end()
    this.ended()
    this.resolve(this.finish(this, answers))
  }

  reject(error: unknown): void {
    this.waitLimit?.end()
    this.ended()
    this.failed(error)
  }
}

class WaitLimit {
  givenUp: JobchartError | null = null
  private readonly timer: Timer | null = null
  private readonly signal: AbortSignal | undefined
  private readonly onAbort: () => void

  constructor(
    { signal, timeoutMs }: WaitOptions,
    timers: Timers | null,
    cause: () => JobchartError,
    giveUp: (error: JobchartError) => void,
  ) {
    this.signal = signal
    this.onAbort = () => giveUp(new AbortError('the enqueue was aborted', signal?.reason))
    signal?.addEventListener('abort', this.onAbort, { once: true })
    if (timeoutMs === undefined || timers === null) return
    this.timer = timers.after(timeoutMs, () =>
      giveUp(new TimeoutError(`no room for the job within ${timeoutMs} ms`, { hint: noRoomHint, cause: cause() })),
    )
  }

  end(): void {
    this.timer?.cancel()
    this.signal?.removeEventListener('abort', this.onAbort)
  }
}

const nothing = (): void => {}

const noRoomHint =
  'Raise the timeout, `capacity` or the number of workers, or report to your caller that the queue is full.'

const full = (why: string): JobchartError => new JobchartError('CAPACITY', `no room: ${why}`, { hint: noRoomHint })

export const waitOf = ({ signal, timeout }: EnqueueOptions = {}): WaitOptions | undefined =>
  signal === undefined && timeout === undefined
    ? undefined
    : { signal, timeoutMs: timeout === undefined ? undefined : durationMs(timeout, 'timeout') }
