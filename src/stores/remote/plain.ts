/**
 * Plain jobs: they have no key, no machine, no parent and no priority, and do nothing but wait, run and complete. A
 * port may write these by ways of its own, beside documents: what the jobs of a call share is then written once. All
 * that happens to them otherwise is left to the core, for which they are documents.
 */
import { claimCounted, countedOf, enqueueCounted, type Counted } from '../../core/activity.ts'
import { enqueueEntry, historyEntry, type LoggedArrow } from '../../core/history.ts'
import { bornReady } from '../../core/insert.ts'
import { nextArrow, type Arrow, type ArrowEvent, type JobState } from '../../core/lifecycle.ts'
import type { Json } from '../../core/payload.ts'
import type { JobMeta } from '../../core/record.ts'
import type { Settlement } from '../../core/settlement.ts'
import type {
  Answer,
  ClaimAnswer,
  ClaimedJob,
  ClaimRequest,
  Demand,
  HeartbeatPayload,
  Hint,
  InsertAnswer,
  InsertRequest,
  JobPins,
  NewJob,
  SettleAnswer,
} from '../../store.ts'
import { recordOfDocument, usual, type JobDocument } from './document.ts'
import type { EndedFacts } from './ended.ts'

/** What was written, and what others are told of it. */
export interface PlainWrite<T> {
  readonly answer: T
  readonly hints: readonly Hint[]
}

/** A claim of plain jobs. */
export interface PlainClaim extends ClaimAnswer {
  /** What is left to the core: of some types other jobs, or the reason for which there are not more. */
  readonly others: readonly Demand[]
}

/** Writes of plain jobs. Each is atomic; null: the core has to decide, and nothing was written. */
export interface PlainWrites {
  insert(requests: readonly InsertRequest[]): Answer<PlainWrite<InsertAnswer[][]> | null>
  /**
   * Do claims count what is leased? Then demands may have a limit of the type. No claim of the core may be committed
   * which has counted before one of these, and would exceed the limit with it. Default: false
   */
  readonly countsLeased?: boolean
  /** @param request its demands are plain: `isPlainDemand` */
  claim(request: ClaimRequest): Answer<PlainWrite<PlainClaim>>
  /** Is it the end of a plain job that this process has claimed, and of which it knows of no other write? */
  mayComplete(settlement: Settlement): boolean
  /** @param settlements all of them for different jobs, and such that `mayComplete` */
  complete(settlements: readonly Settlement[]): Answer<PlainWrite<SettleAnswer[]> | null>
  /** Extends leases, of plain jobs of which nothing else is written. @returns the heartbeats of these */
  extend(heartbeats: readonly HeartbeatPayload[], leaseMs: number): Answer<ReadonlySet<HeartbeatPayload>>
  /** Removes plain jobs that have completed. @param jobs as they were found @returns those that it has removed */
  remove(jobs: readonly EndedFacts[]): Answer<ReadonlySet<EndedFacts>>
}

// ── the way of a plain job ─────────────────────────────────────────────────────────────────────────────────────────

/** The counters at the claim of a job that may have one attempt or more. */
const unclaimed = { attempt: 0, maxAttempts: 1, generation: 1 }

function arrowOf(from: JobState, event: ArrowEvent): Arrow {
  const arrow = nextArrow(from, event, unclaimed)
  if (arrow === null) throw new TypeError(`the chart has no ${event} from ${from}`)
  return arrow
}

/** A transition of plain jobs: the states before and after, and what it counts as. */
export interface PlainMove {
  readonly before: { readonly state: JobState } | null
  readonly after: { readonly state: JobState } | null
  readonly counted: Counted
}

const claimArrow = arrowOf(bornReady, 'CLAIM')
const endArrow = arrowOf(claimArrow.to, 'COMPLETE')

const moveOf = (from: JobState | null, to: JobState, counted: Counted | null): PlainMove => {
  if (counted === null) throw new TypeError(`the figures do not count a job that becomes ${to}`)
  return { before: from && { state: from }, after: { state: to }, counted }
}

export const plainMoves = {
  enqueue: moveOf(null, bornReady, enqueueCounted),
  claim: moveOf(bornReady, claimArrow.to, claimCounted),
  complete: moveOf(claimArrow.to, endArrow.to, countedOf(endArrow)),
} as const

/** The removal of one that has completed, which nothing counts. */
export const plainRemoval: Omit<PlainMove, 'counted'> = { before: { state: endArrow.to }, after: null }

/** Has it completed, and may it be a plain one? */
export const mayBeCompleted = ({ state, key, concurrencyKey, machine, priority }: JobDocument): boolean =>
  state === endArrow.to && key === null && concurrencyKey === null && machine === null && priority === 0

/** The entry that jobs share in the log, as JSON without its number. */
const entryText = ({ event, from, to }: LoggedArrow, at: number, worker: string): string =>
  JSON.stringify({ at, event, from, to, attempt: 1, worker })

/** The entries of the log, as JSON without the numbers. */
export const plainEntries = {
  enqueue(at: number): string {
    const { seq: _, ...entry } = enqueueEntry(bornReady, 0, at)
    return JSON.stringify(entry)
  },
  claim: (at: number, worker: string): string => entryText(claimArrow, at, worker),
  complete: (at: number, worker: string): string => entryText(endArrow, at, worker),
}

/** Is it a job that may be written as a plain one? Names of types and jobs are written as they are, in lines. */
export const isPlainJob = (job: NewJob): boolean =>
  job.key === null &&
  job.concurrencyKey === null &&
  job.priority === 0 &&
  job.runAt === null &&
  job.delayMs <= 0 &&
  job.keyWeight === undefined &&
  job.parent === undefined &&
  job.version === undefined &&
  job.checkpoint === undefined &&
  isPlainName(job.id) &&
  isPlainName(job.type)

