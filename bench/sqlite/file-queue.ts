/** A queue in a file. */
import type { Handler } from '../contender.ts'
import type { OpenQueue } from '../open-queue.ts'

export interface FileWork {
  readonly path: string
  /** What to do with a job, by its type. */
  readonly handlers: readonly Handler[]
  /** Jobs at once. */
  readonly slots: number
  /** Is the file to be worked on in a thread of its own, where there is a choice? */
  readonly thread?: boolean
}

export interface FileQueue {
  readonly open: (work: FileWork) => Promise<OpenQueue>
}
