/**
 * The rows of a transaction: a job has one row object at a time. Leased rows stay until another process writes, so that
 * the end of a run need not read what its claim has written.
 */
import { isLeased } from '../../core/lifecycle.ts'
import type { Row as SqlRow } from '../sql/row.ts'
import type { Queue } from './queue.ts'

export type Row = SqlRow<Queue>

export class RowCache {
  private readonly byId = new Map<string, Row>()
  /** Those that the transaction has read, changed or added. */
  private readonly touched: Row[] = []
  /** Ids of jobs that were set aside, until a claim tells them. */
  readonly unreadable: string[] = []
  /** The numbers of all jobs that the transaction has come to. */
  private readonly met: number[] = []

  get(id: string): Row | undefined {
    const row = this.byId.get(id)
    if (row === undefined) return undefined
    this.meet(row.seq)
    this.touched.push(row)
    return row
  }

  add(row: Row): void {
    this.byId.set(row.id, row)
    this.touched.push(row)
  }

  /** A job was removed. */
  delete(id: string): void {
    this.byId.delete(id)
  }

  /** Begins a transaction. */
  begin(): void {
    this.met.length = 0
  }

  /** The transaction has come to a job: if it fails, this one may be why. */
  meet(seq: number): void {
    this.met.push(seq)
  }

  /** The numbers of the jobs that the transaction has come to. */
  allMet(): readonly number[] {
    return [...this.met]
  }

  /** The end of the transaction: of its rows, the leased ones stay. */
  finish(): void {
    for (const row of this.touched) {
      row.last = null
      if (!isLeased(row.state)) this.byId.delete(row.id)
    }
    this.touched.length = 0
  }

  /** Its rows may be out of date. */
  clear(): void {
    this.byId.clear()
    this.touched.length = 0
  }
}
