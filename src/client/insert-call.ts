/** One call of insert, from its arrival to its answer: the caller may give up while it waits for room. */
import type { Timer } from '../core/clock.ts'
import { AbortError, JobchartError, TimeoutError } from '../core/errors.ts'
import type { EnqueueOptions } from '../core/call-options.ts'
import { durationMs } from '../core/duration.ts'
import type { InsertAnswer, InsertRequest, NewJob } from '../store.ts'
import type { Timers } from './timers.ts'

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
}

export type Failed = (error: unknown) => void

/** One call: all of its jobs or none. It is its own request to the store. */
export class InsertCall<T = unknown> implements InsertRequest {
  readonly jobs: readonly NewJob[]
  readonly capacity: number | null
  /** Or does it want to know at once that there is no room? */
  readonly waits: boolean
  /** What its caller waits for. */
  readonly promise: Promise<T>
  private readonly finish: (call: InsertCall<T>, answers: InsertAnswer[] | null) => T
  private resolve: (value: T) => void = nothing
  private failed: Failed = nothing
  /** What may end its wait: most calls have nothing. */
  private patience: WaitLimit | null = null

  /** @param finish makes the caller's value of the answers (null: there is no room) */
  constructor(
    jobs: readonly NewJob[],
    capacity: number | null,
    waits: boolean,
    finish: (call: InsertCall<T>, answers: InsertAnswer[] | null) => T,
  ) {
    this.jobs = jobs
    this.capacity = capacity
    this.waits = waits
    this.finish = finish
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.failed = reject
    })
  }

  /** Why its caller waits no longer. A call that is being written still gets the answer of the write. */
  get givenUp(): JobchartError | null {
    return this.patience?.givenUp ?? null
  }

  /** Lets the caller's signal and timeout end the wait, by calling `giveUp`. */
  watch(wait: WaitOptions, timers: Timers, giveUp: (error: JobchartError) => void): void {
    this.patience = new WaitLimit(wait, timers, full(this.capacity), giveUp)
  }

  giveUp(error: JobchartError): void {
    this.patience ??= new WaitLimit({}, null, error, () => {})
    this.patience.givenUp = error
  }

  done(answers: InsertAnswer[] | null): void {
    this.patience?.end()
    this.resolve(this.finish(this, answers))
  }

  reject(error: unknown): void {
    this.patience?.end()
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
    cause: JobchartError,
    giveUp: (error: JobchartError) => void,
  ) {
    this.signal = signal
    this.onAbort = () => giveUp(new AbortError('the enqueue was aborted', signal?.reason))
    signal?.addEventListener('abort', this.onAbort, { once: true })
    if (timeoutMs === undefined || timers === null) return
    this.timer = timers.after(timeoutMs, () =>
      giveUp(new TimeoutError(`no room for the job within ${timeoutMs} ms`, { hint: noRoomHint, cause })),
    )
  }

  end(): void {
    this.timer?.cancel()
    this.signal?.removeEventListener('abort', this.onAbort)
  }
}

const nothing = (): void => {}

const noRoomHint = 'Wait longer, tell the caller that the service is busy, raise `capacity`, or add workers.'

const full = (capacity: number | null): JobchartError =>
  new JobchartError('CAPACITY', `no room: as many jobs wait as \`capacity\` allows (${capacity})`, {
    hint: noRoomHint,
  })

export const waitOf = ({ signal, timeout }: EnqueueOptions = {}): WaitOptions | undefined =>
  signal === undefined && timeout === undefined
    ? undefined
    : { signal, timeoutMs: timeout === undefined ? undefined : durationMs(timeout, 'timeout') }
