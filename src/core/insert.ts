/**
 * Inserts: the jobs of a request are stored all or not at all, and a duplicate is answered with the existing job.
 * Whether a request is refused is decided before the first of its jobs is written.
 */
import { statesTagged, type JobState } from './lifecycle.ts'
import type { InsertAnswer, QueueLimit } from './values.ts'
import { cancelSuperseded } from './cancel.ts'
import { emptyInbox } from './dropped-events.ts'
import { claimable } from './compiled-arrows.ts'
import type { JobRow, JobToInsert } from './job-row.ts'
import { isStopping } from './stop-notice.ts'
import type { Unit } from './unit.ts'

interface InsertRequest<JobToInsert> {
  readonly jobs: readonly JobToInsert[]
  /** Jobs in the backlog at most, of all types, after this insert; null = no limit. */
  readonly capacity: number | null
  /** The same for the jobs of one type. */
  readonly queue?: QueueLimit
}

/** How many more jobs the backlog may take. */
interface Room {
  readonly store: number
  readonly queue: QueueRoom | null
}

/** How many more jobs of one type its queue may take. */
interface QueueRoom {
  readonly type: string
  readonly jobs: number
  /** A job that is cancelled by the request makes room for another if it is in one of these states. */
  readonly counted: ReadonlySet<JobState>
}

function birth(fits: (state: JobState) => boolean): JobState {
  const [state, ...others] = [...statesTagged('birth')].filter(fits)
  if (state === undefined || others.length > 0) throw new TypeError('job.machine.ts: births are ambiguous')
  return state
}

/** The initial state of a new job: due now, or due later. */
export const bornReady = birth((state) => claimable.has(state))
export const bornTimed = birth((state) => statesTagged('timed').has(state))

const backlog = statesTagged('backlog')
const nowhere = { state: bornReady, seq: 0, at: 0, dueAt: null } as const

export function insert(unit: Unit, { jobs, capacity, queue }: InsertRequest<JobToInsert>): InsertAnswer[] {
  const room: Room = {
    store: capacity === null ? Infinity : capacity - unit.backlog,
    queue: queue === undefined ? null : queueRoom(unit, queue),
  }
  const refused = isHarmless(unit, jobs, room) ? null : refusal(unit, jobs, room)
  if (refused === null) return jobs.map((job) => insertJob(unit, job))
  if (refused.outcome === 'full') {
    const full = refused.full === 'queue' ? queue : undefined
    unit.refusedFull(full?.type ?? null, full?.capacity === 0)
  }
  return jobs.map(({ id }) => ({ ...nowhere, id, ...refused }))
}

const queueRoom = (unit: Unit, { type, capacity }: QueueLimit): QueueRoom =>
  capacity === 0
    ? { type, jobs: unit.handOverRoom(type), counted: claimable }
    : { type, jobs: capacity - unit.backlogOf(type), counted: backlog }

/** Inserts a job, or resolves the conflict if its unique key is taken. */
export function insertJob(unit: Unit, job: JobToInsert): InsertAnswer {
  const holder = job.key === null ? undefined : unit.holder(job.type, job.key)
  if (holder === undefined) return insertNew(unit, job)
  const same = unit.find(job.id)
  if (same !== undefined) return ofSameId(unit, job, same)
  if (job.onConflict === 'supersede' || isStopping(holder.state)) {
    const superseded = job.onConflict === 'supersede' ? cancelSuperseded(unit, holder) : null
    unit.giveUpKey(holder)
    const answer = insertNew(unit, job)
    return superseded === null ? answer : { ...answer, superseded }
  }
  if (job.onConflict === 'keep') return duplicate(unit, holder, job)
  if (backlog.has(holder.state)) return replace(unit, holder, job)
  if (job.onConflict === 'replace') return duplicate(unit, holder, job)
  unit.giveUpKey(holder)
  return insertNew(unit, job)
}

/** Gives a job in the backlog the input of a new one, and its due time. */
function replace(unit: Unit, holder: JobRow, job: JobToInsert): InsertAnswer {
  unit.replaceInput(holder, job)
  emptyInbox(unit, holder, 'start')
  unit.forgetCheckpoints(holder)
  const due = dueOf(unit, job)
  if (holder.state === bornTimed && due > unit.now) {
    if (holder.dueAt === null) unit.waitForPredecessor(holder, due)
    else unit.setDue(holder, due)
  }
  return found('replaced', holder)
}

