/** Handles a store's answer, which may be a value or a promise, and the answer `failed` of a single item. */
import { JobchartError } from '../core/errors.ts'
import { reviveError, type ErrorRecord } from '../core/failure.ts'
import type { Answer } from '../store.ts'
import { HeldError } from './held.ts'

/** Calls `ok` or `failed`: synchronously if the answer is a value. Errors thrown by the two are not caught. */
export function whenAnswered<T>(ask: () => Answer<T>, ok: (answer: T) => void, failed: (error: unknown) => void): void {
  let answer: Answer<T>
  try {
    answer = ask()
  } catch (error) {
    failed(error)
    return
  }
  if (answer instanceof Promise) answer.then(ok, failed)
  else ok(answer)
}

/** A promise of `use(answer)`; `use` is called synchronously if the answer is a value. */
export function promised<T, R>(ask: () => Answer<T>, use: (answer: T) => R): Promise<R> {
  return new Promise((resolve, reject) => {
    const used = (answer: T): void => {
      try {
        resolve(use(answer))
      } catch (error) {
        reject(error)
      }
    }
    whenAnswered(ask, used, reject)
  })
}

/** The error for an item whose answer is `failed`. @param what the item, as a noun */
export function refusedBy(store: string, what: string, error: ErrorRecord | undefined): JobchartError {
  const message = error?.message ?? 'for no stated reason'
  if (error?.code === 'STORE_CORRUPT') {
    return new JobchartError('STORE_CORRUPT', message, { hint: 'Restore a backup, or recover the file.' })
  }
  const refusal = `the ${store} store could not write ${what}: ${message}`
  if (error?.code === 'STORE_UNAVAILABLE') {
    const { hint = 'Nothing of it was written. Call again.' } = error
    return new HeldError('STORE_UNAVAILABLE', refusal, { hint, cause: reviveError(error) })
  }
  return new JobchartError('STORE_REFUSED', refusal, {
    hint: 'Nothing of it was written. See `cause`: the data may be invalid; if it is valid, report a bug of the store.',
    ...(error !== undefined && { cause: reviveError(error) }),
  })
}
