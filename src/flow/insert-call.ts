/** One call of insert, from its arrival to its answer: the caller may give up while it waits for room. */
import type { Timer } from '../clock.ts'
import { AbortError, JobchartError, TimeoutError } from '../errors.ts'
import type { InsertAnswer, InsertRequest, NewJob } from '../store.ts'
import type { Timers } from './timers.ts'

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
}

/** One call: all of its jobs or none. It is its own request to the store. */
export class Call implements InsertRequest {
  readonly jobs: readonly NewJob[]
  readonly capacity: number | null
  /** null: answer at once when there is no room. */
  readonly wait: WaitOptions | null
  private readonly resolveWith: (answers: InsertAnswer[] | null) => void
  private readonly rejectWith: (error: unknown) => void
  private timer: Timer | null = null
  private onAbort: (() => void) | null = null
  /** Why its caller waits no longer. A call that is being written still gets the answer of the write. */
  givenUp: JobchartError | null = null

  constructor(
    jobs: readonly NewJob[],
    capacity: number | null,
    wait: WaitOptions | null,
    resolve: (answers: InsertAnswer[] | null) => void,
    reject: (error: unknown) => void,
  ) {
    this.jobs = jobs
    this.capacity = capacity
    this.wait = wait
    this.resolveWith = resolve
    this.rejectWith = reject
  }

  /** Lets the caller's signal and timeout end the wait, by calling `giveUp`. */
  watch({ signal, timeoutMs }: WaitOptions, timers: Timers, giveUp: (error: JobchartError) => void): void {
    if (signal !== undefined) {
      this.onAbort = () => giveUp(new AbortError('the enqueue was aborted', signal.reason))
      signal.addEventListener('abort', this.onAbort, { once: true })
    }
    if (timeoutMs !== undefined) {
      this.timer = timers.after(timeoutMs, () =>
        giveUp(new TimeoutError(`no room for the job within ${timeoutMs} ms`, { cause: full(this.capacity) })),
      )
    }
  }

  resolve(answers: InsertAnswer[] | null): void {
    this.release()
    this.resolveWith(answers)
  }

  reject(error: unknown): void {
    this.release()
    this.rejectWith(error)
  }

  private release(): void {
    this.timer?.cancel()
    if (this.onAbort !== null) this.wait?.signal?.removeEventListener('abort', this.onAbort)
  }
}

const full = (capacity: number | null): JobchartError =>
  new JobchartError('CAPACITY', `the backlog is full (${capacity} jobs)`, {
    hint: 'Wait longer, use tryEnqueue, or raise capacity.',
  })
