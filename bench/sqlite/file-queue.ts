/** A queue in a file. */
import type { OpenQueue, QueueOptions } from '../open-queue.ts'

export interface FileWork extends QueueOptions {
  readonly path: string
  /** Is the file to be worked on in a thread of its own, where there is a choice? */
  readonly thread?: boolean
}

export interface FileQueue {
  readonly open: (work: FileWork) => Promise<OpenQueue>
}
