/**
 * Read-only answers of a store: pages of jobs, counts, queues, activity, failures, workers and the transition log. Part
 * of the contract in `store.ts`.
 */
import type { CheckIn, JobRecord, Transition } from './record.ts'
import { jobStates, type JobState } from './lifecycle.ts'
import type { Json } from './payload.ts'
import type { JobFilter, TypeLimits } from './values.ts'

export interface ListQuery<Field extends keyof JobRecord = keyof JobRecord> extends JobFilter {
  /** `next` of the previous page, or the id of its last job. */
  readonly after?: string
  /** 1…1000, default 100. */
  readonly limit?: number
  /** Default `oldest`: earliest time of `orderBy` first. */
  readonly order?: 'oldest' | 'newest'
  /**
   * By enqueue (default), by end, or by due time, of equal ones the one that was enqueued first. By end only jobs that
   * have ended are listed, by due time only those that have a due time.
   */
  readonly orderBy?: 'enqueued' | 'finished' | 'due'
  /** Fields to read. Default: all. */
  readonly fields?: readonly Field[]
}

export type ListOrder = NonNullable<ListQuery['orderBy']>

/**
 * A page of jobs in the requested order. `next` is the cursor of the following page; undefined at the end. A store
 * reads a bounded number of jobs in one call: if few of them match, a page may be short, or empty, and still have a
 * `next`.
 */
export interface JobPage<Job = JobRecord> extends ReadonlyArray<Job> {
  readonly next: string | undefined
  /**
   * The cursor of the transition log that the page goes with: the page has all transitions up to it. It may have later
   * ones, too. Of several pages, that of the first one is meant. Not enumerable: two pages with the same jobs are
   * equal.
   */
  readonly cursor: string
}

/** Fields that are never large: a record without payloads, logs, errors, messages and history. */
export const summaryFields = [
  'id',
  'type',
  'state',
  'priority',
  'attempt',
  'maxAttempts',
  'generation',
  'tags',
  'key',
  'concurrencyKey',
  'enqueuedAt',
  'dueAt',
  'startedAt',
  'finishedAt',
  'worker',
  'cancelReason',
  'parent',
  'version',
  'unsupported',
  'machineStates',
  'machineTags',
] as const satisfies readonly (keyof JobRecord)[]

/** A record without payloads, logs, errors, messages and history. */
export type JobSummary = Pick<JobRecord, (typeof summaryFields)[number]>

export type StateCounts = Readonly<Record<JobState, number>>

/**
 * Is a type known: is it defined here, or has the store a job of it?
 * @param jobs the definitions of this process
 * @param counts of the jobs of the type
 */
export const isKnownType = (jobs: ReadonlyMap<string, unknown>, type: string, counts: StateCounts): boolean =>
  jobs.has(type) || jobStates.some((state) => counts[state] > 0)

/**
 * Of a class, because the types of spreads and rests leave accessors of classes out, as values of members that are not
 * enumerable.
 */
declare class ReadWithLog {
  /**
   * The cursor of the transition log at which these were the numbers: those of all transitions up to it, and of no
   * later one. Not enumerable: two counts with the same numbers are equal.
   */
  get cursor(): string
}

/** Number of jobs per state, in total and per type. */
export interface Counts extends StateCounts, ReadWithLog {
  readonly types: Readonly<Record<string, StateCounts>>
}

/** Number of jobs of a type by their machines. */
export interface MachineCounts {
  /** Jobs that have not ended, by the state paths of their machines at the last checkpoint. */
  readonly states: Readonly<Record<string, number>>
  /** The same by tags. */
  readonly tags: Readonly<Record<string, number>>
  /**
   * Jobs that are done, by the final state of their machine, and by the `status` of its output if that is a word:
   * `paid`, `closed (declined)`. Since the first job of the type: also those that are not kept any more.
   */
  readonly outcomes: Readonly<Record<string, number>>
}

/**
 * `hour`: this hour and the one before · `day`: this hour and the 24 before · `week`: today and the 7 days before, in
 * UTC.
 */
export type HeatPeriod = 'hour' | 'day' | 'week'

export interface HeatQuery {
  readonly type: string
  readonly period: HeatPeriod
}

/** What the machines of a type have counted, see `NewCheckpoint.heat`. */
export interface StoredHeat {
  /** The begin of the first hour that is counted, ms since the epoch. */
  readonly from: number
  /** In any order, each name once. `lastId`: the job that has counted it last. */
  readonly counts: readonly { readonly name: string; readonly count: number; readonly lastId: string }[]
}

export interface QueueInfo {
  readonly type: string
  readonly paused: boolean
  readonly counts: StateCounts
}

/**
 * The length of the periods in which activity is counted: the minutes of the last two hours, the hours of the last
 * seven days.
 */
export type ActivityPeriod = 'minute' | 'hour'

