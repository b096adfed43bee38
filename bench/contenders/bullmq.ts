/** BullMQ, as its documentation shows it: a queue and a worker per type, default options, no events. */
import type { Handler, Input } from '../contender.ts'
import { importPeer } from '../harness/peers.ts'
import { addEach, chunks, type OpenQueue, type EnqueueMode } from '../open-queue.ts'
import type { RedisQueue, RedisWork } from '../redis/redis-queue.ts'

interface Connection {
  readonly host: string
  readonly port: number
}

interface Queue {
  add(name: string, data: Input): Promise<unknown>
  addBulk(jobs: readonly { readonly name: string; readonly data: Input }[]): Promise<unknown>
  getJobCounts(...states: readonly string[]): Promise<Record<string, number>>
  waitUntilReady(): Promise<unknown>
  close(): Promise<void>
}

interface Worker {
  on(event: string, listener: () => void): unknown
  waitUntilReady(): Promise<unknown>
  run(): Promise<void>
  close(): Promise<void>
}

interface Bullmq {
  readonly Queue: new (name: string, options: { readonly connection: Connection; readonly prefix: string }) => Queue
  readonly Worker: new (
    name: string,
    run: (job: { readonly data: Input }) => Promise<void>,
    options: {
      readonly connection: Connection
      readonly prefix: string
      readonly concurrency: number
      readonly autorun: boolean
    },
  ) => Worker
}

const jobName = 'job'

class BullmqQueue implements OpenQueue {
  private readonly queues: readonly Queue[]
  private readonly workers: readonly Worker[]
  /** Set while the jobs are processed. */
  private completed: () => void = () => {}

  private constructor({ Queue: QueueOf, Worker: WorkerOf }: Bullmq, { url, prefix, handlers, slots }: RedisWork) {
    const { hostname, port } = new URL(url)
    const connection = { host: hostname, port: Number(port) }
    this.queues = handlers.map((_, type) => new QueueOf(`type-${type}`, { connection, prefix }))
    const concurrency = Math.max(1, Math.floor(slots / handlers.length))
    this.workers = handlers.map((handler: Handler, type) => {
      const run = ({ data }: { readonly data: Input }): Promise<void> => handler(data)
      const worker = new WorkerOf(`type-${type}`, run, { connection, prefix, concurrency, autorun: false })
      worker.on('completed', () => this.completed())
      return worker
    })
  }

  static async open(work: RedisWork): Promise<BullmqQueue> {
    const queue = new BullmqQueue(await importPeer<Bullmq>('bullmq'), work)
    await Promise.all([...queue.queues, ...queue.workers].map((each) => each.waitUntilReady()))
    return queue
  }

  async enqueue(count: number, mode: EnqueueMode): Promise<void> {
    const { queues } = this
    const add = (i: number): Promise<unknown> => (queues[i % queues.length] as Queue).add(jobName, { i })
    if (mode.by !== 'batch') return addEach(count, mode, add)
    for (const { type, first, end } of chunks(count, mode, queues.length)) {
      const jobs = Array.from({ length: end - first }, (_, i) => ({ name: jobName, data: { i: first + i } }))
      await (queues[type] as Queue).addBulk(jobs)
    }
  }

  async process(): Promise<void> {
    let left = await this.left()
    const ended = Promise.withResolvers<void>()
    this.completed = () => {
      if (--left === 0) ended.resolve()
    }
    const running = this.workers.map((worker) => worker.run())
    await Promise.race([
      ended.promise,
      Promise.all(running).then(() => Promise.reject(new Error('the workers have ended'))),
    ])
  }

  async left(): Promise<number> {
    const counts = await Promise.all(this.queues.map((queue) => queue.getJobCounts('waiting', 'active', 'delayed')))
    return counts.flatMap((each) => Object.values(each)).reduce((sum, count) => sum + count, 0)
  }

  async close(): Promise<void> {
    this.completed = () => {}
    await Promise.all(this.workers.map((worker) => worker.close()))
    await Promise.all(this.queues.map((queue) => queue.close()))
  }
}

export const contender: RedisQueue = { open: (work) => BullmqQueue.open(work) }
