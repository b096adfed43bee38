/** Inserts: each request all or nothing, duplicates answered with the job that is there. */
import type { InsertAnswer, InsertRequest, Move, NewJob } from '../../store.ts'
import type { Books } from './books.ts'
import { supersede } from './cancel.ts'
import { adopt } from './children.ts'
import { fork } from './machine.ts'
import { bornReady, bornTimed } from './phases.ts'
import { Terms, type Row } from './row.ts'

export function insert(books: Books, request: InsertRequest, now: number): InsertAnswer[] {
  const [only] = request.jobs
  // Most requests: one new job, no key, and room.
  if (only !== undefined && request.jobs.length === 1 && only.key === null && books.rows.get(only.id) === undefined) {
    if (request.capacity === null || books.backlog < request.capacity) return [inserted(enter(books, only, now))]
  }
  const jobs = request.jobs.map(plain)
  const refused = refusal(books, { jobs, capacity: request.capacity })
  if (refused === null) return jobs.map((job) => insertJob(books, job, now))
  if (refused.outcome === 'full') books.hints.refused(books.backlog)
  return jobs.map(({ id }) => ({ ...nowhere, id, ...refused }))
}

/** A job as it was handed over: what cannot be read of it is found out here, before anything is written. */
const plain = (job: NewJob): NewJob => ({
  id: job.id,
  type: job.type,
  input: job.input,
  priority: job.priority,
  maxAttempts: job.maxAttempts,
  tags: job.tags,
  concurrencyKey: job.concurrencyKey,
  runAt: job.runAt,
  delayMs: job.delayMs,
  key: job.key,
  onConflict: job.onConflict,
  ...(job.parent !== undefined && { parent: job.parent }),
  ...(job.checkpoint !== undefined && { checkpoint: job.checkpoint }),
})

export const idsOf = ({ jobs }: InsertRequest): string[] => jobs.map(({ id }) => id)

const nowhere = { state: bornReady.name, seq: 0, at: 0, dueAt: null } as const

function insertJob(books: Books, job: NewJob, now: number): InsertAnswer {
  const same = books.rows.get(job.id)
  if (same !== undefined) return found('duplicate', same)
  const holder = job.key === null ? undefined : books.queue(job.type).holder(job.key)
  if (holder === undefined) return inserted(enter(books, job, now))
  if (job.onConflict === 'supersede' || holder.phase.stopping) {
    const superseded = job.onConflict === 'supersede' ? supersede(books, holder, now) : null
    holder.queue.giveUpKey(holder)
    const answer = inserted(enter(books, job, now))
    return superseded === null ? answer : { ...answer, superseded }
  }
  if (job.onConflict === 'keep' || !holder.phase.backlog) return found('duplicate', holder)
  holder.input = job.input
  const { priority, maxAttempts, key, concurrencyKey } = holder.terms
  holder.terms = new Terms({ priority, maxAttempts, tags: job.tags, key, concurrencyKey })
  if (holder.past !== null) holder.past.steps = null
  holder.machine?.startOver()
  return found('replaced', holder)
}

function enter(books: Books, job: NewJob, now: number): Row {
  const { parent, checkpoint } = job
  const dueAt = job.runAt ?? now + job.delayMs
  const row =
    job.key !== null && books.queue(job.type).isLeaving(job.key)
      ? enterBehind(books, job, dueAt, now)
      : dueAt > now
        ? books.enter(job, bornTimed, dueAt, now)
        : books.enter(job, bornReady, null, now)
  if (parent !== undefined) adopt(books, row, parent)
  if (checkpoint !== undefined) fork(row, checkpoint)
  return row
}

/** Enters a job that waits for the end of the one before it under its key. */
function enterBehind(books: Books, job: NewJob, dueAt: number, now: number): Row {
  const row = books.enter(job, bornTimed, null, now)
  row.queue.await(row, dueAt)
  return row
}

const inserted = (row: Row): InsertAnswer & { readonly superseded?: Move } => ({
  outcome: 'inserted',
  id: row.id,
  state: row.phase.name,
  seq: row.seq,
  at: row.came.at,
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

interface Refusal {
  readonly outcome: 'full' | 'id-taken'
  readonly id?: string
}

/** Why nothing of a request can be stored, if so. */
function refusal(books: Books, { jobs, capacity }: InsertRequest): Refusal | null {
  const room = capacity === null ? Infinity : capacity - books.backlog
  const type = jobs[0]?.type
  let plain = true
  for (const job of jobs) if (job.type !== type || (books.rows.get(job.id)?.type ?? type) !== type) plain = false
  // Only near the brim, or where types meet, does it matter what the jobs of a request do to each other.
  return plain && jobs.length <= room ? null : foresee(books, jobs, room)
}

/** Follows the jobs of a request one by one without storing them. */
function foresee(books: Books, jobs: readonly NewJob[], room: number): Refusal | null {
  const types = new Map<string, string>()
  const keys = new Set<string>()
  let added = 0
  let freed = 0
  for (const { id, type, key, onConflict } of jobs) {
    const sameId = books.rows.get(id)?.type ?? types.get(id)
    if (sameId !== undefined && sameId !== type) return { outcome: 'id-taken', id }
    if (sameId !== undefined) continue
    if (key !== null) {
      const holder = books.queues.get(type)?.holder(key)
      const taken = JSON.stringify([type, key])
      const ours = keys.has(taken)
      const kept = ours || (holder !== undefined && !holder.phase.stopping)
      if (kept && onConflict !== 'supersede') continue
      if (ours || holder?.phase.backlog === true) freed++
      keys.add(taken)
    }
    types.set(id, type)
    added++
  }
  return added > 0 && added - freed > room ? { outcome: 'full' } : null
}
