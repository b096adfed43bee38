/** The Observable behind all public streams: errors of subscribers are logged, and `for await` reads it. */
import { Observable, Subscriber, type Observer, type OperatorFunction, type Subscription } from 'rxjs'
import { isOptions } from '../core/checks.ts'
import type { Logger } from '../core/logger.ts'
import type { IterateOptions, Stream } from '../core/stream.ts'
import { iterate } from './iterate.ts'

export class GuardedStream<T> extends Observable<T> implements Stream<T> {
  private readonly logger: Logger
  private readonly iterated: IterateOptions

  /** @param iterated the options of `iterate` that differ from its defaults */
  constructor(
    logger: Logger,
    subscribe: (subscriber: Subscriber<T>) => Subscription | (() => void) | void,
    iterated: IterateOptions = {},
  ) {
    super(subscribe)
    this.iterated = iterated
    this.logger = logger
  }

  /** Returns a guarded stream. `any` is in the signature of `Observable.pipe`. */
  // oxlint-disable-next-line typescript/no-explicit-any
  override pipe(...operators: OperatorFunction<any, any>[]): Observable<any> {
    const piped = operators.reduce<Observable<unknown>>(
      (source, operator) => operator(source) as Observable<unknown>,
      this,
    )
    return new GuardedStream<unknown>(this.logger, (subscriber) => piped.subscribe(subscriber))
  }

  override subscribe(observerOrNext?: Partial<Observer<T>> | ((value: T) => void)): Subscription
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
    // Subscribers of operators handle errors themselves, and RxJS relies on their identity.
    if (observerOrNext instanceof Subscriber) return super.subscribe(observerOrNext)
    const given = typeof observerOrNext === 'function' || !observerOrNext ? null : observerOrNext
    const on = given
      ? { next: given.next?.bind(given), error: given.error?.bind(given), complete: given.complete?.bind(given) }
      : { next: observerOrNext as ((value: T) => void) | null | undefined, error, complete }
    return super.subscribe({
      next: (value) => this.guard(() => on.next?.(value)),
      error: (reason: unknown) => this.guard(() => (on.error ? on.error(reason) : this.unhandled(reason))),
      complete: () => this.guard(() => on.complete?.()),
    })
  }

  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    return this.iterate()
  }

  iterate(options: IterateOptions = {}): AsyncIterableIterator<T, undefined> {
    return iterate(this, isOptions(options) ? { ...this.iterated, ...options } : options)
  }

  private guard(call: () => void): void {
    try {
      call()
    } catch (error) {
      this.logger.error('a subscriber threw', { error })
    }
  }

  private unhandled(error: unknown): void {
    this.logger.error('a stream failed, and its subscriber handles no errors', { error })
  }
}
