/** Going on with a store's answer, whether it is there at once or comes later, and with an item that could not be written. */
import { JobchartError } from '../core/errors.ts'
import { reviveError, type ErrorRecord } from '../core/failure.ts'
import type { Answer } from '../store.ts'

/** Calls `ok` or `failed`, in this very call if the answer is there. What the two throw is the caller's. */
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

/** The same as a promise of what `use` makes of the answer; `use` is called in this very call if the answer is there. */
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

/** The error for the caller of an item whose answer is `failed`. @param what could not be written, as a noun */
export function refusedBy(store: string, what: string, error: ErrorRecord | undefined): JobchartError {
  const message = error?.message ?? 'for no stated reason'
  if (error?.code === 'STORE_CORRUPT') {
    return new JobchartError('STORE_CORRUPT', message, { hint: 'Restore a backup, or recover the file.' })
  }
  return new JobchartError('STORE_REFUSED', `the ${store} store could not write ${what}: ${message}`, {
    hint: 'Nothing of it was written. The cause is in what was to be written, or in the store: report it if it was valid.',
    ...(error !== undefined && { cause: reviveError(error) }),
  })
}
