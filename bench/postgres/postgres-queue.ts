/** A queue in a PostgreSQL database. */
import type { OpenQueue, QueueOptions } from '../open-queue.ts'

export interface PostgresWork extends QueueOptions {
  readonly url: string
  /** Its schema: nobody else uses it. */
  readonly schema: string
}

export interface PostgresQueue {
  readonly open: (work: PostgresWork) => Promise<OpenQueue>
}
