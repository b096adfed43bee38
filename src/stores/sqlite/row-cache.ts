/**
 * The rows of a transaction: a job has one row object at a time. Leased rows stay until another process writes, so that
 * the end of a run need not read what its claim has written.
 */
import { RenewedMap } from '../../core/renewed-map.ts'
import type { Row } from './row.ts'

export class RowCache {
  private readonly byId = new RenewedMap<string, Row>()
  /** Those of the transaction that may not be leased at its end. */
  private others: Row[] = []
  /** Ids of jobs that were set aside, until a claim tells them. */
  readonly unreadable: string[] = []
  /** The numbers of all jobs that the transaction has come to. */
  private met: number[] = []

  get(id: string): Row | undefined {
    const row = this.byId.get(id)
    if (row !== undefined) this.meet(row.seq)
    return row
  }

  add(row: Row): void {
    this.byId.set(row.id, row)
    this.others.push(row)
  }

  /** A row was written that was leased before, and is not any more. */
  left(row: Row): void {
    this.others.push(row)
  }

  /** A job was removed. */
  delete(id: string): void {
    this.byId.delete(id)
  }

  /** The transaction has come to a job: if it fails, this one may be why. */
  meet(seq: number): void {
    this.met.push(seq)
  }

  /** The numbers of the jobs that the transaction has come to. */
  allMet(): readonly number[] {
    return this.met
  }

  /** Begins a transaction. */
  begin(): void {
    this.met = []
    for (const row of this.others) if (!row.isLeased) this.byId.delete(row.id)
    this.others = []
  }

  /** Its rows may be out of date. */
  clear(): void {
    this.byId.clear()
    this.others = []
  }
}
