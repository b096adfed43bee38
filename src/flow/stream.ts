/**
 * The streams users subscribe to. A Stream is an RxJS Observable with two differences: what a subscriber throws is logged
 * instead of ending the process, and it can be read with `for await`, through a buffer that has a bound.
 */
import { Observable, type Observer, type Operator, type Subscription } from 'rxjs'
import { whole } from '../checks.ts'
import { AbortError, JobchartError } from '../errors.ts'
import type { Logger } from '../log.ts'

export interface IterateOptions {
  /** Ends the iteration; the loop rejects with an AbortError. */
  readonly signal?: AbortSignal
  /** Values kept for a slow reader. 1…1,000,000, default 256. */
  readonly buffer?: number
  /** When the buffer is full: drop the oldest or the newest value, or end with SLOW_READER (default). */
  readonly overflow?: 'error' | 'drop-oldest' | 'drop-newest'
}

export class Stream<T> extends Observable<T> implements AsyncIterable<T> {
  private readonly logger: Logger

  constructor(logger: Logger, subscribe?: ConstructorParameters<typeof Observable<T>>[0]) {
    super(subscribe)
    this.logger = logger
  }

  /** Keeps piped streams guarded too: RxJS builds them through this hook. */
  override lift<R>(operator?: Operator<T, R>): Observable<R> {
    const lifted = new Stream<R>(this.logger)
    lifted.source = this
    lifted.operator = operator as Operator<unknown, R> | undefined
    return lifted
  }

  override subscribe(observer?: Partial<Observer<T>>): Subscription
  override subscribe(next: (value: T) => void): Subscription
  override subscribe(
    next?: ((value: T) => void) | null,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription
  override subscribe(
    observerOrNext?: Partial<Observer<T>> | ((value: T) => void) | null,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription {
    // RxJS hands its own, already guarded subscribers through here; they must stay themselves.
    if (isSubscriber(observerOrNext)) return super.subscribe(observerOrNext)
    const given = typeof observerOrNext === 'function' || !observerOrNext ? null : observerOrNext
    const on = given
      ? { next: given.next?.bind(given), error: given.error?.bind(given), complete: given.complete?.bind(given) }
      : { next: observerOrNext as ((value: T) => void) | null | undefined, error, complete }
    return super.subscribe({
      next: (value) => this.guard(() => on.next?.(value)),
      error: (reason: unknown) => this.guard(() => (on.error ? on.error(reason) : this.unheard(reason))),
      complete: () => this.guard(() => on.complete?.()),
    })
  }

  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    return this.iterate()
  }

  /** The values from now on, read at the reader's pace. */
  iterate(options: IterateOptions = {}): AsyncIterableIterator<T, undefined> {
    return iterate(this, options)
  }

  private guard(call: () => void): void {
    try {
      call()
    } catch (error) {
      this.logger.error('a subscriber threw', { error })
    }
  }

  private unheard(error: unknown): void {
    this.logger.error('a stream failed and nobody listened for its error', { error })
  }
}

function isSubscriber<T>(observer: unknown): observer is Observer<T> {
  return typeof observer === 'object' && observer !== null && 'isStopped' in observer
}

function iterate<T>(source: Observable<T>, options: IterateOptions): AsyncIterableIterator<T, undefined> {
  const { signal, overflow = 'error' } = options
  const room = whole('buffer', options.buffer ?? 256, 1, 1_000_000)
  type Reader = { resolve: (result: IteratorResult<T, undefined>) => void; reject: (error: unknown) => void }
  const values: T[] = []
  const readers: Reader[] = []
  let ending: { error: unknown } | 'complete' | null = null

  const end = (how: { error: unknown } | 'complete'): void => {
    if (ending !== null) return
    ending = how
    signal?.removeEventListener('abort', onAbort)
    subscription?.unsubscribe()
    for (const reader of readers.splice(0)) answer(reader)
  }
  const answer = ({ resolve, reject }: Reader): void => {
    if (values.length > 0) resolve({ value: values.shift() as T, done: false })
    else if (ending === null || ending === 'complete') resolve({ value: undefined, done: true })
    else {
      const { error } = ending
      ending = 'complete'
      reject(error)
    }
  }
  const take = (value: T): void => {
    const reader = readers.shift()
    if (reader) return reader.resolve({ value, done: false })
    if (values.length < room) return void values.push(value)
    if (overflow === 'drop-newest') return
    if (overflow === 'drop-oldest') {
      values.shift()
      values.push(value)
      return
    }
    end({
      error: new JobchartError('SLOW_READER', `more than ${room} values were waiting to be read`, {
        hint: "Read faster, raise buffer, or choose overflow: 'drop-oldest'.",
      }),
    })
  }
  const onAbort = (): void => end({ error: new AbortError('the iteration was aborted', signal?.reason) })

  let subscription: Subscription | undefined
  if (signal?.aborted) onAbort()
  else {
    signal?.addEventListener('abort', onAbort, { once: true })
    subscription = source.subscribe({
      next: take,
      error: (error: unknown) => end({ error }),
      complete: () => end('complete'),
    })
    if (ending !== null) subscription.unsubscribe()
  }
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: () =>
      new Promise((resolve, reject) => {
        const reader = { resolve, reject }
        if (values.length > 0 || ending !== null) answer(reader)
        else readers.push(reader)
      }),
    return: () => {
      values.length = 0
      end('complete')
      return Promise.resolve({ value: undefined, done: true })
    },
  }
}
