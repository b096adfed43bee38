/** The queued jobs in the order of their claims, by queue and concurrency key. */
import { noKey } from './columns.ts'
import type { Front, Queue } from './queue.ts'
import type { Queues } from './queues.ts'
import type { Row } from './row.ts'
import { claimable } from './state-names.ts'
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
  /** Jobs that came back to the end of their queue, with places that follow each other, which are not written yet. */
  private returned: Returned | null = null
  /** Jobs that are to be listed, and those that are to be taken out of the list. */
  private readonly listing = new Map<Queue, number[]>()
  private readonly unlisting = new Map<Queue, number[]>()

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
    if (waitsAt !== null) {
      this.write()
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
    queue.taken = (queue.taken ?? this.countTaken(queue)) + rows.length
    this.queues.changing(queue).front = [-priority, place]
    if (queue.taken >= takenMax) this.removeTaken(queue)
  }

  /** What processes before this one have left: none of many short ones would remove it. */
  private countTaken({ number, front }: Queue): number {
    return front === null ? 0 : (this.sql.get('countTaken', number, noKey, ...front, takenMax)?.[0] ?? 0)
  }

  /** Removes what is left before the front of a queue, so that jobs may come there. */
  removeTaken(queue: Queue): void {
    queue.taken = 0
    const { front } = queue
    if (front === null) return
    this.sql.run('takeWaiting', queue.number, noKey, ...front)
    this.queues.changing(queue).front = null
  }

  /** Writes what is not written yet. */
  write(): void {
    const { first: from, last: to } = this
    const { returned } = this
    this.first = 0
    this.last = -1
    this.returned = null
    if (from === to) this.sql.run('addOneWaiting', from)
    else if (from < to) this.sql.run('addWaitingRange', from, to)
    if (returned !== null) this.writeReturned(returned)
    // A job that left the list and came back to it is in it.
    for (const [{ number }, jobs] of this.unlisting) this.sql.run('unlist', number, claimable, JSON.stringify(jobs))
    for (const [{ number }, jobs] of this.listing) this.sql.run('listJobs', number, claimable, JSON.stringify(jobs))
    this.unlisting.clear()
    this.listing.clear()
  }

  /** A transaction was rolled back. */
  forget(): void {
    this.first = 0
    this.last = -1
    this.returned = null
    this.listing.clear()
    this.unlisting.clear()
  }

  private insert(row: Row): void {
    const { queue, concurrencyKey, priority, place, seq } = row
    if (concurrencyKey === null) this.checkFront(row, place)
    // The head of a key group is read at once.
    if (queue.hasKeyGroup(concurrencyKey)) {
      this.write()
      this.sql.run('addWaiting', queue.number, concurrencyKey ?? noKey, -priority, place, seq)
    } else this.comeBack(queue, -priority, place, seq)
    if (isApart(row, place)) addTo(this.listing, queue, seq)
  }

  /** Those of a herd of timers are one statement. */
  private comeBack(queue: Queue, rank: number, place: number, job: number): void {
    const { returned } = this
    const isNext =
      returned?.queue === queue && returned.rank === rank && returned.first + returned.jobs.length === place
    if (isNext) {
      returned.jobs.push(job)
      return
    }
    if (returned !== null) this.writeReturned(returned)
    this.returned = { queue, rank, first: place, jobs: [job] }
  }

  private writeReturned({ queue: { number }, rank, first: place, jobs }: Returned): void {
    const [job] = jobs as [number]
    if (jobs.length === 1) this.sql.run('addWaiting', number, noKey, rank, place, job)
    else this.sql.run('addReturned', number, noKey, rank, place, JSON.stringify(jobs))
  }

  private unlist(row: Row, place: number): void {
    if (!isApart(row, place)) return
    // It may not be in the list yet.
    if (this.listing.size > 0) this.write()
    addTo(this.unlisting, row.queue, row.seq)
  }

  private checkFront({ queue, priority }: Row, place: number): void {
    const { front } = queue
    if (front === null || -priority > front[0] || (-priority === front[0] && place > front[1])) return
    this.removeTaken(queue)
  }
}

interface Returned {
  readonly queue: Queue
  readonly rank: number
  /** The place of the first. */
  readonly first: number
  readonly jobs: number[]
}

function addTo(lists: Map<Queue, number[]>, queue: Queue, job: number): void {
  const list = lists.get(queue)
  if (list === undefined) lists.set(queue, [job])
  else list.push(job)
}

/** Does it not wait in the order of the enqueue? Then it is in a list that is in that order. */
const isApart = ({ concurrencyKey, seq }: Row, place: number): boolean => concurrencyKey !== null || place !== seq
