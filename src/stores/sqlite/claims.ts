/**
 * The leases: a row for each claim, with the jobs that it has leased. What is open is kept in memory; it is read again
 * when another process has written.
 */
import { Heap, type HeapItem } from '../../core/heap.ts'
import { Tick } from '../../core/job-row.ts'
import { RenewedMap } from '../../core/renewed-map.ts'
import type { Lease, Row } from './row.ts'
import type { Statements } from './statements.ts'

/** A row of the table. */
class Claim implements HeapItem {
  heapIndex = -1
  /** Its number; null as long as it is not written. */
  number: number | null = null
  /** The number of the CLAIM of the first job. */
  readonly first: number
  readonly tick: Tick
  readonly token: string
  readonly worker: string
  leaseAt: number
  /** In the order of their CLAIMs; 0 = this one has no lease of that job. */
  readonly jobs: number[]
  /** How many it has leases of. */
  left: number
  /** Is it among those that are to be written? */
  hasChanged = false
  /** Jobs with a heartbeat in this transaction, and until when; null = none. */
  extended: Map<number, number> | null = null

  constructor(first: number, tick: Tick, token: string, worker: string, leaseAt: number, jobs: number[]) {
    this.first = first
    this.tick = tick
    this.token = token
    this.worker = worker
    this.leaseAt = leaseAt
    this.jobs = jobs
    this.left = jobs.reduce((left, job) => left + Number(job > 0), 0)
  }
}

const inOrderOfEnds = () => new Heap<Claim>((a, b) => a.leaseAt < b.leaseAt)

export class Claims {
  private readonly sql: Statements
  private readonly byJob = new RenewedMap<number, Claim>()
  /** Those with a lease, the first to run out first. */
  private ends = inOrderOfEnds()
  private changed: Claim[] = []
  /** Is what is in memory what is in the file? */
  private isFresh = false
  /** The one that the last job was added to. */
  private last: Claim | null = null

  constructor(sql: Statements) {
    this.sql = sql
  }

  /** The lease of a job that is leased. */
  of(job: number): Lease | undefined {
    this.refresh()
    const claim = this.byJob.get(job)
    if (claim === undefined) return undefined
    const { first, tick, token, worker } = claim
    const leaseAt = claim.extended?.get(job) ?? claim.leaseAt
    return { seq: first + claim.jobs.indexOf(job), tick, token, worker, leaseAt }
  }

  /** A job was claimed. */
  begin({ seq, lastSeq, lastRun: { startedAt, token, worker }, wakeAt }: Row): void {
    this.refresh()
    let { last } = this
    const isNext = last !== null && last.hasChanged && last.number === null && last.first + last.jobs.length === lastSeq
    if (last === null || !isNext || last.token !== token || last.leaseAt !== wakeAt) {
      last = new Claim(lastSeq, startedAt as Tick, token ?? '', worker ?? '', wakeAt ?? 0, [])
      this.last = last
    }
    last.jobs.push(seq)
    last.left++
    if (last.heapIndex < 0) this.ends.push(last)
    this.byJob.set(seq, last)
    this.change(last)
  }

  /** The lease of a job has ended. */
  end(job: number): void {
    this.refresh()
    const claim = this.byJob.get(job)
    if (claim === undefined) return
    this.byJob.delete(job)
    claim.jobs[claim.jobs.indexOf(job)] = 0
    claim.left--
    claim.extended?.delete(job)
    if (claim.left === 0) this.ends.remove(claim)
    this.change(claim)
  }

  extend(job: number, until: number): void {
    this.refresh()
    const claim = this.byJob.get(job)
    if (claim === undefined) return
    claim.extended ??= new Map()
    claim.extended.set(job, until)
    this.change(claim)
  }

