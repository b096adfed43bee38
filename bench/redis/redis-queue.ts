/** A queue on a Redis server. */
import type { Handler } from '../contender.ts'
import type { OpenQueue } from '../open-queue.ts'

export interface RedisWork {
  readonly url: string
  /** What its keys begin with: nobody else uses them. */
  readonly prefix: string
  /** What to do with a job, by its type. */
  readonly handlers: readonly Handler[]
  /** Jobs at once, of all types. */
  readonly slots: number
}

export interface RedisQueue {
  readonly open: (work: RedisWork) => Promise<OpenQueue>
}
