/** pg-boss, with a partition per queue, and batches of 100. */
import type { Input } from '../contender.ts'
import { importPeer } from '../harness/peers.ts'
import { addEach, chunks, type EnqueueMode, type OpenQueue } from '../open-queue.ts'
import type { PostgresQueue, PostgresWork } from '../postgres/postgres-queue.ts'

interface Job {
  readonly id: string
  readonly data: Input
}

interface Boss {
  on(event: 'error', listener: () => void): unknown
  start(): Promise<unknown>
  createQueue(name: string, options: object): Promise<unknown>
  send(name: string, data: Input): Promise<unknown>
  insert(name: string, jobs: readonly { readonly data: Input }[]): Promise<unknown>
  fetch(name: string, options: { readonly batchSize: number }): Promise<readonly Job[] | null>
  complete(name: string, ids: readonly string[]): Promise<unknown>
  stop(options: object): Promise<unknown>
}

interface PgBoss {
  readonly PgBoss: new (options: object) => Boss
}

class BossQueue implements OpenQueue {
  private readonly boss: Boss
  private readonly work: PostgresWork
  private stored = 0

  private constructor(boss: Boss, work: PostgresWork) {
    this.boss = boss
    this.work = work
  }

  static async open(work: PostgresWork): Promise<BossQueue> {
    const { PgBoss: BossOf } = await importPeer<PgBoss>('pg-boss')
    const boss = new BossOf({ connectionString: work.url, schema: work.schema, supervise: false, schedule: false })
    boss.on('error', () => {})
    await boss.start()
    for (const type of work.handlers.keys()) await boss.createQueue(`type-${type}`, { partition: true })
    return new BossQueue(boss, work)
  }

  async enqueue(count: number, mode: EnqueueMode): Promise<void> {
    const { boss } = this
    const { handlers } = this.work
    this.stored += count
    if (mode.by !== 'batch') return addEach(count, mode, (i) => boss.send(`type-${i % handlers.length}`, { i }))
    for (const { type, first, end } of chunks(count, mode, handlers.length)) {
      const jobs = Array.from({ length: end - first }, (_, i) => ({ data: { i: first + i } }))
      await boss.insert(`type-${type}`, jobs)
    }
  }

  /** By fetch and complete: faster than its workers. */
  async process(): Promise<void> {
    const { handlers, slots, handlersWait = false } = this.work
    // A batch ends with its last handler: smaller ones keep more slots busy, and single jobs are slower again.
    const batchSize = handlersWait ? Math.ceil(slots / 5) : slots
    const loops = handlersWait ? Math.ceil(slots / batchSize) : 2
    const loop = async (type: number): Promise<void> => {
      const name = `type-${type}`
      for (;;) {
        const jobs = (await this.boss.fetch(name, { batchSize })) ?? []
        if (jobs.length === 0) return
        await Promise.all(jobs.map(({ data }) => handlers[type]?.(data)))
        await this.boss.complete(
          name,
          jobs.map(({ id }) => id),
        )
        this.stored -= jobs.length
      }
    }
    for (const type of handlers.keys()) await Promise.all(Array.from({ length: loops }, () => loop(type)))
  }

  async left(): Promise<number> {
    return this.stored
  }

  async close(): Promise<void> {
    await this.boss.stop({ graceful: false })
  }
}

export const contender: PostgresQueue = { open: (work) => BossQueue.open(work) }
