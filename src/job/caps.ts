/** How much of its past a job carries. The oldest goes first; what is still true (state, counters) is never capped. */
export const caps = {
  errors: 20,
  history: 100,
  logs: 100,
  /** Entries of a store's transition log, if the store is not told otherwise. */
  transitions: 10_000,
  /** Jobs on a page of a list, and by default. */
  pageMax: 1_000,
  page: 100,
} as const
