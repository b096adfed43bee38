/**
 * Calls within transactions of users, `{ tx }`: what they ask for is written through the transaction, and watched until
 * the transaction has ended. Then it is carried out at once, which also wakes workers. If this process ends before,
 * the sweep of any runtime carries it out.
 */
import type { Timer } from '../core/clock.ts'
import { JobchartError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import type { RepeatedCalls } from '../core/repeated-calls.ts'
import type { OpenTransaction, Store, SynchronousTransaction, TxFate, TxIntent } from '../store.ts'
import { carryOutAll, insertedBy } from './carry-out.ts'
import type { EventHub } from './event-hub.ts'
import type { Timers } from './timers.ts'

/** Writes that are watched at most. What others leave is carried out by a sweep, and watched when it is waited for. */
const watchedMax = 10_000
/** Interval in which the server is asked for the state of a transaction: a quarter of its age, within these limits. */
const everyMs = { least: 2, most: 1_000 }

interface TransactionsOptions {
  readonly store: Store
  /** The transaction that calls without `tx` join; null: there is none. */
  readonly ambient: (() => OpenTransaction | null | undefined) | null
  readonly timers: Timers
  readonly logger: Logger
  readonly repeated: RepeatedCalls
  readonly hub: EventHub
  /** Opens the store. */
  readonly ready: () => Promise<void>
}

/** A call that was written through a transaction. */
export interface TxWrite {
  /** By which the store tells what has become of it. */
  readonly receipt: string
  /** Is it known what has become of it? */
  readonly hasEnded: boolean
  /**
   * Resolves when the transaction has committed, and what the call has asked for is carried out.
   * @returns false if it is not certain that it has committed: `TxFate` `unknown`
   * @throws JobchartError TX_ROLLED_BACK; STOPPED if the client is closed before
   */
  settled(): Promise<boolean>
  /** Is it known by now that the transaction was rolled back, or its savepoint? The store is asked. */
  isRolledBack(): Promise<boolean>
}

class Write implements TxWrite {
  readonly receipt: string
  /** The jobs that it inserts. */
  readonly ids: readonly string[]
  readonly at: number
  nextAt: number
  /** As it was told last: a store is asked again only for what was open. */
  fate: TxFate = 'open'
  readonly waiters: { resolve: (isCertain: boolean) => void; reject: (error: JobchartError) => void }[] = []
  /** null: not known yet; a boolean: carried out. */
  private outcome: JobchartError | boolean | null = null
  private readonly transactions: Pick<Transactions, 'watch' | 'fateOf'>

  /** @param firstMs when it is asked for at first */
  constructor(
    receipt: string,
    ids: readonly string[],
    now: number,
    firstMs: number,
    transactions: Pick<Transactions, 'watch' | 'fateOf'>,
  ) {
    this.receipt = receipt
    this.ids = ids
    this.at = now
    this.nextAt = now + firstMs
    this.transactions = transactions
  }

  get hasEnded(): boolean {
    return this.outcome !== null
  }

  settled(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (typeof this.outcome === 'boolean') return resolve(this.outcome)
      if (this.outcome !== null) return reject(this.outcome)
      this.waiters.push({ resolve, reject })
      this.transactions.watch(this)
    })
  }

  async isRolledBack(): Promise<boolean> {
    if (this.outcome !== null) return this.outcome instanceof JobchartError && this.outcome.code === 'TX_ROLLED_BACK'
    return (await this.transactions.fateOf(this)) === 'rolledBack'
  }

  /** @param outcome an error, or whether it is certain that it has committed */
  end(outcome: JobchartError | boolean): void {
    this.outcome = outcome
    for (const { resolve, reject } of this.waiters.splice(0)) {
      if (typeof outcome === 'boolean') resolve(outcome)
      else reject(outcome)
    }
  }
}

export class Transactions {
  private readonly options: TransactionsOptions
  private readonly watched = new Set<Write>()
  private timer: Timer | null = null
  /** When the timer fires. */
  private timerAt = 0
  /** Does it keep the process alive, because somebody waits? */
  private isAwaited = false
  private asking = false
  private closed: JobchartError | null = null

  constructor(options: TransactionsOptions) {
    this.options = options
  }

  /** The transaction that a call joins: the one that it names, else that of the client; null: none. */
  of(options?: { readonly tx?: OpenTransaction | null }): OpenTransaction | null {
    const given = options?.tx
    return given === undefined ? (this.options.ambient?.() ?? null) : given
  }

