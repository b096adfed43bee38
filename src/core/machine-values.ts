/** What goes into a store and comes out of it for machine jobs: checkpoints and messages. Part of the contract in `store.ts`. */
import type { ErrorRecord } from './failure.ts'
import type { JobState } from './lifecycle.ts'
import type { InboxMessage, InboxEntry, NewCheckpoint } from './machine-record.ts'
import type { WrittenTransition } from './values.ts'

export interface CheckpointRequest {
  readonly id: string
  readonly attempt: number
  readonly token: string
  readonly checkpoint: NewCheckpoint
}

export interface CheckpointAnswer {
  /**
   * `kept`: written now, or by an earlier call with this number and token · `cancelling`: likewise, and the job is to stop ·
   * `lost`: another attempt holds the job, or none does; nothing was written, and the other fields say nothing · `failed`:
   * likewise nothing, because of `error`.
   */
  readonly outcome: 'kept' | 'cancelling' | 'lost' | 'failed'
  /** seq and time of the checkpoint. */
  readonly seq: number
  readonly at: number
  /** Attempts the generation may spend now: those that led to a checkpoint do not count. */
  readonly maxAttempts: number
  /** The messages that have not been read. */
  readonly inbox: readonly InboxEntry[]
  /** Of a cancel. */
  readonly reason?: string
  readonly graceMs?: number
  /** Of `failed`. */
  readonly error?: ErrorRecord
}

export interface SendRequest {
  readonly id: string
  readonly message: InboxMessage & { readonly kind: 'event' | 'resume' }
  /** Names this message: the same key for the same job again is the same message, also when it has been read since. */
  readonly key: string
  /** Only if the job is still as it was seen: at this checkpoint (0: at none), after this message (0: none). Null: however it is. */
  readonly expect: { readonly checkpoint: number; readonly lastMessageNumber: number } | null
}

/**
 * `kept`: in the inbox now · `duplicate`: it was before · `changed`: the job is not as expected · `ended` · `notFound` ·
 * `full`: `caps.inbox` messages wait · `resumed`: a `resume` of a job that was put off as unsupported, which is queued now ·
 * `failed`: because of `error`. Nothing was put into the inbox but for the first.
 */
export interface SendAnswer {
  readonly outcome: 'kept' | 'resumed' | 'duplicate' | 'changed' | 'ended' | 'notFound' | 'full' | 'failed'
  /** Of the job after the write; of one that is not found, or of `failed`, null. */
  readonly state: JobState | null
  /** The WAKE of a job that was waiting, or the DUE of one that was put off as unsupported and is resumed. */
  readonly transition?: WrittenTransition
  /** Of `failed`. */
  readonly error?: ErrorRecord
}
