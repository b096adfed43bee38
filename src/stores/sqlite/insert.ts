/** Inserts: each request all or nothing, duplicates answered with the job that is there. */
import { recordError, type ErrorRecord } from '../../job/failure.ts'
import { isHeld, statesTagged } from '../../job/lifecycle.ts'
import type { Parent } from '../../job/machine.ts'
import { insertFailed } from '../../store-failures.ts'
import type { InsertAnswer, InsertRequest, NewJob } from '../../store.ts'
import type { Books } from './books.ts'
import { supersede } from './cancel.ts'
import { startOver } from './machine.ts'
import { packed, type Row } from './row.ts'
import { bornReady, bornTimed } from './schema.ts'
import { isLeaving, isStopping, waitForAnother, waitsForAnother } from './successor.ts'
import { forgetSteps } from './steps.ts'

/** A new job as it crosses to the engine: its payload as the text that is kept, and nothing that is not of the contract. */
export interface PackedJob extends Omit<NewJob, 'input' | 'tags' | 'parent' | 'checkpoint'> {
  readonly input: string | null
  readonly tags: string | null
  readonly parent: Parent | null
  readonly checkpoint: string | null
}

export interface PackedRequest extends Omit<InsertRequest, 'jobs'> {
  readonly jobs: readonly PackedJob[]
}

/** A request that cannot be packed, and so cannot be written. */
export interface Unpackable {
  readonly ids: readonly string[]
  readonly error: ErrorRecord
}

export function packRequest({ jobs, capacity }: InsertRequest): PackedRequest | Unpackable {
  try {
    return { jobs: jobs.map(packJob), capacity }
  } catch (error) {
    return { ids: jobs.map(({ id }) => id), error: recordError(error) }
  }
}

const packJob = (job: NewJob): PackedJob => ({
  id: job.id,
  type: job.type,
  input: packed(job.input),
  priority: job.priority,
  maxAttempts: job.maxAttempts,
  tags: job.tags.length === 0 ? null : JSON.stringify(job.tags),
  concurrencyKey: job.concurrencyKey,
  runAt: job.runAt,
  delayMs: job.delayMs,
  key: job.key,
  onConflict: job.onConflict,
  parent: job.parent ?? null,
  checkpoint: packed(job.checkpoint),
})

const backlog = statesTagged('backlog')
const nowhere = { state: bornReady, seq: 0, at: 0, dueAt: null } as const

export const refused = (error: ErrorRecord, request: PackedRequest | Unpackable): InsertAnswer[] =>
  insertFailed('error' in request ? request.ids : request.jobs.map(({ id }) => id), error)

export function insert(books: Books, request: PackedRequest | Unpackable): InsertAnswer[] {
  if ('error' in request) return insertFailed(request.ids, request.error)
  const { jobs, capacity } = request
  const [only] = jobs
  if (only !== undefined && jobs.length === 1 && (only.key === null || capacity === null)) {
    return [insertAlone(books, only, capacity)]
  }
  let refused: Pick<InsertAnswer, 'outcome'> & { readonly id?: string } = { outcome: 'full' }
  const answers = books.attempt(() => {
    const made: InsertAnswer[] = []
    for (const job of jobs) {
      const answer = insertJob(books, job)
      made.push(answer)
      if (answer.outcome !== 'id-taken') continue
      refused = { outcome: 'id-taken', id: answer.id }
      return null
    }
    const grown = made.some(({ outcome }) => outcome === 'inserted')
    return grown && capacity !== null && books.queues.backlog() > capacity ? null : made
  })
  if (answers !== null) return answers
  if (refused.outcome === 'full') books.hints.refused(books.queues.backlog())
  return jobs.map(({ id }) => ({ ...nowhere, id, ...refused }))
}

/** Most requests: one new job, whose key frees no room for it. Nothing needs to be taken back. */
function insertAlone(books: Books, job: PackedJob, capacity: number | null): InsertAnswer {
  if (capacity !== null && books.queues.backlog() >= capacity) {
    const same = books.rows.of(job.id)
    if (same !== undefined) return ofSameId(books, job, same)
    books.hints.refused(books.queues.backlog())
    return { ...nowhere, outcome: 'full', id: job.id }
  }
  return insertJob(books, job)
}

function insertJob(books: Books, job: PackedJob): InsertAnswer {
  const holder = job.key === null ? undefined : books.rows.holder(books.queues.of(job.type), job.key)
  if (holder === undefined) return enter(books, job, isLeaving(books, books.queues.of(job.type), job.key))
  const same = books.rows.of(job.id)
  if (same !== undefined) return ofSameId(books, job, same)
  if (job.onConflict === 'supersede' || isStopping(holder.state)) {
    const waits = isHeld(holder.state) || waitsForAnother(holder)
    const superseded = job.onConflict === 'supersede' ? supersede(books, holder) : null
    if (holder.heldKey !== null) {
      holder.heldKey = null
      books.rows.write(holder)
    }
    const answer = enter(books, job, waits)
    return superseded === null ? answer : { ...answer, superseded }
  }
  if (job.onConflict === 'keep' || !backlog.has(holder.state)) return found('duplicate', holder)
  holder.input = job.input
  holder.tags = job.tags
  forgetSteps(books, holder)
  books.rows.tell(holder)
  startOver(books, holder)
  return found('replaced', holder)
}

const ofSameId = (books: Books, { id, type }: PackedJob, same: Row | undefined): InsertAnswer =>
  same !== undefined && books.queues.at(same.queue).type === type
    ? found('duplicate', same)
    : { ...nowhere, outcome: 'id-taken', id }

/** @param waits for the end of the job before it under its key? */
function enter(books: Books, job: PackedJob, waits: boolean): InsertAnswer {
  const due = Math.ceil(job.runAt ?? books.now + job.delayMs)
  const dueAt = due > books.now && !waits ? due : null
  const state = dueAt === null && !waits ? bornReady : bornTimed
  const seq = books.enter(job, state, dueAt)
  if (seq === null) return ofSameId(books, job, books.rows.of(job.id))
  if (waits) waitForAnother(books, seq, due)
  return { outcome: 'inserted', id: job.id, state, seq, at: books.now, dueAt }
}

const found = (outcome: 'duplicate' | 'replaced', { id, state, dueAt }: Row): InsertAnswer => ({
  outcome,
  id,
  state,
  seq: 0,
  at: 0,
  dueAt,
})
