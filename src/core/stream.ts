/** The streams users subscribe to. */
import type { Observable } from 'rxjs'

export interface IterateOptions {
  /** Ends the iteration; the loop rejects with an AbortError. */
  readonly signal?: AbortSignal
  /** Values kept for a slow reader. 1…1,000,000, default 256. */
  readonly buffer?: number
  /** When the buffer is full: drop the oldest or the newest value, or end with SLOW_READER (default). */
  readonly overflow?: 'error' | 'drop-oldest' | 'drop-newest'
}

/**
 * An RxJS Observable with two differences: what a subscriber throws is logged instead of ending the process, and it can
 * be read with `for await`, through a buffer that has a bound.
 */
export interface Stream<T> extends Observable<T>, AsyncIterable<T> {
  /**
   * The values from now on, read at the reader's pace.
   * @throws JobchartError INVALID_OPTION; the loop rejects with ABORTED, SLOW_READER
   */
  iterate(options?: IterateOptions): AsyncIterableIterator<T, undefined>
}
