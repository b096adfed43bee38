/** Reads an Observable with `for await`, through a bounded buffer. */
import type { Observable, Subscription } from 'rxjs'
import { abortSignal, byDefault, integer, oneOf, table, type RulesOf } from '../core/checks.ts'
import { AbortError, JobchartError } from '../core/errors.ts'
import type { IterateOptions } from '../core/stream.ts'

const iterateOptions = table({
  signal: abortSignal,
  buffer: byDefault(256, integer(1, 1_000_000)),
  overflow: byDefault('error', oneOf('error', 'drop-oldest', 'drop-newest')),
} satisfies RulesOf<IterateOptions>)

interface PendingRead<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void
  readonly reject: (error: unknown) => void
}

/** The values of `source` from now on. @throws JobchartError INVALID_OPTION */
export function iterate<T>(source: Observable<T>, options: IterateOptions = {}): AsyncIterableIterator<T, undefined> {
  return new BufferedReader(source, options)
}

class BufferedReader<T> implements AsyncIterableIterator<T, undefined> {
  private readonly bufferMax: number
  private readonly overflow: NonNullable<IterateOptions['overflow']>
  private readonly signal: AbortSignal | undefined
  private readonly values: T[] = []
  private readonly pendingReads: PendingRead<T>[] = []
  private ending: { readonly error: unknown } | 'complete' | null = null
  private subscription: Subscription | null = null
  private readonly onAbort = (): void =>
    this.end({ error: new AbortError('the iteration was aborted', this.signal?.reason) })

  constructor(source: Observable<T>, options: IterateOptions) {
    const { signal, buffer, overflow } = iterateOptions(options, 'options of iterate')
    this.bufferMax = buffer
    this.overflow = overflow
    this.signal = signal
    if (signal?.aborted) {
      this.onAbort()
      return
    }
    signal?.addEventListener('abort', this.onAbort, { once: true })
    this.subscription = source.subscribe({
      next: (value) => this.push(value),
      error: (error: unknown) => this.end({ error }),
      complete: () => this.end('complete'),
    })
    // The source may have ended synchronously, before `subscription` was set.
    if (this.ending !== null) this.subscription.unsubscribe()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return new Promise((resolve, reject) => {
      const reading = { resolve, reject }
      if (this.values.length > 0 || this.ending !== null) this.answer(reading)
      else this.pendingReads.push(reading)
    })
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.values.length = 0
    this.end('complete')
    return Promise.resolve({ value: undefined, done: true })
  }

  private push(value: T): void {
    const reading = this.pendingReads.shift()
    if (reading !== undefined) return reading.resolve({ value, done: false })
    if (this.values.length < this.bufferMax) return void this.values.push(value)
    if (this.overflow === 'error') return this.end({ error: tooSlow(this.bufferMax) })
    if (this.overflow === 'drop-newest') return
    this.values.shift()
    this.values.push(value)
  }

  private answer({ resolve, reject }: PendingRead<T>): void {
    if (this.values.length > 0) return resolve({ value: this.values.shift() as T, done: false })
    const { ending } = this
    if (ending === null || ending === 'complete') return resolve({ value: undefined, done: true })
    // The error is thrown once; later reads are done.
    this.ending = 'complete'
    reject(ending.error)
  }

  private end(how: { readonly error: unknown } | 'complete'): void {
    if (this.ending !== null) return
    this.ending = how
    this.signal?.removeEventListener('abort', this.onAbort)
    this.subscription?.unsubscribe()
    for (const reading of this.pendingReads.splice(0)) this.answer(reading)
  }
}

const tooSlow = (room: number): JobchartError =>
  new JobchartError('SLOW_READER', `more than ${room} values were waiting to be read`, {
    hint: "Read faster, raise `buffer`, or set overflow: 'drop-oldest'.",
  })
