/** Sizes of the lists kept with a job, from which the oldest items are removed, and of the lists in answers. */
export const caps = {
  errors: 20,
  history: 100,
  logs: 100,
  /** Total size of the logs of a job, bytes of JSON. */
  logBytes: 65_536,
  /** Checkpoints kept with a machine job. */
  checkpoints: 50,
  /** Unread messages in the inbox of a job. Ends of child jobs are delivered beyond it. */
  inbox: 1_000,
  /** Keys of the latest messages of a job, for deduplication. */
  messageKeys: 100,
  /** Default length of a store's transition log. */
  transitions: 10_000,
  /** Jobs on a page of a list: maximum and default. */
  pageMax: 1_000,
  page: 100,
  /** Jobs that one call cancels, retries or discards by filter: this many block a SQLite process for about 2 ms. */
  selection: 100,
  /** Bulk operations that run at once, and those kept that have ended: of more, the earliest is removed. */
  bulkRunning: 100,
  bulkEnded: 100,
  /** Groups of failures kept per type: of more, the one that has not occurred for the longest time is removed. */
  failureGroups: 100,
  /** Groups of failures that people have put together. */
  failureMerges: 1_000,
  /** Ids in each list of a report. */
  reportIds: 10_000,
} as const