/** Transitions of the jobs of a queue. */
export interface ActivityCounts {
  /** New jobs. A retry of a dead or cancelled job is none. */
  readonly enqueued: number
  /** Started attempts: claims. */
  readonly started: number
  /** Jobs that were completed. */
  readonly done: number
  /** Attempts that failed, or whose lease ran out; whether another attempt follows or not. */
  readonly failed: number
  /** Jobs that died: of the failed attempts, those after which none was left. */
  readonly dead: number
  /** Jobs that were cancelled. */
  readonly cancelled: number
}

/** What is counted in a period of store time. */
export interface ActivityFigures extends ActivityCounts {
  /** Sum over `started` of the time from the transition that queued the job until the claim, ms. */
  readonly queuedMs: number
  /** Sum over `done` and `failed` of the time from the claim until the end of the attempt, ms. */
  readonly runMs: number
}

export type ActivityFigure = keyof ActivityFigures

/** The activity of one period. */
export interface ActivityBucket extends ActivityFigures {
  /** The begin of the period, ms since the epoch: a multiple of its length. */
  readonly at: number
}

export interface ActivityQuery {
  readonly period: ActivityPeriod
  /**
   * The periods since this time, with the one that contains it, ms since the epoch; as far back as activity is kept.
   */
  readonly from: number
  /** `each`: every queue · `total`: all queues together · or the queues of these types. */
  readonly queues: 'each' | 'total' | readonly string[]
}

export interface QueueActivity {
  /** null: all queues together. */
  readonly type: string | null
  /** Oldest first. Periods without activity are left out. */
  readonly buckets: readonly ActivityBucket[]
}

/** Transitions per second within a window of time that ends now, and mean durations. */
export interface Rates extends ActivityCounts {
  /** Mean time from the transition that queued a job until its claim, ms; null if none was claimed. */
  readonly meanQueuedMs: number | null
  /** Mean time from the claim of an attempt until it was done or had failed, ms; null if none has ended so. */
  readonly meanRunMs: number | null
}

/**
 * Failed attempts of a type whose errors have the same class, code and status and, but for what varies from job to job,
 * the same message.
 */
export interface FailureGroup {
  readonly type: string
  /**
   * Identifies the group within its type. The filter `{ type, failure: fingerprint }` finds the jobs whose last error
   * is of the group.
   */
  readonly fingerprint: string
  /** Of the errors. */
  readonly name: string
  readonly code: string | null
  /** Their message, with `…` for ids, addresses, quoted text and numbers that are no codes. */
  readonly message: string
  /** Failed attempts since `firstAt`. */
  readonly count: number
  /** Jobs that have died of it since `firstAt` and are dead now. */
  readonly dead: number
  /** Time of the first and the last failed attempt, ms since the epoch. */
  readonly firstAt: number
  readonly lastAt: number
  /** The job of the last failed attempt. It may have been removed since. */
  readonly lastId: string
}

export interface FailureQuery {
  /** Only the groups of this type. */
  readonly type?: string
  /** 1…1,000, default 100. */
  readonly limit?: number
}

export interface WorkerInfo {
  readonly id: string
  readonly name: string
  readonly host: string
  readonly pid: number
  readonly version: string
  readonly slots: number
  readonly types: readonly string[]
  /** Fingerprints of its machine definitions, by type: equal texts mean equal definitions. */
  readonly definitions: Readonly<Record<string, string>>
  /** Events that its machines know, by type, as their charts name them: wildcards included. */
  readonly events: Readonly<Record<string, readonly string[]>>
  /** Limits of the types that have any. */
  readonly limits: Readonly<Record<string, TypeLimits>>
  /** A worker without a heartbeat for this long is lost, ms. */
  readonly leaseMs: number
  /** Does it claim nothing, because its runtime is paused or stops? Absent: it claims. */
  readonly paused?: true
  readonly startedAt: number
}

export interface WorkerRecord extends WorkerInfo {
  /** Time of the last heartbeat, ms since the epoch, by the store's clock. */
  readonly seenAt: number
  /** Is the last heartbeat older than the lease? The worker is removed from the list ten minutes later. */
  readonly lost: boolean
  readonly running: readonly {
    readonly id: string
    readonly type: string
    readonly attempt: number
    readonly since: number
    readonly checkin: CheckIn | null
    /** The input of the job, in answers of `workers()`; absent if it has none, and in answers of a store. */
    readonly input?: Json
  }[]
}

/** An entry of the transition log, with its cursor. */
export interface TransitionEntry extends Transition {
  /**
   * Pass it as `from` to read the entries after this one. Opaque: it has a meaning only for the store that returned it.
   */
  readonly cursor: string
}

export interface TransitionPage {
  readonly transitions: readonly TransitionEntry[]
  /** Cursor for the next call; null while the log has had no entry. */
  readonly next: string | null
  /** Were entries after `from` removed from the capped log before this call? With `from: null`, any entries. */
  readonly lost: boolean
}
