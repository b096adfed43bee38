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
} from '../store.ts'
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
    if (limits !== null && isFull(await this.counts(tx), limits, jobs)) return null
    const timed = timedFrom(store.now(), jobs)
    const write = await transactions.write(tx, [{ kind: 'insert', request: { jobs: timed, capacity: null } }])
    return this.handlesOf<Output, Machine>(timed, write)
  }

  /** The same, and it is written when this returns. */
  insertNow<Output, Machine extends MachineTypes = MachineTypes>(
    tx: SynchronousTransaction,
    jobs: readonly NewJob[],
    isBounded = true,
  ): JobHandle<Output, Machine>[] | null {
    const { store, transactions } = this.options
    const limits = isBounded ? this.limitsOf(jobs) : null
    const counts = limits === null ? undefined : store.transactions?.synchronous?.counts()
    if (limits !== null && counts !== undefined && isFull(counts, limits, jobs)) return null
    const timed = timedFrom(store.now(), jobs)
    const write = transactions.writeNow(tx, [{ kind: 'insert', request: { jobs: timed, capacity: null } }])
    return this.handlesOf<Output, Machine>(timed, write)
  }

  private handlesOf<Output, Machine extends MachineTypes>(
    jobs: readonly NewJob[],
    write: TxWrite,
  ): JobHandle<Output, Machine>[] {
    const { store, settings, transactions, handles: services } = this.options
    const { logger } = settings
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

  /** Of a store on the connection of the transaction as that sees them: other calls wait for its end. */
  private async counts(tx: OpenTransaction): Promise<Omit<Counts, 'cursor'>> {
    const { store } = this.options
    const { transactions } = store
    return transactions?.synchronous?.counts() ?? transactions?.counts?.(tx) ?? store.counts()
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

/** Is there no room for these jobs of one type, as the store is now? */
function isFull(counts: Omit<Counts, 'cursor'>, { capacity, queue }: Limits, jobs: readonly NewJob[]): boolean {
  const room = (of: StateCounts | undefined, most: number): number => most - backlogIn(of)
  const free = Math.min(
    capacity === null ? Infinity : room(counts, capacity),
    queue === undefined ? Infinity : room(counts.types[jobs[0]?.type ?? ''], queue.capacity),
  )
  return free < jobs.length
}

const backlog = statesTagged('backlog')

const backlogIn = (counts: StateCounts | undefined): number =>
  counts === undefined ? 0 : [...backlog].reduce((sum, state) => sum + counts[state], 0)
