/**
 * What calls have inserted in transactions that may be open: no count of the store has it, and a backlog limit must not
 * forget it.
 */
import type { NewJob, OpenTransaction } from '../store.ts'
import type { TxWrite } from './transactions.ts'

interface Earlier {
  readonly write: TxWrite
  readonly jobs: readonly Pick<NewJob, 'id' | 'type' | 'key'>[]
}

/** Inserts of a transaction, or of those of a connection, before the ones that have ended are looked for. */
const sweepMin = 64

class Inserts {
  private all: Earlier[] = []
  /** By type: their ids, or, of jobs with a unique key, that. */
  private readonly names = new Map<string, Set<string>>()
  private sweepAt = sweepMin

  add(added: Earlier): void {
    if (this.all.length >= this.sweepAt) {
      this.keep(({ hasEnded }) => !hasEnded)
      this.sweepAt = Math.max(sweepMin, 2 * this.all.length)
    }
    this.push(added)
  }

  get receipts(): string[] {
    return this.all.map(({ write }) => write.receipt)
  }

  keep(isOpen: (write: TxWrite) => boolean): void {
    const kept = this.all.filter(({ write }) => isOpen(write))
    this.all = []
    this.names.clear()
    for (const each of kept) this.push(each)
  }

  count(type: string | null): number {
    if (type !== null) return this.names.get(type)?.size ?? 0
    return this.names.values().reduce((sum, { size }) => sum + size, 0)
  }

  private push(added: Earlier): void {
    this.all.push(added)
    for (const { id, type, key } of added.jobs) {
      const names = this.names.get(type) ?? new Set()
      this.names.set(type, names.add(key === null ? `id ${id}` : `key ${key}`))
    }
  }
}

export class EarlierInserts {
  /** A connection has many transactions, one after the other. */
  private readonly byTransaction = new WeakMap<OpenTransaction, Inserts>()

  add(tx: OpenTransaction, write: TxWrite, jobs: readonly NewJob[]): void {
    const inserts = this.byTransaction.get(tx) ?? new Inserts()
    this.byTransaction.set(tx, inserts)
    inserts.add({ write, jobs: jobs.map(({ id, type, key }) => ({ id, type, key })) })
  }

  receipts(tx: OpenTransaction): string[] {
    return this.byTransaction.get(tx)?.receipts ?? []
  }

  /**
   * Forgets writes whose jobs are in the counts of the store, or in none for ever.
   * @param areOpen of each of the receipts: is its write neither?
   */
  forget(tx: OpenTransaction, receipts: readonly string[], areOpen: readonly boolean[]): void {
    const gone = new Set(receipts.filter((_, i) => areOpen[i] !== true))
    this.byTransaction.get(tx)?.keep(({ receipt }) => !gone.has(receipt))
  }

  /** How many jobs of a type, or of all types, they are: of a unique key, one. */
  count(tx: OpenTransaction, type: string | null): number {
    return this.byTransaction.get(tx)?.count(type) ?? 0
  }
}
