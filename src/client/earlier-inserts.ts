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

export class EarlierInserts {
  /** A connection has many transactions, one after the other. */
  private readonly byTransaction = new WeakMap<OpenTransaction, readonly Earlier[]>()

  add(tx: OpenTransaction, write: TxWrite, jobs: readonly NewJob[]): void {
    const added = { write, jobs: jobs.map(({ id, type, key }) => ({ id, type, key })) }
    const open = this.of(tx).filter((each) => !each.write.hasEnded)
    this.byTransaction.set(tx, [...open, added])
  }

  receipts(tx: OpenTransaction): string[] {
    return this.of(tx).map(({ write }) => write.receipt)
  }

  /** @param isOpen of each receipt: is it in no count of the store, and may it come into one? */
  keep(tx: OpenTransaction, isOpen: readonly boolean[]): void {
    this.byTransaction.set(
      tx,
      this.of(tx).filter((_, i) => isOpen[i]),
    )
  }

  /** How many jobs of a type, or of all types, they are: of a unique key, one. */
  count(tx: OpenTransaction, type: string | null): number {
    const jobs = this.of(tx).flatMap((each) => each.jobs)
    const counted = jobs.filter((job) => type === null || job.type === type)
    return new Set(counted.map((job) => (job.key === null ? job.id : `${job.type} ${job.key}`))).size
  }

  private of(tx: OpenTransaction): readonly Earlier[] {
    return this.byTransaction.get(tx) ?? []
  }
}
