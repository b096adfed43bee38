/** Whether the store answers: whoever asks it tells how it went, and what changes is passed on once. */

export interface Health {
  /** The store did not answer. */
  lost(error: unknown): void
  /** It did. */
  back(): void
}

/** @param told the trouble, when it begins; undefined when it is over */
export function watchedHealth(told: (trouble: unknown) => void): Health {
  let troubled = false
  return {
    lost(error) {
      if (!troubled) told(error)
      troubled = true
    },
    back() {
      if (troubled) told(undefined)
      troubled = false
    },
  }
}
