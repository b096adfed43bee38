/**
 * plainjob on better-sqlite3, as its README shows it: WAL, synchronous=NORMAL (it sets that itself, so a power cut may
 * take back what it has acknowledged), a worker per type.
 */
import type { Handler, Input } from '../contender.ts'
import { importPeer } from '../harness/peers.ts'
import { chunks, type OpenQueue, type EnqueueMode } from '../open-queue.ts'
import type { FileQueue, FileWork } from '../sqlite/file-queue.ts'

interface BetterSqlite {
  readonly default: new (path: string) => object
}

interface Logger {
  error(message: string): void
  warn(message: string): void
  info(message: string): void
  debug(message: string): void
}

interface Queue {
  add(type: string, data: unknown): unknown
  addMany(type: string, data: readonly unknown[]): unknown
  countJobs(filter: { readonly status: number }): number
  close(): void
}

interface Worker {
  start(): Promise<void>
  stop(): Promise<void>
}

interface Plainjob {
  better(database: object): object
  defineQueue(options: { readonly connection: object; readonly logger: Logger }): Queue
  defineWorker(
    type: string,
    run: (job: { readonly data: string }) => Promise<void>,
    options: { readonly queue: Queue; readonly logger: Logger; readonly onCompleted: () => void },
  ): Worker
}

const pending = 0
const processing = 1
const silent: Logger = { error() {}, warn() {}, info() {}, debug() {} }
const name = (type: number): string => `type-${type}`

class PlainjobQueue implements OpenQueue {
  private readonly plainjob: Plainjob
  private readonly queue: Queue
  private readonly handlers: readonly Handler[]

  constructor(plainjob: Plainjob, { default: Database }: BetterSqlite, { path, handlers }: FileWork) {
    this.plainjob = plainjob
    this.handlers = handlers
    this.queue = plainjob.defineQueue({ connection: plainjob.better(new Database(path)), logger: silent })
  }

  async enqueue(count: number, mode: EnqueueMode): Promise<void> {
    const types = this.handlers.length
    if (mode.by === 'at once') throw new Error('plainjob is synchronous: nothing happens at once')
    if (mode.by === 'one') {
      for (let i = 0; i < count; i++) this.queue.add(name(i % types), { i })
      return
    }
    for (const { type, first, end } of chunks(count, mode, types)) {
      this.queue.addMany(
        name(type),
        Array.from({ length: end - first }, (_, i) => ({ i: first + i })),
      )
    }
  }

  async process(): Promise<void> {
    const { queue, handlers } = this
    let left = await this.left()
    const ended = Promise.withResolvers<void>()
    // A job has been written as done when it is told so.
    const onCompleted = (): void => {
      if (--left === 0) ended.resolve()
    }
    const workers = handlers.map((handler, type) =>
      this.plainjob.defineWorker(name(type), ({ data }) => handler(JSON.parse(data) as Input), {
        queue,
        logger: silent,
        onCompleted,
      }),
    )
    const running = Promise.all(workers.map((worker) => worker.start()))
    // A worker that cannot go on rejects; otherwise it ends when it is stopped.
    await Promise.race([ended.promise, running])
    await Promise.all(workers.map((worker) => worker.stop()))
    await running
  }

  async left(): Promise<number> {
    return this.queue.countJobs({ status: pending }) + this.queue.countJobs({ status: processing })
  }

  async close(): Promise<void> {
    this.queue.close()
  }
}

export const contender: FileQueue = {
  async open(work) {
    const plainjob = await importPeer<Plainjob>('plainjob')
    return new PlainjobQueue(plainjob, await importPeer<BetterSqlite>('better-sqlite3'), work)
  },
}
