/**
 * Calls in transactions of the user: what they ask for is a row that the transaction writes, and every transaction of a
 * store begins with carrying out the rows that are there. So nobody sees, or decides on, a state without them.
 *
 * Receipts are the id of the store and a number. What has become of a call follows from its row: as soon as no
 * transaction is open on the connection, the row is there, or it was carried out by another process, or it was rolled
 * back.
 */
import { describe, JobchartError } from '../../core/errors.ts'
import type { KyselyTransaction, OpenTransaction, SynchronousTransaction } from '../../core/open-transaction.ts'
import { endsLease, endWritten, leaseOfIntents, type TxFate, type TxIntent } from '../../core/tx-intent.ts'
import type { Counts, Lease, Standing } from '../../store.ts'
import { receiptOf } from './carry-out.ts'
import { isBusy, isReading, storeError } from './errors.ts'
import { countsFrom, countsOf } from './queue.ts'
import type { UserDatabase } from './user-database.ts'
import { hasMethods, isSqliteDatabase } from './user-driver.ts'

/** Of so many calls it is remembered what has become of them; of more if their transaction is open. */
const fatesMax = 50_000

export class UserTransactions {
  private readonly user: UserDatabase
  /** The state of a claimed job, within the transaction. */
  private readonly standing: (lease: Lease) => Standing
  private readonly fateOf = new Map<string, TxFate>()
  /** Those whose transaction may be open. */
  private readonly undecided = new Set<string>()
  private written = 0

  constructor(user: UserDatabase, standing: (lease: Lease) => Standing) {
    this.user = user
    this.standing = standing
  }

  /** @throws JobchartError TX_NOT_OPEN, TX_OTHER_DATABASE, LEASE_LOST, NOT_ACCEPTED, STORE_UNAVAILABLE, UNSUPPORTED */
  writeNow(tx: SynchronousTransaction, intents: readonly TxIntent[]): string {
    this.checkSame(tx)
    return this.keep(intents)
  }

  async write(tx: OpenTransaction, intents: readonly TxIntent[]): Promise<string> {
    if (!isKysely(tx)) return this.writeNow(tx as SynchronousTransaction, intents)
    this.checkInTransaction()
    const { rows } = await ask(tx, this.user.identityQuery)
    this.checkIdentity(rows[0])
    return this.keep(intents)
  }

  /** Jobs by state, and by type and state, as the transaction sees them. */
  counts(): Omit<Counts, 'cursor'> {
    return countsOf(this.user.sql.all('countsOfQueues').map(([type, text]) => [type, countsFrom(text)]))
  }

  areKept(receipts: readonly string[]): boolean[] {
    const kept = new Set(this.user.sql.all('receipts').map(([receipt]) => receipt))
    return receipts.map((receipt) => kept.has(receipt))
  }

  fates(receipts: readonly string[]): TxFate[] {
    this.user.checkOpen()
    this.decide()
    return receipts.map((receipt) => this.fateOf.get(receipt) ?? 'unknown')
  }

  /** Finds out what has become of calls, if no transaction is open on the connection. */
  decide(): void {
    const { user, undecided } = this
    if (undecided.size === 0 || user.isInTransaction) return
    const committed = this.committed()
    for (const receipt of undecided) this.fateOf.set(receipt, committed.has(receipt) ? 'committed' : 'rolledBack')
    undecided.clear()
  }

  /** The receipts of calls whose transaction has committed, of those that are undecided. */
  private committed(): ReadonlySet<string> {
    const { sql } = this.user
    // In this order: a row goes from one table to the other.
    const committed = new Set(sql.all('receipts').map(([receipt]) => receipt))
    const gone = [...this.undecided].filter((receipt) => !committed.has(receipt))
    if (gone.length > 0) for (const [receipt] of sql.all('carriedOut', JSON.stringify(gone))) committed.add(receipt)
    return committed
  }

  private keep(intents: readonly TxIntent[]): string {
    this.checkInTransaction()
    const receipt = receiptOf(this.user.id, ++this.written)
    try {
      // From here on the transaction has the lock of writers: what is read then holds until its end.
      this.user.sql.run('addIntents', receipt, JSON.stringify(intents))
    } catch (error) {
      throw isBusy(error) && !isReading(error) ? locked(this.user.path, error) : storeError(error, this.user.path)
    }
    const lease = leaseOfIntents(intents)
    if (lease !== null) this.checkLease(lease)
    if (lease !== null && endsLease(intents)) this.checkOnlyEnd(lease, receipt)
    this.remember(receipt)
    return receipt
  }

