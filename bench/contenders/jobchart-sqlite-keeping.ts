/** Us, in a file, keeping every job that has ended: as the floor and plainjob do. */
import type { FileQueue } from '../sqlite/file-queue.ts'
import { JobchartQueue } from './jobchart-sqlite.ts'

const retention = { done: { count: 1_000_000_000 } }

export const contender: FileQueue = { open: (work) => JobchartQueue.open(work, { retention }) }
