/** Bulk operations, and the requests and answers of `Store.bulk`: values of the contract in `store.ts`. */
import type { ErrorRecord } from './failure.ts'
import type { JobFilter, WrittenTransition } from './values.ts'

/** What a bulk operation does to each of its jobs: the arguments of `retry`, `discard` and `cancel` of the store. */
export type BulkChange =
  | { readonly kind: 'retry'; readonly fromStart: boolean; readonly dropInbox: number }
  | { readonly kind: 'discard' }
  | { readonly kind: 'cancel'; readonly reason: string | null; readonly graceMs: number | null }

/** What became of a job: `refused` of a retry whose unique key another job holds. */
export type BulkOutcome = 'retried' | 'discarded' | 'cancelled' | 'cancelling' | 'refused'

/** `stopped`: by a call of `stop` · `failed`: because of `error`. Neither undoes what was done before. */
export type BulkState = 'running' | 'done' | 'stopped' | 'failed'

/** A change of all jobs that match a filter, kept by the store and carried out in batches. */
export interface BulkOperation {
  readonly id: string
  readonly change: BulkChange
  readonly filter: JobFilter
  readonly state: BulkState
  /** Jobs so far, by what became of them. An outcome that no job had is missing. */
  readonly counts: Readonly<Partial<Record<BulkOutcome, number>>>
  /** How many jobs the caller expected to match, for a progress bar; null = not known. */
  readonly expected: number | null
  /** Jobs of one batch at most. */
  readonly batchSize: number
  /**
   * Where the next batch starts, and the last job that the operation may reach: jobs that were enqueued after the first
   * batch are not changed, nor are jobs that ended after it. null = at the end.
   */
  readonly cursor: string | null
  readonly requestedAt: number
  readonly endedAt: number | null
  /** Of `failed`. */
  readonly error: ErrorRecord | null
  /** Who carries it out now, until when by the store's clock: only then may another one go on with it. */
  readonly token: string
  readonly leaseUntil: number
}

export interface StartBulk {
  /** Identifies the operation: a call that is repeated with the same id starts nothing. */
  readonly id: string
  readonly change: BulkChange
  readonly filter: JobFilter
  readonly expected: number | null
  /** 1…`caps.selection`. */
  readonly batchSize: number
  /** Random: who carries it out. */
  readonly token: string
  /** How long the operation is left to `token` after each batch, ms. 0: anyone may go on with it at once. */
  readonly leaseMs: number
  /**
   * `unfinished`: an operation that ends with its first batch is not kept and not listed, and it is started also if too
   * many operations run. Default `always`.
   */
  readonly keep?: 'always' | 'unfinished'
}

export type AdvanceBulk = Pick<StartBulk, 'id' | 'token' | 'leaseMs'>

export interface StopBulk {
  readonly id: string
  /** The operation ends as `failed` because of it; null: as `stopped`. */
  readonly error: ErrorRecord | null
}

/** The answer to `start` and `advance`. */
export interface BulkAnswer {
  /**
   * `advanced`: a batch was done; the operation may have ended by it · `known`: an operation with this id exists, and
   * was not started again · `leasedElsewhere`: another token carries it out · `ended`: it has ended before ·
   * `notFound`: there is none with this id ·
   * `full`: too many operations run, and this one was not started.
   */
  readonly outcome: 'advanced' | 'known' | 'leasedElsewhere' | 'ended' | 'notFound' | 'full'
  /** The operation after the call; null if there is none. */
  readonly operation: BulkOperation | null
  /** The ids of the jobs of this batch, by what became of them. */
  readonly jobs: Readonly<Partial<Record<BulkOutcome, readonly string[]>>>
  /** The transitions that this batch has written. */
  readonly transitions: readonly WrittenTransition[]
  /** How many jobs are left whose rows somebody else holds, once all others are done. */
  readonly held?: number
}
