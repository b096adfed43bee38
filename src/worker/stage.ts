/** A stage of the pipeline: an operator whose work may throw. */
import { Observable, type OperatorFunction, type Subscriber } from 'rxjs'
import type { Logger } from '../core/logger.ts'

/**
 * Handles each value; `begin` is called once, with who takes the results. What a handler throws is logged and harms
 * that value alone: an operator of RxJS would end the stream, and with it the worker.
 */
export const stage =
  <T, R>(logger: Logger, begin: (out: Subscriber<R>) => (value: T) => void): OperatorFunction<T, R> =>
  (values) =>
    new Observable((out) => {
      const handle = begin(out)
      return values.subscribe({
        next: (value) => {
          try {
            handle(value)
          } catch (error) {
            logger.error('a stage of the worker failed; it continues with what comes next', { error })
          }
        },
        error: (error: unknown) => out.error(error),
        complete: () => out.complete(),
      })
    })
