/** Tracks whether the store answers: callers report the outcome of each call, and only changes are passed on. */

export interface Health {
  failed(error: unknown): void
  answered(): void
}

/** @param changed called with the error when calls begin to fail, and with undefined when the store answers again */
export function watchedHealth(changed: (error: unknown) => void): Health {
  let failing = false
  return {
    failed(error) {
      if (!failing) changed(error)
      failing = true
    },
    answered() {
      if (failing) changed(undefined)
      failing = false
    },
  }
}