const dueOf = ({ now }: { readonly now: number }, { runAt, delayMs }: JobToInsert): number =>
  Math.ceil(runAt ?? now + delayMs)

/** Inserts a job whose key, if any, is free. */
export function insertNew(unit: Unit, job: JobToInsert): InsertAnswer {
  const due = dueOf(unit, job)
  // A job that takes a key which a live job has given up waits for the end of that job.
  const waits = job.key !== null && unit.hasPredecessor(job.type, job.key)
  const dueAt = due > unit.now && !waits ? due : null
  const state = dueAt !== null || waits ? bornTimed : bornReady
  const seq = unit.insert(job, state, dueAt)
  const { id } = job
  if (seq === null) return ofSameId(unit, job, unit.find(id))
  if (waits) unit.waitForPredecessor(unit.find(id) as JobRow, due)
  return { outcome: 'inserted', id, state, seq, at: unit.now, dueAt }
}

const ofSameId = (unit: Unit, job: JobToInsert, same: JobRow | undefined): InsertAnswer =>
  same?.type === job.type ? duplicate(unit, same, job) : { ...nowhere, outcome: 'id-taken', id: job.id }

const duplicate = (unit: Unit, row: JobRow, job: JobToInsert): InsertAnswer => ({
  ...found('duplicate', row),
  sameInput: unit.hasSameInput(row, job),
})

const found = (outcome: 'duplicate' | 'replaced', { id, state, dueAt }: JobRow): InsertAnswer => ({
  outcome,
  id,
  state,
  seq: 0,
  at: 0,
  dueAt,
})

interface Refusal {
  readonly outcome: 'full' | 'id-taken'
  readonly full?: 'store' | 'queue'
  /** Of `id-taken`: the id. */
  readonly id?: string
}

/**
 * Fast path of most requests: there is capacity, and no id is taken by a job of another type, so that nothing is
 * refused.
 */
function isHarmless(unit: Unit, jobs: readonly JobToInsert[], room: Room): boolean {
  const [first] = jobs
  if (first === undefined) return true
  if (jobs.length > room.store || (room.queue !== null && jobs.length > room.queue.jobs)) return false
  return jobs.length === 1 || (jobs.every(({ type }) => type === first.type) && unit.existing(jobs).size === 0)
}

/** The reason for which a request must be refused, or null: simulates its inserts without writing. */
function refusal(unit: Unit, jobs: readonly JobToInsert[], room: Room): Refusal | null {
  const typesById = new Map(unit.existing(jobs))
  const keys = new Set<string>()
  /** By how much the backlog grows, in all and of the limited type. */
  let added = 0
  let growth = 0
  let queueAdded = 0
  let queueGrowth = 0
  for (const { id, type, key, onConflict } of jobs) {
    const sameId = typesById.get(id)
    if (sameId !== undefined && sameId !== type) return { outcome: 'id-taken', id }
    if (sameId !== undefined) continue
    if (key !== null) {
      const holder = unit.holder(type, key)
      const own = JSON.stringify([type, key])
      const taken = holder !== undefined && !isStopping(holder.state)
      const follows = onConflict === 'follow' && taken && !backlog.has(holder.state)
      const kept = keys.has(own) || (taken && !follows)
      if (kept && onConflict !== 'supersede') continue
      const gives = (states: ReadonlySet<JobState>): boolean =>
        keys.has(own) || (holder !== undefined && states.has(holder.state))
      if (gives(backlog)) growth--
      if (type === room.queue?.type && gives(room.queue.counted)) queueGrowth--
      keys.add(own)
    }
    typesById.set(id, type)
    added++
    growth++
    if (type !== room.queue?.type) continue
    queueAdded++
    queueGrowth++
  }
  if (added > 0 && growth > room.store) return { outcome: 'full', full: 'store' }
  const isQueueFull = room.queue !== null && queueAdded > 0 && queueGrowth > room.queue.jobs
  return isQueueFull ? { outcome: 'full', full: 'queue' } : null
}
