/** What a store answers to those who only look: pages, counts, queues, workers and the log. Part of the contract in `store.ts`. */
import type { CheckIn, JobRecord, Transition } from './record.ts'
import type { JobState } from './lifecycle.ts'
import type { JobFilter, TypeLimits } from './values.ts'

export interface ListQuery<Field extends keyof JobRecord = keyof JobRecord> extends JobFilter {
  /** `next` of the page before, or the id of its last job. */
  readonly after?: string
  /** 1…1000, default 100. */
  readonly limit?: number
  /** Default `oldest`: by the time of `orderBy`, the earliest first. */
  readonly order?: 'oldest' | 'newest'
  /** By the enqueue (default), or by the end: then only jobs that have ended are listed. */
  readonly orderBy?: 'enqueued' | 'finished'
  /** What is to be read of each job. Default: all of it. */
  readonly fields?: readonly Field[]
}

/**
 * A page of jobs in the order asked for. `next` leads to the following page; undefined at the end. A store looks at a bounded
 * number of jobs in one call: where few of them match, a page may be short, or empty, and have a `next`.
 */
export interface JobPage<Job = JobRecord> extends ReadonlyArray<Job> {
  readonly next: string | undefined
}

/** What a list shows of a job without reading what may be large: its payloads, logs, errors, messages and history. */
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

/** A job as a list shows it: a record without payloads, logs, errors, messages and history. */
export type JobSummary = Pick<JobRecord, (typeof summaryFields)[number]>

export type StateCounts = Readonly<Record<JobState, number>>

/** Jobs in each state, over all types and for each. */
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
  /** How its machines are defined, by type: equal texts are equal definitions. Workers of earlier releases do not say. */
  readonly definitions?: Readonly<Record<string, string>>
  /** Of those types that have any. Unknown of a worker of an older version. */
  readonly limits?: Readonly<Record<string, TypeLimits>>
  /** Without a sign of life for so long it is lost, ms. Workers of earlier releases do not say: 30 s. */
  readonly leaseMs?: number
  readonly startedAt: number
}

export interface WorkerRecord extends WorkerInfo {
  /** Last sign of life, by the store's clock. */
  readonly seenAt: number
  /** Has it given none for its lease? It leaves the list ten minutes later. */
  readonly lost: boolean
  readonly running: readonly {
    readonly id: string
    readonly type: string
    readonly attempt: number
    readonly since: number
    readonly checkin: CheckIn | null
  }[]
}

/** An entry of the log with its place in it. */
export interface TransitionEntry extends Transition {
  /** What follows this entry is read from here. Only the store that made it understands it; it says nothing of time or order. */
  readonly cursor: string
}

export interface TransitionPage {
  readonly transitions: readonly TransitionEntry[]
  /** Ask from here next; null while the log has had no entry. */
  readonly next: string | null
  /** Were entries after `from` (null is no exception) dropped from the capped log before this call? */
  readonly lost: boolean
}
