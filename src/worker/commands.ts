/** What is asked of the pipeline from outside: cancels, and news of queued jobs. */
import type { CancelAnswer, CancelRequest } from '../store.ts'

export interface CancelCommand {
  readonly request: CancelRequest
  /** Waiting cancels are handled in descending order. */
  readonly priority: number
  readonly resolve: (answer: CancelAnswer) => void
  readonly reject: (error: unknown) => void
}

/** A queue may have work: `atMost` jobs more. Or it will, when an insert that has just been sent is done. */
export interface WakeCommand {
  readonly type: string
  readonly atMost: number
  readonly isExpected?: boolean
}