const isPlainName = (name: string): boolean => !/[\n\\\0]/.test(name) && name.isWellFormed()

/** Is a claim of jobs without keys under no limit, or none but that of the type? */
export const isPlainDemand = ({ limits, keyShares, onDead, type }: Demand, mayBeCapped: boolean): boolean =>
  (limits.concurrency === null || mayBeCapped) &&
  limits.perKey === null &&
  limits.rate === null &&
  limits.keyRate === undefined &&
  keyShares === undefined &&
  onDead === undefined &&
  isPlainName(type)

/** Is it the end of the first attempt of a plain job, with nothing but an output? */
export const isPlainEnd = (settlement: Settlement): boolean =>
  settlement.event === 'COMPLETE' &&
  settlement.to === endArrow.to &&
  settlement.attempt === 1 &&
  settlement.checkin === undefined &&
  (settlement.logs === undefined || settlement.logs.length === 0) &&
  settlement.error === undefined &&
  settlement.reason === undefined &&
  settlement.delayMs === undefined &&
  settlement.cancelTaken === undefined &&
  settlement.outcome === undefined &&
  settlement.checkpoint === undefined &&
  settlement.unsupported === undefined &&
  settlement.gather === undefined

/** Does it extend the lease, and nothing else? */
export const isPlainHeartbeat = ({ attempt, checkin, logs, steps, lastMessageNumber }: HeartbeatPayload): boolean =>
  attempt === 1 &&
  checkin === undefined &&
  (logs === undefined || logs.length === 0) &&
  steps === undefined &&
  lastMessageNumber === undefined

// ── documents ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** What the enqueue of a plain job has given, beside its names and numbers. */
export interface PlainTerms {
  readonly maxAttempts: number
  readonly input?: Json
  readonly meta?: JobMeta
  readonly pins?: JobPins
  readonly tags?: readonly string[]
}

export function plainTermsOf({ maxAttempts, input, meta, pins, tags }: NewJob): PlainTerms {
  return {
    maxAttempts,
    ...(input !== undefined && { input }),
    ...(meta !== undefined && { meta }),
    ...(pins !== undefined && { pins }),
    ...(tags.length > 0 && { tags }),
  }
}

/** How many attempts a job has after its claim. @param demanded by the definition of the worker */
export const attemptsAfterClaim = ({ pins, maxAttempts }: PlainTerms, demanded: number | null | undefined): number =>
  pins?.maxAttempts === undefined ? (demanded ?? maxAttempts) : maxAttempts

interface PlainStart {
  /** The number of the CLAIM. */
  readonly seq: number
  readonly at: number
  readonly worker: string
  readonly token: string
  /** How many attempts the claim has set; null: those of the enqueue. */
  readonly maxAttempts: number | null
  /** The end of the lease; null after the end of the job. */
  readonly wakeAt: number | null
}

/** Where a plain job stands. */
export interface PlainStanding {
  readonly id: string
  readonly type: string
  readonly seq: number
  readonly enqueuedAt: number
  readonly rev: number
  readonly start: PlainStart | null
  readonly end: { readonly seq: number; readonly at: number; readonly output?: Json } | null
}

export function plainDocument(terms: PlainTerms, standing: PlainStanding): JobDocument {
  const { id, type, seq, enqueuedAt, rev, start, end } = standing
  const { input, meta = null, pins = null, tags = usual.tags } = terms
  const history = start === null ? [] : [historyEntry(claimArrow, start.seq, start.at, 1, start.worker, null)]
  if (start !== null && end !== null) history.push(historyEntry(endArrow, end.seq, end.at, 1, start.worker, null))
  return {
    ...usual,
    rev,
    id,
    type,
    state: end !== null ? endArrow.to : start !== null ? claimArrow.to : bornReady,
    seq,
    lastSeq: end?.seq ?? start?.seq ?? seq,
    place: seq,
    attempt: start === null ? 0 : 1,
    maxAttempts: attemptsAfterClaim(terms, start?.maxAttempts),
    enqueuedAt,
    startedAt: start?.at ?? null,
    finishedAt: end?.at ?? null,
    wakeAt: start?.wakeAt ?? null,
    worker: start?.worker ?? null,
    token: start?.token ?? null,
    tags,
    meta,
    pins,
    ...(input !== undefined && { input }),
    ...(end?.output !== undefined && { output: end.output }),
    history,
  }
}

/** @param terms the values in it become those of the claimed job */
export function plainClaimed(terms: PlainTerms, standing: PlainStanding, start: PlainStart): ClaimedJob {
  const { id, type } = standing
  const { input, meta = null, pins = null } = terms
  return {
    id,
    type,
    priority: 0,
    concurrencyKey: null,
    attempt: 1,
    maxAttempts: attemptsAfterClaim(terms, start.maxAttempts),
    generation: 1,
    token: start.token,
    startedAt: start.at,
    seq: start.seq,
    version: null,
    pins,
    input,
    steps: null,
    checkpoint: null,
    inbox: [],
    meta,
    record: () => recordOfDocument(structuredClone(plainDocument(terms, standing))),
  }
}

export const plainInserted = (id: string, seq: number, at: number): InsertAnswer => ({
  outcome: 'inserted',
  id,
  state: bornReady,
  seq,
  at,
  dueAt: null,
})

export const plainSettled = (seq: number, at: number): SettleAnswer => ({
  outcome: 'settled',
  seq,
  at,
  from: claimArrow.to,
  to: endArrow.to,
  attempt: 1,
  dueAt: null,
})

/** Carries out a write of the port, and tells of it. */
export type Carry = <T>(write: () => Answer<PlainWrite<T> | null>) => Promise<T | null>
