/**
 * The ended jobs of each queue and state in the order of their ends; and the jobs of each in the order of their
 * enqueue, for searches, which is filled behind: many jobs at once cost a part of what each would cost alone, and most
 * jobs that soon end are never among the live ones.
 */
import { isEnded, type JobState } from '../../core/lifecycle.ts'
import { live } from '../sql/sources.ts'
import type { Row } from './row-cache.ts'
import type { Statements } from './statements.ts'

/** So many ends of a queue and state, and so many transitions, may be missing in the lists. */
const behindMax = { ends: 500, transitions: 4_000 }

interface EndedJobs {
  readonly queue: number
  readonly state: JobState
  readonly added: number[]
  /** With the numbers of the transitions that had ended them. */
  readonly removed: [job: number, end: number][]
  /** Those of the removed ones that are live again. */
  readonly revived: number[]
  /** Ends of this process that are not listed yet. */
  behind: number
}

export interface EndedJob {
  readonly job: number
  /** Ms since the epoch. */
  readonly at: number
}

export class Ends {
  private readonly sql: Statements
  private readonly known = new Map<string, EndedJobs>()
  private readonly changed = new Set<EndedJobs>()
  /** The number of the last ENQUEUE up to which the live jobs are listed; null = unknown. */
  private liveTo: number | null = null

  constructor(sql: Statements) {
    this.sql = sql
  }

  add(queue: number, state: JobState, job: number): void {
    this.of(queue, state).added.push(job)
  }

  /** An ended job is live again, or gone. @param end the number of the transition that had ended it */
  remove({ queue, seq, state }: Pick<Row, 'queue' | 'seq' | 'state'>, from: JobState, end: number): void {
    const jobs = this.of(queue.number, from)
    const at = jobs.added.indexOf(seq)
    if (at >= 0) jobs.added.splice(at, 1)
    else jobs.removed.push([seq, end])
    if (!isEnded(state)) jobs.revived.push(seq)
  }

  /** Takes a job out of whatever row has it. All is written. */
  forgetJob(job: number): void {
    for (const [queue, state, last, text] of this.sql.all('endsWith', job)) {
      this.leave(queue, state, last, text, new Set([job]))
    }
  }

  /** The first ones that have ended, `limit` at most. All is written. */
  first(queue: number, state: JobState, limit: number): EndedJob[] {
    const found: EndedJob[] = []
    for (const [at, text] of this.sql.all('firstEnds', queue, state, limit)) {
      for (const job of JSON.parse(text) as number[]) found.push({ job, at })
      if (found.length >= limit) break
    }
    return found.slice(0, limit)
  }

  /** Removes jobs that are gone, of those that have ended first. */
  removeFirst(queue: number, state: JobState, jobs: readonly number[]): void {
    const gone = new Set(jobs)
    for (const [last, text] of this.sql.all('endsAfter', queue, state, 0)) {
      this.leave(queue, state, last, text, gone)
      if (gone.size === 0) break
    }
    this.unlist(queue, state, JSON.stringify(jobs))
  }

  /** @param last the number of the last transition of the transaction */
  write(last: number, now: number): void {
    for (const jobs of this.changed) {
      const { queue, state, added, removed, revived } = jobs
      if (removed.length > 0) this.writeRemoved(jobs)
      if (added.length > 0) this.sql.run('addEnds', queue, state, last, now, JSON.stringify(added))
      if (revived.length > 0) this.sql.run('listLive', queue, JSON.stringify(revived))
      jobs.behind += added.length
      added.length = removed.length = revived.length = 0
      if (jobs.behind >= behindMax.ends) this.list(jobs)
    }
    this.changed.clear()
    this.liveTo ??= this.sql.get('listedTo', 0, live)?.[0] ?? 0
    if (last - this.liveTo < behindMax.transitions) return
    this.sql.run('listNew', this.liveTo, last)
    this.sql.run('setListedTo', 0, live, last)
    this.liveTo = last
  }

  /** Up to which end the jobs of a queue and state are listed; of the live ones, up to which enqueue. */
  listedTo(queue: number, state: string): number {
    return this.sql.get('listedTo', state === live ? 0 : queue, state)?.[0] ?? 0
  }

  /** Another process has written. */
  markStale(): void {
    this.liveTo = null
  }

  /** A transaction was rolled back. */
  forget(): void {
    this.liveTo = null
    for (const jobs of this.changed) jobs.added.length = jobs.removed.length = jobs.revived.length = 0
    this.changed.clear()
  }

  private of(queue: number, state: JobState): EndedJobs {
    const name = `${queue} ${state}`
    let jobs = this.known.get(name)
    if (jobs === undefined) {
      jobs = { queue, state, added: [], removed: [], revived: [], behind: 0 }
      this.known.set(name, jobs)
    }
    this.changed.add(jobs)
    return jobs
  }

  private writeRemoved({ queue, state, removed }: EndedJobs): void {
    const gone = new Set(removed.map(([job]) => job))
    for (const [, end] of removed.toSorted(([, a], [, b]) => a - b)) {
      const row = this.sql.get('endsOf', queue, state, end)
      if (row !== undefined) this.leave(queue, state, row[0], row[1], gone)
      if (gone.size === 0) break
    }
    this.unlist(queue, state, JSON.stringify(removed.map(([job]) => job)))
  }

  /** Takes jobs out of a row. */
  private leave(queue: number, state: JobState, last: number, text: string, gone: Set<number>): void {
    const jobs = JSON.parse(text) as number[]
    const kept = jobs.filter((job) => !gone.delete(job))
    if (kept.length === jobs.length) return
    if (kept.length === 0) this.sql.run('removeEnds', queue, state, last)
    else this.sql.run('writeEnds', JSON.stringify(kept), queue, state, last)
  }

  private unlist(queue: number, state: JobState, jobs: string): void {
    this.sql.run('unlist', queue, state, jobs)
    this.sql.run('unlist', queue, live, jobs)
  }

  /** Lists the ended jobs of a queue and state that are not listed yet. */
  private list(jobs: EndedJobs): void {
    const { queue, state } = jobs
    jobs.behind = 0
    const from = this.listedTo(queue, state)
    this.sql.run('listEnded', queue, state, from)
    this.sql.run('unlistEnded', queue, state, from)
    this.sql.run('setListedToLast', queue, state)
  }
}
