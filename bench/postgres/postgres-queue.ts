/** A queue in a PostgreSQL database. */
import type { Handler } from '../contender.ts'
import type { OpenQueue } from '../open-queue.ts'

export interface PostgresWork {
  readonly url: string
  /** Its schema: nobody else uses it. */
  readonly schema: string
  /** What to do with a job, by its type. */
  readonly handlers: readonly Handler[]
  /** Jobs at once, of all types. */
  readonly slots: number
}

export interface PostgresQueue {
  readonly open: (work: PostgresWork) => Promise<OpenQueue>
}
