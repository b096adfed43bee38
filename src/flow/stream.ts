/**
 * The streams users subscribe to. A Stream is an RxJS Observable with two differences: what a subscriber throws is logged
 * instead of ending the process, and it can be read with `for await`, through a buffer that has a bound.
 */
import { Observable, type Observer, type Operator, type Subscription } from 'rxjs'
import type { Logger } from '../log.ts'
import { iterate, type IterateOptions } from './iterate.ts'

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
    lifted.operator = operator
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
