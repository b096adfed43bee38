/** Us, in a PostgreSQL database. */
import { postgresStoreAt } from '../harness/stores.ts'
import type { PostgresQueue } from '../postgres/postgres-queue.ts'
import { JobchartQueue } from './jobchart-queue.ts'

export const contender: PostgresQueue = {
  open: async (work) => JobchartQueue.open(await postgresStoreAt(work.url, work.schema), work),
}
