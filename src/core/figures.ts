/** Read-only answers of a store: pages of jobs, counts, queues, workers and the transition log. Part of the contract in `store.ts`. */
import type { CheckIn, JobRecord, Transition } from './record.ts'
import type { JobState } from './lifecycle.ts'
import type { JobFilter, TypeLimits } from './values.ts'

export interface ListQuery<Field extends keyof JobRecord = keyof JobRecord> extends JobFilter {
  /** `next` of the previous page, or the id of its last job. */
  readonly after?: string
  /** 1…1000, default 100. */
  readonly limit?: number
  /** Default `oldest`: earliest time of `orderBy` first. */
  readonly order?: 'oldest' | 'newest'
  /** By enqueue (default) or by end; by end only jobs that have ended are listed. */
  readonly orderBy?: 'enqueued' | 'finished'
  /** Fields to read. Default: all. */
  readonly fields?: readonly Field[]
}

/**
 * A page of jobs in the requested order. `next` is the cursor of the following page; undefined at the end. A store reads a bounded
 * number of jobs in one call: if few of them match, a page may be short, or empty, and still have a `next`.
 */
export interface JobPage<Job = JobRecord> extends ReadonlyArray<Job> {
  readonly next: string | undefined
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

/** Number of jobs per state, in total and per type. */
export interface Counts extends StateCounts {
  readonly types: Readonly<Record<string, StateCounts>>
}

export interface QueueInfo {
  readonly type: string
  readonly paused: boolean
  readonly counts: StateCounts
}

export interface WorkerInfo {
  readonly id: string
  readonly name: string
  readonly host: string
  readonly pid: number
  readonly version: string
  readonly slots: number
  readonly types: readonly string[]
  /** Fingerprints of its machine definitions, by type: equal texts mean equal definitions. Absent for workers of earlier releases. */
  readonly definitions?: Readonly<Record<string, string>>
  /** Limits of the types that have any. Absent for workers of earlier releases. */
  readonly limits?: Readonly<Record<string, TypeLimits>>
  /** A worker without a heartbeat for this long is lost, ms. Absent for workers of earlier releases: 30 s. */
  readonly leaseMs?: number
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
  }[]
}

/** An entry of the transition log, with its cursor. */
export interface TransitionEntry extends Transition {
  /** Pass it as `from` to read the entries after this one. Opaque: it has a meaning only for the store that returned it. */
  readonly cursor: string
}

export interface TransitionPage {
  readonly transitions: readonly TransitionEntry[]
  /** Cursor for the next call; null while the log has had no entry. */
  readonly next: string | null
  /** Were entries after `from` removed from the capped log before this call? With `from: null`, any entries. */
  readonly lost: boolean
}
