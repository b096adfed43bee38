/**
 * The ended jobs. Those that a transaction has ended are one row. From these rows come, behind and for many jobs at
 * once, the ended jobs of each queue and state in the order of their ends, and in the order of their enqueue, in which
 * searches look for them.
 */
import type { JobState } from '../../core/lifecycle.ts'
import type { Row } from './row.ts'
import type { Statements } from './statements.ts'

/** So many ended jobs may be behind; and so many of one process before it counts them. */
const behindMax = 1_000
const uncountedMax = 250
/** How many jobs a row of `ended` has, unless one transaction has ended more. */
const rowJobs = 250

/** A queue, a state, and how many of the jobs of a row are of these. */
type Group = [queue: number, state: JobState, jobs: number]

interface EndedJobs {
  readonly queue: number
  readonly state: JobState
  readonly jobs: number[]
}

/** An ended job that has left that state: with the number of the transition that had ended it. */
interface Left {
  readonly queue: number
  readonly state: JobState
  readonly job: number
  readonly end: number
}

export interface EndedJob {
  readonly job: number
  /** Its end has at most this number. */
  readonly last: number
  /** Ms since the epoch. */
  readonly at: number
}

export class Ends {
  private readonly sql: Statements
  /** Of this transaction, by queue and state. */
  private readonly added = new Map<string, EndedJobs>()
  private left: Left[] = []
  /** How many jobs this process has ended since it last counted those that are behind. */
  private uncounted = 0

  constructor(sql: Statements) {
    this.sql = sql
  }

  add(queue: number, state: JobState, job: number): void {
    const name = `${queue} ${state}`
    const group = this.added.get(name)
    if (group === undefined) this.added.set(name, { queue, state, jobs: [job] })
    else group.jobs.push(job)
  }

  /** An ended job is live again, or gone. @param end the number of the transition that had ended it */
  remove({ queue, seq }: Pick<Row, 'queue' | 'seq'>, from: JobState, end: number): void {
    const jobs = this.added.get(`${queue.number} ${from}`)?.jobs ?? []
    const at = jobs.indexOf(seq)
    if (at >= 0) jobs.splice(at, 1)
    else this.left.push({ queue: queue.number, state: from, job: seq, end })
  }

  /** Takes a job out of whatever row has it. */
  forgetJob(job: number): void {
    this.distribute()
    for (const [queue, state, last, text] of this.sql.all('endedWith', job)) {
      this.take(queue, state, last, text, new Set([job]))
    }
  }

  /** The first ones that have ended, `limit` at most: those that are behind have ended after all others. */
  first(queue: number, state: JobState, limit: number): EndedJob[] {
    const found = this.firstDistributed(queue, state, limit)
    if (found.length >= limit || this.sql.get('behind')?.[0] === 0) return found
    this.distribute()
    return this.firstDistributed(queue, state, limit)
  }

  private firstDistributed(queue: number, state: JobState, limit: number): EndedJob[] {
    const found: EndedJob[] = []
    for (const [last, text] of this.rows(queue, state)) {
      let at = 0
      for (const number of JSON.parse(text) as number[]) {
        if (number < 0) at = -number
        else if (found.push({ job: number, last, at }) === limit) return found
      }
    }
    return found
  }

  /** Removes jobs that are gone, of those that have ended first. */
  removeFirst(queue: number, state: JobState, jobs: readonly number[]): void {
    const gone = new Set(jobs)
    for (const [last, text] of this.rows(queue, state)) {
      this.take(queue, state, last, text, gone)
      if (gone.size === 0) break
    }
    this.unlist(queue, state, jobs)
  }

  /** @param last the number of the last transition of the transaction */
  write(last: number, now: number): void {
    if (this.added.size > 0) this.writeAdded(last, now)
    if (this.left.length > 0) this.writeLeft()
  }

  /** Writes the ended jobs that are behind where they are found. */
  distribute(): void {
    const rows = this.sql.all('ends')
    if (rows.length === 0) return
    const lists = new Map<string, EndedJobs>()
    for (const [last, at, text, groups] of rows) {
      const jobs = JSON.parse(text) as number[]
      let first = 0
      for (const [queue, state, count] of JSON.parse(groups) as Group[]) {
        const name = `${queue} ${state}`
        const list = lists.get(name) ?? { queue, state, jobs: [] }
        list.jobs.push(-at, ...jobs.slice(first, (first += count)))
        lists.set(name, list)
        if (list.jobs.length < rowJobs) continue
        lists.delete(name)
        this.writeEnded(list, last)
      }
    }
    const [last] = rows.at(-1) as [number, ...unknown[]]
    for (const list of lists.values()) this.writeEnded(list, last)
    this.sql.run('removeEnds')
  }

  /** A transaction was rolled back. */
  forget(): void {
    this.added.clear()
    this.left = []
  }

  private writeAdded(last: number, now: number): void {
    const all = [...this.added.values()].filter(({ jobs }) => jobs.length > 0)
    this.added.clear()
    const jobs = all.map((group) => group.jobs.join(',')).join(',')
    const groups = all.map(({ queue, state, jobs: { length } }): Group => [queue, state, length])
    if (all.length > 0) this.sql.run('addEnds', last, now, `[${jobs}]`, JSON.stringify(groups))
    for (const [, , count] of groups) this.uncounted += count
    if (this.uncounted < uncountedMax) return
    this.uncounted = 0
    if ((this.sql.get('behind')?.[0] ?? 0) >= behindMax) this.distribute()
  }

  private writeLeft(): void {
    const { left } = this
    this.left = []
    this.distribute()
    for (const group of Map.groupBy(left, ({ queue, state }) => `${queue} ${state}`).values()) {
      const [{ queue, state }] = group as [Left]
      const gone = new Set(group.map(({ job }) => job))
      for (const { job, end } of group) {
        const row = gone.has(job) ? this.sql.get('endedOf', queue, state, end) : undefined
        if (row !== undefined) this.take(queue, state, row[0], row[1], gone)
      }
      this.unlist(
        queue,
        state,
        group.map(({ job }) => job),
      )
    }
  }

  /** The jobs of a queue and state, with the time of their end before each that has another than the one before it. */
  private writeEnded({ queue, state, jobs }: EndedJobs, last: number): void {
    this.sql.run('addEnded', queue, state, last, JSON.stringify(jobs))
    this.sql.run('listJobs', queue, state, JSON.stringify(jobs.filter((job) => job > 0)))
  }

  /** The rows of a queue and state, in the order of the ends. */
  private *rows(queue: number, state: JobState): Generator<readonly [last: number, jobs: string]> {
    for (let row = this.sql.get('endedOf', queue, state, 0); row !== undefined;) {
      yield row
      row = this.sql.get('endedOf', queue, state, row[0] + 1)
    }
  }

  /** Takes jobs out of a row. */
  private take(queue: number, state: JobState, last: number, text: string, gone: Set<number>): void {
    const jobs = JSON.parse(text) as number[]
    const kept = jobs.filter((job) => !gone.delete(job))
    if (kept.length === jobs.length) return
    if (kept.every((job) => job < 0)) this.sql.run('removeEnded', queue, state, last)
    else this.sql.run('writeEnded', JSON.stringify(kept), queue, state, last)
  }

  private unlist(queue: number, state: JobState, jobs: readonly number[]): void {
    this.sql.run('unlist', queue, state, JSON.stringify(jobs))
  }
}
