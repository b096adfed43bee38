/** Inserts: each request all or nothing, duplicates answered with the job that is there. */
import type { InsertAnswer, InsertRequest, Move, NewJob } from '../../store.ts'
import type { Books } from './books.ts'
import { cancelRow } from './cancel.ts'
import { bornReady, bornTimed } from './phases.ts'
import type { Row } from './row.ts'

export function insert(books: Books, request: InsertRequest, now: number): InsertAnswer[] {
  const taken = takenId(books, request.jobs)
  if (taken !== null) return request.jobs.map(() => ({ ...nowhere, outcome: 'id-taken', id: taken }))
  if (!fits(books, request)) {
    books.hints.refused(books.backlog)
    return request.jobs.map((job) => ({ ...nowhere, outcome: 'full', id: job.id }))
  }
  return request.jobs.map((job) => insertJob(books, job, now))
}

const nowhere = { state: bornReady.name, seq: 0, at: 0, dueAt: null } as const

function insertJob(books: Books, job: NewJob, now: number): InsertAnswer {
  const same = books.rows.get(job.id)
  if (same !== undefined) return found('duplicate', same)
  const holder = job.key === null ? undefined : books.queue(job.type).holder(job.key)
  if (holder === undefined) return inserted(enter(books, job, now))
  if (job.onConflict === 'supersede') {
    const superseded = cancelRow(books, holder, { reason: 'superseded', graceMs: null }, now)
    const answer = inserted(enter(books, job, now))
    return superseded === null ? answer : { ...answer, superseded }
  }
  if (job.onConflict === 'keep' || !holder.phase.backlog) return found('duplicate', holder)
  holder.input = job.input
  holder.tags = job.tags
  if (holder.past !== null) holder.past.steps = null
  return found('replaced', holder)
}

function enter(books: Books, job: NewJob, now: number): Row {
  const dueAt = job.runAt ?? now + job.delayMs
  return dueAt > now ? books.enter(job, bornTimed, dueAt, now) : books.enter(job, bornReady, null, now)
}

const inserted = (row: Row): InsertAnswer & { readonly superseded?: Move } => ({
  outcome: 'inserted',
  id: row.id,
  state: row.phase.name,
  seq: row.seq,
  at: row.enqueuedAt,
  dueAt: row.dueAt,
})

const found = (outcome: 'duplicate' | 'replaced', row: Row): InsertAnswer => ({
  outcome,
  id: row.id,
  state: row.phase.name,
  seq: 0,
  at: 0,
  dueAt: row.dueAt,
})

/** The first id of the request that belongs to a job of another type, be it stored or in the request itself. */
function takenId(books: Books, jobs: readonly NewJob[]): string | null {
  const types = new Set(jobs.length > 1 ? jobs.map((job) => job.type) : [])
  const own = new Map<string, string>()
  for (const { id, type } of jobs) {
    const there = books.rows.get(id)?.type ?? own.get(id) ?? type
    if (there !== type) return id
    if (types.size > 1) own.set(id, type)
  }
  return null
}

/** Does the backlog stay within the capacity? Counted exactly only near the brim. */
function fits(books: Books, { jobs, capacity }: InsertRequest): boolean {
  if (capacity === null || books.backlog + jobs.length <= capacity) return true
  const ids = new Set<string>()
  const keys = new Set<string>()
  let added = 0
  let freed = 0
  for (const { id, type, key, onConflict } of jobs) {
    if (books.rows.has(id) || ids.has(id)) continue
    if (key !== null) {
      const name = JSON.stringify([type, key])
      const holder = books.queues.get(type)?.holder(key)
      const ours = keys.has(name)
      if ((ours || holder !== undefined) && onConflict !== 'supersede') continue
      if (ours || holder?.phase.backlog === true) freed++
      keys.add(name)
    }
    ids.add(id)
    added++
  }
  return added === 0 || books.backlog + added - freed <= capacity
}