  private remember(receipt: string): void {
    const { fateOf } = this
    fateOf.set(receipt, 'open')
    this.undecided.add(receipt)
    const [oldest] = fateOf.size > fatesMax ? fateOf.keys() : []
    if (oldest !== undefined && !this.undecided.has(oldest)) fateOf.delete(oldest)
  }

  /** An error could be caught, and the transaction committed: so it is rolled back. */
  private checkLease(lease: Lease): void {
    let standing: Standing
    try {
      standing = this.standing(lease)
    } catch (error) {
      this.rollBack()
      throw error
    }
    const { outcome } = standing
    if (outcome === 'leased' || outcome === 'paused') return
    const cause = this.rollBack()
    throw new JobchartError('LEASE_LOST', 'the attempt does not have its job any more', {
      hint: 'The transaction was rolled back: the job was cancelled, or its lease has expired and it may run elsewhere.',
      ...(cause !== null && { cause }),
    })
  }

  /** Of the first end, in this transaction or in one before it, the row is there until it is carried out. */
  private checkOnlyEnd({ id, token }: Lease, receipt: string): void {
    if (this.user.sql.get('otherEnds', receipt, token, JSON.stringify(id))?.[0] === 0) return
    throw endWritten(this.rollBack() ?? undefined)
  }

  /** @returns what it throws; null: nothing */
  private rollBack(): unknown {
    try {
      this.user.rollBack()
      return null
    } catch (error) {
      return error
    }
  }

  private checkInTransaction(): void {
    this.user.checkOpen()
    if (!this.user.isInTransaction) throw notOpen('none is open on the database of the store')
  }

  private checkSame(tx: unknown): void {
    if (tx === this.user.database) return
    if (isSqliteDatabase(tx)) throw otherDatabase(this.user.path)
    if (isKysely(tx)) {
      throw new JobchartError('UNSUPPORTED', 'a transaction of Kysely cannot be asked synchronously', {
        hint: 'Await a call with { tx }, or pass the database within the transaction: client.within(database).',
      })
    }
    if (!isDrizzle(tx)) throw notOpen(`it is ${describe(tx)}, not a transaction of a known library`)
    this.checkInTransaction()
    let row: unknown
    try {
      row = tx.get(this.user.identityQuery)
    } catch (error) {
      throw otherDatabase(this.user.path, error)
    }
    this.checkIdentity(row)
  }

  private checkIdentity(row: unknown): void {
    const values = typeof row === 'object' && row !== null ? (Object.values(row) as unknown[]) : []
    if (values[0] !== this.user.id) throw otherDatabase(this.user.path)
  }
}

// ── transactions of libraries ──────────────────────────────────────────────────────────────────────────────────────

interface DrizzleLike {
  get(query: string): unknown
}

const isDrizzle = (tx: unknown): tx is DrizzleLike => hasMethods(tx, 'rollback', 'get', 'run')

const isKysely = (tx: unknown): tx is KyselyTransaction =>
  hasMethods(tx, 'executeQuery') && 'isTransaction' in tx && tx.isTransaction === true

async function ask(tx: KyselyTransaction, sql: string): Promise<{ readonly rows: readonly unknown[] }> {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] } as const
  try {
    const answer = await tx.executeQuery({ sql, parameters: [], query, queryId: { queryId: 'jobchart' } })
    return answer as { readonly rows: readonly unknown[] }
  } catch (error) {
    if (/no such table/.test(String(error))) return { rows: [] }
    throw error
  }
}

// ── refusals ───────────────────────────────────────────────────────────────────────────────────────────────────────

const notOpen = (why: string): JobchartError =>
  new JobchartError('TX_NOT_OPEN', `tx is no open transaction: ${why}`, {
    hint: 'Call it between BEGIN and COMMIT, or in the function of `database.transaction`. In a synchronous transaction use client.within(tx), which has written when it returns.',
  })

const otherDatabase = (path: string, cause?: unknown): JobchartError =>
  new JobchartError('TX_OTHER_DATABASE', `tx is not a transaction on the connection of the store to ${path}`, {
    hint: 'Begin the transaction on the `database` that sqliteStore was given.',
    ...(cause !== undefined && { cause }),
  })

const locked = (path: string, cause: unknown): JobchartError =>
  new JobchartError('STORE_UNAVAILABLE', `${path} is locked by another process, or has changed since the transaction`, {
    hint: 'Begin transactions that write with BEGIN IMMEDIATE, and repeat this one.',
    cause,
  })
