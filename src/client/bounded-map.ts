/**
 * An RxJS operator that processes several values of a source at once, with limits of concurrent and of waiting values.
 */
import { Observable, Subject, takeUntil, type OperatorFunction, type Subscriber } from 'rxjs'
import { JobchartError } from '../core/errors.ts'

interface BoundedMapOptions<Value, Result> {
  /** Limit of values in process. */
  readonly concurrency: number
  /** Limit of waiting values. */
  readonly buffer: number
  /** Are results emitted in the order of their values? A result that waits for an earlier one counts as in process. */
  readonly ordered: boolean
  /** Called with true when a further value would have to wait, with false when it would no longer. */
  readonly onPressure: ((isFull: boolean) => void) | null
  /**
   * Called once per subscription. The returned function makes the results of a value, or rejects to end the stream.
   * @param signal aborts when the stream is unsubscribed from before its end, or fails
   */
  readonly begin: (signal: AbortSignal) => (value: Value) => Promise<readonly Result[]>
}

/**
 * The operator. The end of the source, also by an error, is passed on after the results of all earlier values. If a
 * source overfills the buffer, the operator unsubscribes from it, and the stream ends with SLOW_READER.
 */
export const boundedMap =
  <Value, Result>(options: BoundedMapOptions<Value, Result>): OperatorFunction<Value, Result> =>
  (source) =>
    new Observable((subscriber) => {
      const mapping = new BoundedMapping(options, subscriber)
      mapping.start(source)
      return () => mapping.stop()
    })

/** A value in process. */
interface Work<Result> {
  results: readonly Result[] | null
}

class BoundedMapping<Value, Result> {
  private readonly options: BoundedMapOptions<Value, Result>
  private readonly subscriber: Subscriber<Result>
  private readonly abort = new AbortController()
  private readonly work: (value: Value) => Promise<readonly Result[]>
  /** Values from `head` on are waiting. */
  private waiting: Value[] = []
  private head = 0
  private readonly current = new Set<Work<Result>>()
  private readonly leaveSource = new Subject<void>()
  private ending: { readonly error: unknown } | 'complete' | null = null
  private isFull = false

  constructor(options: BoundedMapOptions<Value, Result>, subscriber: Subscriber<Result>) {
    this.options = options
    this.subscriber = subscriber
    this.work = options.begin(this.abort.signal)
  }

  start(source: Observable<Value>): void {
    source.pipe(takeUntil(this.leaveSource)).subscribe({
      next: (value) => this.take(value),
      error: (error: unknown) => this.end({ error }),
      complete: () => this.end('complete'),
    })
  }

  stop(): void {
    this.leaveSource.next()
    this.waiting = []
    this.head = 0
    this.abort.abort()
  }

  private get waitingCount(): number {
    return this.waiting.length - this.head
  }

  private take(value: Value): void {
    if (this.ending !== null) return
    const { buffer, concurrency } = this.options
    if (this.current.size >= concurrency && this.waitingCount >= buffer) {
      this.end({ error: tooSlow(buffer) })
      this.leaveSource.next()
      return
    }
    this.waiting.push(value)
    this.proceed()
  }

  private end(ending: { readonly error: unknown } | 'complete'): void {
    // Leaving the source completes it, too.
    this.ending ??= ending
    this.proceed()
  }

  /** Starts waiting values, and ends the stream when no value is left. */
  private proceed(): void {
    while (this.waitingCount > 0 && this.current.size < this.options.concurrency) this.begin(this.nextWaiting())
    const { ending, subscriber } = this
    if (ending !== null && this.current.size === 0) {
      if (ending === 'complete') subscriber.complete()
      else subscriber.error(ending.error)
    } else this.tellPressure()
  }

  private nextWaiting(): Value {
    const value = this.waiting[this.head++] as Value
    // Taken values are removed in bulk: shifting the array for each would be quadratic.
    if (this.head * 2 > this.waiting.length) {
      this.waiting = this.waiting.slice(this.head)
      this.head = 0
    }
    return value
  }

  private begin(value: Value): void {
    const work: Work<Result> = { results: null }
    this.current.add(work)
    this.work(value).then(
      (results) => {
        if (this.subscriber.closed) return
        work.results = results
        this.emit(work)
        if (!this.subscriber.closed) this.proceed()
      },
      (error: unknown) => this.subscriber.error(error),
    )
  }

  private emit(done: Work<Result>): void {
    for (const work of this.options.ordered ? this.current : [done]) {
      if (work.results === null) return
      this.current.delete(work)
      for (const result of work.results) this.subscriber.next(result)
    }
  }

  private tellPressure(): void {
    const isFull = this.current.size >= this.options.concurrency
    if (isFull === this.isFull) return
    this.isFull = isFull
    try {
      this.options.onPressure?.(isFull)
    } catch (error) {
      this.subscriber.error(error)
    }
  }
}

const tooSlow = (buffer: number): JobchartError =>
  new JobchartError('SLOW_READER', `more than ${buffer} values of the source wait for their job`, {
    hint: 'Pause the source while onPressure reports true, or raise `buffer` or `concurrency`.',
  })