  /** The leased jobs whose leases have run out, earliest first, `limit` at most. No claim of others is looked at. */
  expired(now: number, limit: number): number[] {
    this.refresh()
    this.write()
    const claims: Claim[] = []
    let left = limit
    for (let next = this.ends.peek(); next !== undefined && next.leaseAt <= now; next = this.ends.peek()) {
      // Those that end together are in the order of their jobs.
      if (left <= 0 && next.leaseAt !== claims.at(-1)?.leaseAt) break
      this.ends.remove(next)
      claims.push(next)
      left -= next.left
    }
    for (const claim of claims) this.ends.push(claim)
    return claims
      .flatMap(({ jobs, leaseAt }) => jobs.flatMap((job) => (job === 0 ? [] : { job, leaseAt })))
      .toSorted((a, b) => a.leaseAt - b.leaseAt || a.job - b.job)
      .slice(0, limit)
      .map(({ job }) => job)
  }

  /** When the next lease runs out; null without one. */
  nextExpiry(): number | null {
    this.refresh()
    this.write()
    return this.ends.peek()?.leaseAt ?? null
  }

  /** The leased jobs in the order of their claims. */
  jobs(): number[] {
    this.refresh()
    return Array.from(this.byJob, ([job, { tick }]) => ({ job, at: tick.at }))
      .toSorted((a, b) => a.at - b.at || a.job - b.job)
      .map(({ job }) => job)
  }

  /** How many leases each worker has. */
  countByWorker(): Map<string, number> {
    this.refresh()
    const counts = new Map<string, number>()
    for (const { worker } of this.byJob.values()) counts.set(worker, (counts.get(worker) ?? 0) + 1)
    return counts
  }

  write(): void {
    if (this.changed.length === 0) return
    const { changed } = this
    this.changed = []
    this.last = null
    for (const claim of changed) {
      claim.hasChanged = false
      if (claim.extended !== null) this.writeExtended(claim)
      this.writeRow(claim)
    }
  }

  /** Another process has written, or a transaction was rolled back. */
  forget(): void {
    this.isFresh = false
    this.changed = []
    this.last = null
  }

  private change(claim: Claim): void {
    if (claim.hasChanged) return
    claim.hasChanged = true
    this.changed.push(claim)
  }

  /** Those of its jobs that were not extended to the same time keep it; the others get rows of their own. */
  private writeExtended(claim: Claim): void {
    const extended = claim.extended as Map<number, number>
    claim.extended = null
    const untils = new Set(extended.values())
    if (extended.size === claim.left && untils.size === 1) {
      for (const until of untils) claim.leaseAt = until
      if (claim.left > 0) this.ends.update(claim)
      return
    }
    const { first, tick, token, worker } = claim
    for (const until of untils) {
      const jobs = claim.jobs.map((job) => (extended.get(job) === until ? job : 0))
      const own = new Claim(first, tick, token, worker, until, jobs)
      for (const [i, job] of jobs.entries()) {
        if (job === 0) continue
        claim.jobs[i] = 0
        claim.left--
        this.byJob.set(job, own)
      }
      if (own.left > 0) this.ends.push(own)
      this.writeRow(own, true)
    }
    if (claim.left === 0) this.ends.remove(claim)
  }

  /** @param isPart has another row the number of its first CLAIM? */
  private writeRow(claim: Claim, isPart = false): void {
    const { number, first, tick, token, worker, leaseAt, jobs, left } = claim
    if (left === 0) {
      if (number !== null) this.sql.run('removeClaim', number)
    } else if (number !== null) this.sql.run('writeClaim', leaseAt, textOf(jobs), number)
    else {
      claim.number = isPart ? (this.sql.get('freeClaim')?.[0] ?? -1) : first
      this.sql.run('addClaim', claim.number, first, token, worker, tick.at, leaseAt, textOf(jobs))
    }
  }

  private refresh(): void {
    if (this.isFresh) return
    this.isFresh = true
    this.byJob.clear()
    this.ends = inOrderOfEnds()
    for (const [number, first, token, worker, at, leaseAt, text] of this.sql.all('claims')) {
      const claim = new Claim(first, new Tick(at), token, worker, leaseAt, JSON.parse(text) as number[])
      claim.number = number
      for (const job of claim.jobs) if (job > 0) this.byJob.set(job, claim)
      if (claim.left > 0) this.ends.push(claim)
    }
  }
}

const textOf = (jobs: readonly number[]): string => `[${jobs.join(',')}]`
