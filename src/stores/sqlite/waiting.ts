/** The queued jobs in the order of their claims, by queue and concurrency key. */
import type { Front, Queue } from './queue.ts'
import type { Queues } from './queues.ts'
import type { Row } from './row-cache.ts'
import { claimable, noKey } from './state-names.ts'
import type { Statements } from './statements.ts'

/** So many rows of claimed jobs are left before the front of a queue. */
const takenMax = 500

const first: Front = [-Number.MAX_SAFE_INTEGER, 0]

/** After which place the jobs of a queue and key wait. */
export const frontOf = ({ front }: Queue, key: string | null): Front => (key === null && front !== null ? front : first)

export class Waiting {
  private readonly sql: Statements
  private readonly queues: Queues
  /** New jobs without a concurrency key, with numbers that follow each other, which are not written yet. */
  private first = 0
  private last = -1

  constructor(sql: Statements, queues: Queues) {
    this.sql = sql
    this.queues = queues
  }

  /** A new job is queued. @param now must it be written at once? */
  add(row: Row, now: boolean): void {
    const { seq, concurrencyKey } = row
    row.waitsAt = seq
    if (now || concurrencyKey !== null) return this.insert(row)
    this.checkFront(row, seq)
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
      this.unlist(row, waitsAt)
    }
    row.waitsAt = place
    if (place !== null) this.insert(row)
  }

  /** All jobs of a queue without a concurrency key up to the last of these were claimed. */
  takeFirst(rows: readonly { readonly row: Row }[]): void {
    const last = rows.at(-1)?.row
    if (last === undefined) return
    const { queue, priority, place } = last
    for (const { row } of rows) {
      this.unlist(row, row.place)
      row.waitsAt = null
    }
    this.queues.setFront(queue, [-priority, place])
    queue.taken += rows.length
    if (queue.taken >= takenMax) this.removeTaken(queue)
  }

  /** Removes what is left before the front of a queue, so that jobs may come there. */
  removeTaken(queue: Queue): void {
    queue.taken = 0
    const { front } = queue
    if (front === null) return
    this.sql.run('takeWaiting', queue.number, noKey, ...front)
    this.queues.setFront(queue, null)
  }

  /** Writes what is not written yet. */
  write(): void {
    const { first: from, last: to } = this
    this.forget()
    if (from === to) this.sql.run('addOneWaiting', from)
    else if (from < to) this.sql.run('addWaitingRange', from, to)
  }

  /** A transaction was rolled back. */
  forget(): void {
    this.first = 0
    this.last = -1
  }

  private insert(row: Row): void {
    const { queue, concurrencyKey, priority, place, seq } = row
    if (concurrencyKey === null) this.checkFront(row, place)
    this.sql.run('addWaiting', queue.number, concurrencyKey ?? noKey, -priority, place, seq)
    if (isApart(row, place)) this.sql.run('listQueued', queue.number, claimable, seq)
  }

  private unlist(row: Row, place: number): void {
    if (isApart(row, place)) this.sql.run('unlistQueued', row.queue.number, claimable, row.seq)
  }

  private checkFront({ queue, priority }: Row, place: number): void {
    const { front } = queue
    if (front === null || -priority > front[0] || (-priority === front[0] && place > front[1])) return
    this.removeTaken(queue)
  }
}

/** Does it not wait in the order of the enqueue? Then it is in a list that is in that order. */
const isApart = ({ concurrencyKey, seq }: Row, place: number): boolean => concurrencyKey !== null || place !== seq
