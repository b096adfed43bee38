/** What is asked of the pipeline from outside: cancels, and news of queued jobs. */
import type { Answer, BulkAnswer, CancelAnswer, CancelRequest } from '../store.ts'

interface AnyCancel {
  /** Waiting cancels are handled in descending order. */
  readonly priority: number
  readonly reject: (error: unknown) => void
}

/** A cancel of jobs by their ids. */
export interface CancelByIds extends AnyCancel {
  readonly request: CancelRequest
  readonly resolve: (answer: CancelAnswer) => void
}

/** What a cancel tells the runs that it aborts. */
export type CancelTerms = Pick<CancelRequest, 'reason' | 'graceMs'>

/** A batch of a bulk operation that cancels jobs by a filter. */
export interface CancelBatch extends AnyCancel {
  readonly terms: CancelTerms
  /** Lets the store do the batch. */
  readonly ask: () => Answer<BulkAnswer>
  readonly resolve: (answer: BulkAnswer) => void
}

export type CancelCommand = CancelByIds | CancelBatch

/** A queue may have work: `atMost` jobs more. Or it will, when an insert that has just been sent is done. */
export interface WakeCommand {
  readonly type: string
  readonly atMost: number
  readonly isExpected?: boolean
}
