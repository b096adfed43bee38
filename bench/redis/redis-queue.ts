/** A queue on a Redis server. */
import type { OpenQueue, QueueOptions } from '../open-queue.ts'

export interface RedisWork extends QueueOptions {
  readonly url: string
  /** What its keys begin with: nobody else uses them. */
  readonly prefix: string
}

export interface RedisQueue {
  readonly open: (work: RedisWork) => Promise<OpenQueue>
}