  /** @throws JobchartError UNSUPPORTED, TX_NOT_OPEN, TX_OTHER_DATABASE, STOPPED; what the library throws */
  async write(tx: OpenTransaction, intents: readonly TxIntent[]): Promise<TxWrite> {
    if (this.closed !== null) throw this.closed
    const { transactions } = this.options.store
    if (transactions === undefined) throw this.unsupported('such as postgresStore')
    return this.written(await transactions.write(tx, intents), intents, everyMs.least)
  }

  /** As `write`, and it is written when this returns. @throws as `write` */
  writeNow(tx: SynchronousTransaction, intents: readonly TxIntent[]): TxWrite {
    if (this.closed !== null) throw this.closed
    const { transactions } = this.options.store
    if (transactions?.synchronous === undefined) throw this.unsupported('which is sqliteStore({ database })')
    // It may have committed when this turn of the event loop ends.
    return this.written(transactions.synchronous.write(tx, intents), intents, 0)
  }

  private unsupported(which: string): JobchartError {
    const hint = `Use a store in the database of the transaction, ${which}, or call it without a transaction.`
    const { name } = this.options.store
    return new JobchartError('UNSUPPORTED', `the store ${name} cannot join this transaction of the caller`, { hint })
  }

  private written(receipt: string, intents: readonly TxIntent[], firstMs: number): TxWrite {
    const ids = intents.flatMap(insertedBy)
    const write = new Write(receipt, ids, this.now, firstMs, this)
    if (this.watched.size < watchedMax) this.watch(write)
    return write
  }

  close(reason: JobchartError): void {
    this.closed = reason
    this.timer?.cancel()
    this.timer = null
    for (const write of this.watched) write.end(reason)
    this.watched.clear()
  }

  private get now(): number {
    return this.options.timers.clock.monotonic()
  }

  /** What is known of it: of a store that would wait for a later transaction, what it has told last. */
  async fateOf({ receipt, fate }: Write): Promise<TxFate> {
    const { transactions } = this.options.store
    if (transactions === undefined || transactions.counts !== undefined) return fate
    return (await transactions.fates([receipt]))[0] ?? fate
  }

  watch(write: Write): void {
    if (this.closed !== null) return write.end(this.closed)
    this.watched.add(write)
    const isAwaited = write.waiters.length > 0
    // Many calls may be made in one turn.
    if (this.timer !== null && this.timerAt <= write.nextAt && (this.isAwaited || !isAwaited)) return
    this.schedule()
  }

  private schedule(): void {
    this.timer?.cancel()
    this.timer = null
    if (this.watched.size === 0 || this.asking || this.closed !== null) return
    const all = [...this.watched]
    const nextAt = all.reduce((first, each) => Math.min(first, each.nextAt), Infinity)
    this.timerAt = nextAt
    this.isAwaited = all.some(({ waiters }) => waiters.length > 0)
    this.timer = this.options.timers.after(nextAt - this.now, () => void this.ask(), this.isAwaited)
  }

  /** Asks what has become of the writes whose time it is. */
  private async ask(): Promise<void> {
    this.timer = null
    this.asking = true
    const { now } = this
    const due = [...this.watched].filter(({ nextAt }) => nextAt <= now)
    for (const write of due) write.nextAt = now + waitAfter(now - write.at)
    const open = due.filter(({ fate }) => fate === 'open')
    const { repeated } = this.options
    const failure = 'could not ask for the state of transactions; it is repeated'
    try {
      const fates = (await this.options.store.transactions?.fates(open.map(({ receipt }) => receipt))) ?? []
      open.forEach((write, i) => (write.fate = fates[i] ?? 'open'))
      let held: ReadonlySet<string> = new Set()
      if (due.some(({ fate }) => fate === 'committed' || fate === 'unknown')) {
        await this.options.ready()
        held = await carryOutAll(this.options, () => this.closed === null)
      }
      for (const write of due) if (!write.ids.some((id) => held.has(id))) this.settle(write)
      repeated.succeeded(failure)
    } catch (error) {
      for (const write of due) write.nextAt = this.now + everyMs.most
      if (this.closed === null) repeated.failed(failure, { error })
    }
    this.asking = false
    this.schedule()
  }

  private settle(write: Write): void {
    if (write.fate === 'open') return
    this.watched.delete(write)
    write.end(write.fate === 'rolledBack' ? txRolledBack() : write.fate === 'committed')
  }
}

const waitAfter = (ageMs: number): number => Math.min(Math.max(ageMs / 4, everyMs.least), everyMs.most)

export const txRolledBack = (): JobchartError =>
  new JobchartError(
    'TX_ROLLED_BACK',
    'the transaction of the call was rolled back, or its savepoint: nothing was stored',
    {
      hint: 'Nothing is to be done for this job. Repeat the transaction if it was meant to succeed.',
    },
  )
