/**
 * What a call with `{ tx }` leaves in the transaction of its caller: it is carried out right after the commit, by
 * whoever finds it first, in the order of the calls. Only then are rows of other jobs touched, so that no worker waits
 * for a transaction of a user.
 */
import { JobchartError } from './errors.ts'
import type { ErrorRecord } from './failure.ts'
import type { SendRequest } from './machine-values.ts'
import type { PutSchedule } from './schedule-record.ts'
import type { Settlement } from './settlement.ts'
import type { CancelRequest, HeartbeatPayload, InsertRequest, Lease, WrittenTransition } from './values.ts'

export type TxIntent =
  | { readonly kind: 'insert'; readonly request: InsertRequest }
  | { readonly kind: 'send'; readonly request: SendRequest }
  | { readonly kind: 'cancel'; readonly request: CancelRequest }
  | { readonly kind: 'schedule'; readonly request: PutSchedule }
  | { readonly kind: 'unschedule'; readonly request: { readonly name: string } }
  | LeasedIntent

/**
 * What a run leaves in a transaction of its handler. It is refused there, with LEASE_LOST, if the lease is not that of
 * the job any more; and from then on until it is carried out, or the transaction is rolled back, nobody else ends the
 * lease.
 */
export type LeasedIntent =
  | { readonly kind: 'settle'; readonly request: Settlement }
  | { readonly kind: 'extend'; readonly request: HeartbeatPayload; readonly leaseMs: number }

/** The lease that intents depend on; null: none. */
export const leaseOfIntents = (intents: readonly TxIntent[]): Lease | null =>
  intents.find((intent): intent is LeasedIntent => intent.kind === 'settle' || intent.kind === 'extend')?.request ??
  null

/** Do they end the lease that they depend on? */
export const endsLease = (intents: readonly TxIntent[]): boolean => intents.some(({ kind }) => kind === 'settle')

/**
 * A second end of an attempt, in the same transaction or in another one: the handler may repeat a transaction whose
 * commit it has had no answer to.
 */
export const endWritten = (cause?: unknown): JobchartError =>
  new JobchartError(
    'NOT_ACCEPTED',
    'the end of the attempt was written before: in this transaction, or in another one',
    {
      hint: 'Roll this transaction back: the first end counts, if its transaction commits. If its commit has failed without an answer, let the error pass: the runtime finds out.',
      ...(cause !== undefined && { cause }),
    },
  )

/**
 * What has become of a write in a transaction: `rolledBack` also if only its savepoint was rolled back, or the server
 * has failed before the commit; `unknown` if the server has forgotten it, or may mean another one by the same name.
 */
export type TxFate = 'open' | 'committed' | 'rolledBack' | 'unknown'

/** An intent that was refused after the commit: nothing of it was written. */
export interface RefusedIntent {
  readonly intent: TxIntent
  readonly error: ErrorRecord
}

export interface CarryOutAnswer {
  /** How many calls were carried out. */
  readonly count: number
  /** The transitions of other jobs than those that were inserted. */
  readonly transitions: readonly WrittenTransition[]
  readonly refused: readonly RefusedIntent[]
  /** Left for later: they change a job whose row somebody else holds, such as the handler that ends it. */
  readonly held: readonly TxIntent[]
  /** Was the limit reached? Then the caller calls again. */
  readonly more: boolean
}
