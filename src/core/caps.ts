/** Caps of what is kept with a job: the oldest items are removed. The state and the counters are not capped. */
export const caps = {
  errors: 20,
  history: 100,
  logs: 100,
  /** … and what they weigh together, bytes of JSON. */
  logBytes: 65_536,
  /** Checkpoints of a machine job that are kept for time travel. */
  checkpoints: 50,
  /** Messages that wait in a job's inbox; those of its children always find room. */
  inbox: 1_000,
  /** Keys of messages sent last, by which one that is sent again is known. */
  messageKeys: 100,
  /** Entries of a store's transition log, if the store is not told otherwise. */
  transitions: 10_000,
  /** Jobs on a page of a list, and by default. */
  pageMax: 1_000,
  page: 100,
  /** Jobs that one call cancels, retries or discards by a filter: so many block a SQLite process for some 2 ms. */
  selection: 100,
  /** Ids in each list of a report. */
  reportIds: 10_000,
} as const
