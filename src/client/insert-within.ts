/**
 * Inserts within transactions of users: they are carried out after the commit, and never wait for room. Through a
 * transaction on the connection of the store they are written when the call returns.
 */
import { invalidOption, JobchartError } from '../core/errors.ts'
import type { JobHandle } from '../core/handle.ts'
import { statesTagged } from '../core/lifecycle.ts'
import type { MachineTypes } from '../core/machine-record.ts'
import type { ClientSettings } from '../core/settings.ts'
import type {
  Counts,
  NewJob,
  OpenTransaction,
  QueueLimit,
  StateCounts,
  Store,
  SynchronousTransaction,
  SynchronousTransactions,
} from '../store.ts'
import { EarlierInserts } from './earlier-inserts.ts'
import type { HandleServices } from './handle.ts'
import type { Transactions, TxWrite } from './transactions.ts'
import { TxHandle, type TxHandleOptions } from './tx-handle.ts'

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
  private readonly earlier = new EarlierInserts()

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
    const { store, transactions } = this.options
    const limits = isBounded ? this.limitsOf(jobs) : null
    if (limits !== null && (await this.isFull(tx, limits, jobs))) {
      // That it is no open transaction of the store is said first.
      await transactions.write(tx, [])
      return null
    }
    const timed = timedFrom(store.now(), jobs)
    const write = await transactions.write(tx, [{ kind: 'insert', request: { jobs: timed, capacity: null } }])
    return this.handlesOf<Output, Machine>(tx, timed, write)
  }

  /** The same, and it is written when this returns. */
  insertNow<Output, Machine extends MachineTypes = MachineTypes>(
    tx: SynchronousTransaction,
    jobs: readonly NewJob[],
    isBounded = true,
  ): JobHandle<Output, Machine>[] | null {
    const { store, transactions } = this.options
    const limits = isBounded ? this.limitsOf(jobs) : null
    const calls = store.transactions?.synchronous
    if (limits !== null && calls !== undefined && this.isFullNow(calls, tx, limits, jobs)) {
      transactions.writeNow(tx, [])
      return null
    }
    const timed = timedFrom(store.now(), jobs)
    const write = transactions.writeNow(tx, [{ kind: 'insert', request: { jobs: timed, capacity: null } }])
    return this.handlesOf<Output, Machine>(tx, timed, write)
  }

  private handlesOf<Output, Machine extends MachineTypes>(
    tx: OpenTransaction,
    jobs: readonly NewJob[],
    write: TxWrite,
  ): JobHandle<Output, Machine>[] {
    const { store, settings, transactions, handles: services } = this.options
    const { logger, capacity } = settings
    if (capacity !== null || this.options.queueLimit !== null) this.earlier.add(tx, write, jobs)
    const joins: TxHandleOptions['joins'] = (options) => transactions.of(options) !== null
    return jobs.map((job) => new TxHandle<Output, Machine>({ services, store, logger, job, write, joins }))
  }

  /** @throws JobchartError CAPACITY */
  async insertOne<Output, Machine extends MachineTypes>(
    tx: OpenTransaction,
    made: NewJob | Promise<NewJob>,
    isBounded = true,
  ): Promise<JobHandle<Output, Machine>> {
    const handles = await this.insert<Output, Machine>(tx, [await made], isBounded)
    if (handles?.[0] !== undefined) return handles[0]
    throw noRoom(1)
  }

  /** The limits of an insert of jobs of one type; null: none. A hand-over cannot be part of a transaction. */
  private limitsOf(jobs: readonly NewJob[]): Limits | null {
    const { capacity } = this.options.settings
    const queue = this.options.queueLimit?.(jobs[0]?.type ?? '')
    if (queue?.capacity === 0) {
      const hint =
        'A hand-over waits for a free slot, and a transaction must not wait: give the type a capacity, or leave `tx` out.'
      throw invalidOption('tx', 'none for a type with a capacity of 0', 'a transaction', hint)
    }
    return capacity === null && queue === undefined ? null : { capacity, queue }
  }

  /** Is there no room? A store of which all other calls wait for the end of the transaction counts within it. */
  private async isFull(tx: OpenTransaction, limits: Limits, jobs: readonly NewJob[]): Promise<boolean> {
    const { store } = this.options
    const { transactions } = store
    if (transactions?.synchronous !== undefined) return this.isFullNow(transactions.synchronous, tx, limits, jobs)
    const counts = (await transactions?.counts?.(tx)) ?? (await store.counts())
    if (!this.isReached(counts, tx, limits, jobs)) return false
    if (transactions === undefined || transactions.counts !== undefined) return true
    const receipts = this.earlier.receipts(tx)
    const fates = await transactions.fates(receipts)
    const areOpen = fates.map((fate) => fate === 'open')
    this.earlier.forget(tx, receipts, areOpen)
    return this.isReached(counts, tx, limits, jobs)
  }

  private isFullNow(
    calls: SynchronousTransactions,
    tx: OpenTransaction,
    limits: Limits,
    jobs: readonly NewJob[],
  ): boolean {
    const counts = calls.counts()
    if (!this.isReached(counts, tx, limits, jobs)) return false
    const receipts = this.earlier.receipts(tx)
    this.earlier.forget(tx, receipts, calls.areKept(receipts))
    return this.isReached(counts, tx, limits, jobs)
  }

  /** Would these jobs of one type exceed a limit, with those that the transaction has inserted before? */
  private isReached(
    counts: Omit<Counts, 'cursor'>,
    tx: OpenTransaction,
    { capacity, queue }: Limits,
    jobs: readonly NewJob[],
  ): boolean {
    const waiting = (of: StateCounts | undefined, type: string | null): number =>
      backlogIn(of) + this.earlier.count(tx, type) + jobs.length
    const type = jobs[0]?.type ?? ''
    return (
      (capacity !== null && waiting(counts, null) > capacity) ||
      (queue !== undefined && waiting(counts.types[type], type) > queue.capacity)
    )
  }
}

/** @param jobs how many were to be inserted */
export const noRoom = (jobs: number): JobchartError =>
  new JobchartError('CAPACITY', jobs === 1 ? 'no room: `capacity` jobs are waiting' : `no room for ${jobs} jobs`, {
    hint: 'A call in a transaction does not wait: use tryEnqueue, raise `capacity`, or report that the queue is full.',
  })

interface Limits {
  readonly capacity: number | null
  readonly queue: QueueLimit | undefined
}

/** A delay counts from the call on, not from the commit. */
const timedFrom = (now: number, jobs: readonly NewJob[]): NewJob[] =>
  jobs.map((job) => (job.delayMs > 0 ? { ...job, runAt: now + job.delayMs, delayMs: 0 } : job))

const backlog = statesTagged('backlog')

const backlogIn = (counts: StateCounts | undefined): number =>
  counts === undefined ? 0 : [...backlog].reduce((sum, state) => sum + counts[state], 0)
