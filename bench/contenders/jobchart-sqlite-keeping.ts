/** Us, in a file, keeping every job that has ended: as the floor and plainjob do. */
import { sqliteStoreAt } from '../harness/stores.ts'
import type { FileQueue } from '../sqlite/file-queue.ts'
import { JobchartQueue } from './jobchart-queue.ts'

const retention = { done: { count: 1_000_000_000 } }

export const contender: FileQueue = {
  open: async (work) => JobchartQueue.open(await sqliteStoreAt(work.path, work.thread), work, { retention }),
}
