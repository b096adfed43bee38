/** Inserts within transactions of users: they are carried out after the commit, and never wait for room. */
import { invalidOption, JobchartError } from '../core/errors.ts'
import type { JobHandle } from '../core/handle.ts'
import { statesTagged } from '../core/lifecycle.ts'
import type { MachineTypes } from '../core/machine-record.ts'
import type { ClientSettings } from '../core/settings.ts'
import type { NewJob, OpenTransaction, QueueLimit, StateCounts, Store } from '../store.ts'
import type { HandleServices } from './handle.ts'
import type { Transactions } from './transactions.ts'
import { TxHandle } from './tx-handle.ts'

interface InsertWithinOptions {
  readonly store: Store
  readonly settings: Pick<ClientSettings, 'capacity' | 'logger'>
  /** The limit of the queue of a type. */
  readonly queueLimit: ((type: string) => QueueLimit | undefined) | null
  readonly transactions: Transactions
  readonly handles: HandleServices
}

export class InsertWithin {
  private readonly options: InsertWithinOptions

  constructor(options: InsertWithinOptions) {
    this.options = options
  }

  /**
   * All of these jobs or none; their handles know when.
   * @param isBounded does the capacity apply?
   * @returns null if there is no room now
   */
  async insert<Output, Machine extends MachineTypes = MachineTypes>(
    tx: OpenTransaction,
    jobs: readonly NewJob[],
    isBounded = true,
  ): Promise<JobHandle<Output, Machine>[] | null> {
    const { store, settings, transactions, handles: services } = this.options
    if (isBounded && (await this.isFullFor(jobs))) return null
    const now = store.now()
    // A delay counts from the call on, not from the commit.
    const timed = jobs.map((job) => (job.delayMs > 0 ? { ...job, runAt: now + job.delayMs, delayMs: 0 } : job))
    const write = await transactions.write(tx, [{ kind: 'insert', request: { jobs: timed, capacity: null } }])
    const { logger } = settings
    return timed.map((job) => new TxHandle<Output, Machine>({ services, store, logger, job, write }))
  }

  /** @throws JobchartError CAPACITY */
  async insertOne<Output, Machine extends MachineTypes>(
    tx: OpenTransaction,
    made: NewJob | Promise<NewJob>,
    isBounded = true,
  ): Promise<JobHandle<Output, Machine>> {
    const handles = await this.insert<Output, Machine>(tx, [await made], isBounded)
    if (handles?.[0] !== undefined) return handles[0]
    throw new JobchartError('CAPACITY', 'no room: `capacity` jobs are waiting', {
      hint: 'A call in a transaction does not wait: use tryEnqueue, raise `capacity`, or report that the queue is full.',
    })
  }

  /** Is there no room for these jobs of one type, as the store is now? A hand-over cannot be part of a transaction. */
  private async isFullFor(jobs: readonly NewJob[]): Promise<boolean> {
    const { store, settings, queueLimit } = this.options
    const { capacity } = settings
    const type = jobs[0]?.type ?? ''
    const queue = queueLimit?.(type)
    if (queue?.capacity === 0) {
      const hint =
        'A hand-over waits for a free slot, and a transaction must not wait: give the type a capacity, or leave `tx` out.'
      throw invalidOption('tx', 'none for a type with a capacity of 0', 'a transaction', hint)
    }
    if (capacity === null && queue === undefined) return false
    const counts = await store.counts()
    const room = (of: StateCounts | undefined, most: number): number => most - backlogIn(of)
    const free = Math.min(
      capacity === null ? Infinity : room(counts, capacity),
      queue === undefined ? Infinity : room(counts.types[type], queue.capacity),
    )
    return free < jobs.length
  }
}

const backlog = statesTagged('backlog')

const backlogIn = (counts: StateCounts | undefined): number =>
  counts === undefined ? 0 : [...backlog].reduce((sum, state) => sum + counts[state], 0)
