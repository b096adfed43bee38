/** Us, in a file. */
import { sqliteStoreAt } from '../harness/stores.ts'
import type { FileQueue } from '../sqlite/file-queue.ts'
import { JobchartQueue } from './jobchart-queue.ts'

export const contender: FileQueue = {
  open: async (work) => JobchartQueue.open(await sqliteStoreAt(work.path, work.thread), work),
}
