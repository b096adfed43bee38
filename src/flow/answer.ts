/** Going on with a store's answer, whether it is there at once or comes later. */
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
  return new Promise((resolve, reject) => whenAnswered(ask, (answer) => resolve(use(answer)), reject))
}
