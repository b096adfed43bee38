/** The queued jobs in the order of their claims, by queue and concurrency key. */
import type { Row } from './row-cache.ts'
import type { Statements } from './statements.ts'

/** What stands for no concurrency key. */
export const noKey = ''

export class Waiting {
  private readonly sql: Statements
  /** New jobs without a concurrency key, with numbers that follow each other, which are not written yet. */
  private first = 0
  private last = -1

  constructor(sql: Statements) {
    this.sql = sql
  }

  /** A new job is queued. @param now must it be written at once? */
  add(row: Row, now: boolean): void {
    const { seq, concurrencyKey } = row
    row.waitsAt = seq
    if (now || concurrencyKey !== null) return this.insert(row)
    if (seq !== this.last + 1 || this.last < this.first) {
      this.write()
      this.first = seq
    }
    this.last = seq
  }

  /** A job waits at its place from now on, or no longer. */
  move(row: Row, waits: boolean): void {
    const place = waits ? row.place : null
    const { waitsAt } = row
    if (place === waitsAt) return
    this.write()
    if (waitsAt !== null) {
      this.sql.run('removeWaiting', row.queue.number, row.concurrencyKey ?? noKey, -row.priority, waitsAt)
    }
    row.waitsAt = place
    if (place !== null) this.insert(row)
  }

  /** Removes all jobs of a queue without a concurrency key up to this one. */
  takeUntil({ queue, priority, waitsAt }: Row): void {
    this.sql.run('takeWaiting', queue.number, noKey, -priority, waitsAt)
  }

  /** Writes what is not written yet. */
  write(): void {
    const { first, last } = this
    this.forget()
    if (first === last) this.sql.run('addOneWaiting', first)
    else if (first < last) this.sql.run('addWaitingRange', first, last)
  }

  /** A transaction was rolled back. */
  forget(): void {
    this.first = 0
    this.last = -1
  }

  private insert({ queue, concurrencyKey, priority, place, seq }: Row): void {
    this.sql.run('addWaiting', queue.number, concurrencyKey ?? noKey, -priority, place, seq)
  }
}
