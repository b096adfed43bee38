/** bee-queue, as its README shows it: a queue per type; no job sends events, and results are not awaited. */
import type { Input } from '../contender.ts'
import { importPeer } from '../harness/peers.ts'
import { addEach, chunks, type OpenQueue, type EnqueueMode } from '../open-queue.ts'
import type { RedisQueue, RedisWork } from '../redis/redis-queue.ts'

interface Job {
  readonly data: Input
  save(): Promise<unknown>
}

interface Queue {
  ready(): Promise<unknown>
  createJob(data: Input): Job
  saveAll(jobs: readonly Job[]): Promise<ReadonlyMap<unknown, Error>>
  process(concurrency: number, run: (job: Job) => Promise<void>): void
  on(event: 'succeeded', listener: () => void): unknown
  checkHealth(): Promise<{ readonly waiting: number; readonly active: number; readonly delayed: number }>
  close(): Promise<void>
}

interface BeeQueue {
  readonly default: new (
    name: string,
    settings: {
      readonly prefix: string
      readonly redis: { readonly url: string }
      readonly getEvents: boolean
      readonly sendEvents: boolean
      readonly storeJobs: boolean
    },
  ) => Queue
}

class BeeQueues implements OpenQueue {
  private readonly queues: readonly Queue[]
  private readonly work: RedisWork

  constructor(queues: readonly Queue[], work: RedisWork) {
    this.queues = queues
    this.work = work
  }

  static async open(work: RedisWork): Promise<BeeQueues> {
    const { default: QueueOf } = await importPeer<BeeQueue>('bee-queue')
    const { url, prefix, handlers } = work
    const settings = { prefix, redis: { url }, getEvents: false, sendEvents: false, storeJobs: false }
    const queues = handlers.map((_, type) => new QueueOf(`type-${type}`, settings))
    await Promise.all(queues.map((queue) => queue.ready()))
    return new BeeQueues(queues, work)
  }

  async enqueue(count: number, mode: EnqueueMode): Promise<void> {
    const { queues } = this
    const add = (i: number): Promise<unknown> => (queues[i % queues.length] as Queue).createJob({ i }).save()
    if (mode.by !== 'batch') return addEach(count, mode, add)
    for (const { type, first, end } of chunks(count, mode, queues.length)) {
      const queue = queues[type] as Queue
      const errors = await queue.saveAll(
        Array.from({ length: end - first }, (_, i) => queue.createJob({ i: first + i })),
      )
      if (errors.size > 0) throw new Error(`${errors.size} jobs were not saved`)
    }
  }

  async process(): Promise<void> {
    const { queues, work } = this
    let left = await this.left()
    const ended = Promise.withResolvers<void>()
    for (const [type, queue] of queues.entries()) {
      // Told when the end has been written.
      queue.on('succeeded', () => {
        if (--left === 0) ended.resolve()
      })
      const handler = work.handlers[type]
      if (handler === undefined) throw new TypeError(`there is no handler ${type}`)
      queue.process(Math.max(1, Math.floor(work.slots / queues.length)), ({ data }) => handler(data))
    }
    await ended.promise
  }

  async left(): Promise<number> {
    const healths = await Promise.all(this.queues.map((queue) => queue.checkHealth()))
    return healths.reduce((sum, { waiting, active, delayed }) => sum + waiting + active + delayed, 0)
  }

  async close(): Promise<void> {
    await Promise.all(this.queues.map((queue) => queue.close()))
  }
}

export const contender: RedisQueue = { open: (work) => BeeQueues.open(work) }
