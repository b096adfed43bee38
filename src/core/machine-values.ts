/** Requests and answers for machine jobs: checkpoints and messages. Part of the contract in `store.ts`. */
import type { ErrorRecord } from './failure.ts'
import type { JobState } from './lifecycle.ts'
import type { InboxMessage, InboxEntry, NewCheckpoint, Unsupported } from './machine-record.ts'
import type { MachineStanding } from './machine-tally.ts'
import type { WrittenTransition } from './values.ts'

export interface CheckpointRequest {
  readonly id: string
  readonly attempt: number
  readonly token: string
  readonly checkpoint: NewCheckpoint
}

export interface CheckpointAnswer {
  /**
   * `kept`: written by this call, or by an earlier one with this number and token · `cancelling`: written, and the run
   * must stop ·
   * `lost`: the lease belongs to another attempt, or there is none; nothing was written, and the other fields have no
   * meaning ·
   * `failed`: nothing was written because of `error`; the other fields have no meaning.
   */
  readonly outcome: 'kept' | 'cancelling' | 'lost' | 'failed'
  /** seq and time of the checkpoint. */
  readonly seq: number
  readonly at: number
  /** `maxAttempts` after the write: attempts that led to a checkpoint are added to it. */
  readonly maxAttempts: number
  /** The unread messages. */
  readonly inbox: readonly InboxEntry[]
  /** Of `cancelling`: from the cancel. */
  readonly reason?: string
  readonly graceMs?: number
  /** Of `failed`. */
  readonly error?: ErrorRecord
}

export interface SendRequest {
  readonly id: string
  readonly message: InboxMessage & { readonly kind: 'event' | 'resume' }
  /**
   * Deduplicates messages of a job: a second message with the same key is not delivered, even if the first was read.
   */
  readonly key: string
  /**
   * Delivers only if the last checkpoint and the last message of the job have these numbers (0: none), and if `behind`
   * is the key of the last one that was sent, where it is given: so that of messages that are sent together none is
   * delivered without those before it. Null: unconditionally.
   */
  readonly expect: {
    readonly checkpoint: number
    readonly lastMessageNumber: number
    readonly behind?: string
  } | null
}

export interface SendAnswer {
  /**
   * - `kept`: the message was put into the inbox. In all other cases it was not.
   * - `duplicate`: a message with this key was delivered earlier.
   * - `changed`: the job does not match `expect`.
   * - `ended`: the job has ended.
   * - `notFound`: the job does not exist.
   * - `full`: the inbox holds `caps.inbox` messages.
   * - `resumed`: a `resume` of a job that was postponed as unsupported; the job is queued now.
   * - `failed`: because of `error`.
   */
  readonly outcome: 'kept' | 'resumed' | 'duplicate' | 'changed' | 'ended' | 'notFound' | 'full' | 'failed'
  /** The state of the job after the write; null for `notFound` and `failed`. */
  readonly state: JobState | null
  /** The WAKE of a job that was waiting, or the DUE of a job that is `resumed`. */
  readonly transition?: WrittenTransition
  /** Of `failed`. */
  readonly error?: ErrorRecord
}

/** Where a parked machine stands by a definition, and whether it handles a cancel there. */
export interface ParkedStanding extends MachineStanding {
  readonly takesCancel: boolean
}

export interface ReindexRequest {
  readonly id: string
  /** The number of its last checkpoint: the request has no effect if it has another one. */
  readonly checkpoint: number
  /** What `list` finds it by and `machineCounts` counts from now on, and what a cancel does. Null: as it is. */
  readonly standing: ParkedStanding | null
  /** Why no process can run it; null: one can. */
  readonly unsupported: Pick<Unsupported, 'version' | 'reason'> | null
}

export interface ReindexAnswer {
  /**
   * `kept`: written · `changed`: the job is not parked any more, or has another checkpoint; nothing was written ·
   * `notFound`: the job does not exist · `failed`: nothing was written because of `error`.
   */
  readonly outcome: 'kept' | 'changed' | 'notFound' | 'failed'
  /** Of `failed`. */
  readonly error?: ErrorRecord
}
