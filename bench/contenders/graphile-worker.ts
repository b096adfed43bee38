/** graphile-worker with its local queue and batched completions, as its page on performance advises. */
import type { Input } from '../contender.ts'
import { importPeer } from '../harness/peers.ts'
import { addEach, chunks, type EnqueueMode, type OpenQueue } from '../open-queue.ts'
import type { PostgresQueue, PostgresWork } from '../postgres/postgres-queue.ts'
import { Client } from 'pg'

interface Utils {
  migrate(): Promise<void>
  addJob(task: string, payload: Input): Promise<unknown>
  addJobs(jobs: readonly { readonly identifier: string; readonly payload: Input }[]): Promise<unknown>
  release(): Promise<void>
}

interface GraphileWorker {
  makeWorkerUtils(options: object): Promise<Utils>
  run(options: object): Promise<{ stop(): Promise<void> }>
}

const logger = { scope: () => logger, error() {}, warn() {}, info() {}, debug() {} }

class GraphileQueue implements OpenQueue {
  private readonly peer: GraphileWorker
  private readonly utils: Utils
  private readonly work: PostgresWork

  private constructor(peer: GraphileWorker, utils: Utils, work: PostgresWork) {
    this.peer = peer
    this.utils = utils
    this.work = work
  }

  static async open(work: PostgresWork): Promise<GraphileQueue> {
    const peer = await importPeer<GraphileWorker>('graphile-worker')
    const utils = await peer.makeWorkerUtils({ connectionString: work.url, preset: { worker: presetOf(work) } })
    await utils.migrate()
    return new GraphileQueue(peer, utils, work)
  }

  async enqueue(count: number, mode: EnqueueMode): Promise<void> {
    const { handlers } = this.work
    const nameOf = (i: number): string => `type-${i % handlers.length}`
    if (mode.by !== 'batch') return addEach(count, mode, (i) => this.utils.addJob(nameOf(i), { i }))
    for (const { type, first, end } of chunks(count, mode, handlers.length)) {
      const payloads = Array.from({ length: end - first }, (_, i) => ({ i: first + i }))
      await this.utils.addJobs(payloads.map((payload) => ({ identifier: nameOf(type), payload })))
    }
  }

  async process(): Promise<void> {
    const { handlers, url } = this.work
    const { promise, resolve } = Promise.withResolvers<void>()
    let left = await this.left()
    const taskList = Object.fromEntries(
      handlers.map((handler, type) => [
        `type-${type}`,
        async (payload: Input): Promise<void> => {
          await handler(payload)
          if (--left === 0) resolve()
        },
      ]),
    )
    const runner = await this.peer.run({ connectionString: url, taskList, preset: { worker: presetOf(this.work) } })
    await promise
    // What it has batched is written when it stops.
    await runner.stop()
  }

  async left(): Promise<number> {
    const client = new Client({ connectionString: this.work.url })
    await client.connect()
    const { rows } = await client.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM ${this.work.schema}._private_jobs`,
    )
    await client.end()
    return rows[0]?.n ?? 0
  }

  close(): Promise<void> {
    return this.utils.release()
  }
}

const presetOf = ({ schema, slots }: PostgresWork): object => ({
  schema,
  concurrentJobs: slots,
  localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
  logger,
})

export const contender: PostgresQueue = { open: (work) => GraphileQueue.open(work) }
