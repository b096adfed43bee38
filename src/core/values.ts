/** Requests to a store and its answers: the values of the contract in `store.ts`. */
import type { BackoffPolicy } from './backoff.ts'
import type { ErrorRecord } from './failure.ts'
import type { CheckIn, JobMeta, JobRecord, LogLine, Transition } from './record.ts'
import type { JobState } from './lifecycle.ts'
import type { Checkpoint, InboxEntry, Parent } from './machine-record.ts'
import type { Json } from './payload.ts'
import type { RetentionBounds } from './retention.ts'
import type { TraceContext } from './telemetry.ts'

// ── insert ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * What its enqueue says of one job beside its terms: settings, which take precedence over the definition of the worker
 * that runs it, and the trace.
 */
export interface JobPins {
  readonly maxAttempts?: number
  readonly backoff?: BackoffPolicy
  /** Time limit of each attempt, ms. */
  readonly attemptTimeoutMs?: number
  /** The trace context of the enqueue. */
  readonly trace?: TraceContext
}

export interface NewJob {
  readonly id: string
  readonly type: string
  readonly input: Json | undefined
  readonly priority: number
  /** Initial value: each claim sets it anew from the worker's definition, unless the job has pinned it. */
  readonly maxAttempts: number
  /** Omitted if nothing is pinned. */
  readonly pins?: JobPins
  readonly tags: readonly string[]
  /** The caller's own data, kept with the job; omitted if there is none. */
  readonly meta?: JobMeta
  readonly concurrencyKey: string | null
  /** Weight of its concurrency key where keys share the claims: see `Demand.keyShares`. 1…100000, default 1. */
  readonly keyWeight?: number
  /** Due time, ms since the epoch; a time in the past means now. */
  readonly runAt: number | null
  /** Due this many ms after the store's current time; 0 = now. */
  readonly delayMs: number
  /** Unique key within the type, from the insert until the write that ends the job. */
  readonly key: string | null
  /**
   * When the job gives up its key: by default at its end; `start`: at its first claim. A retry of the ended job takes
   * the key again.
   */
  readonly until?: 'start'
  /**
   * If another job holds the key:
   * - `keep` answers with the holder.
   * - `replace` does the same; if the holder is in the backlog, it gets the new input, tags and meta, and, if it is
   *   `scheduled` and the new job is due in the future, the new due time.
   * - `supersede` cancels the holder (running → cancelling), and inserts the new job, which takes the key.
   * - `follow` is `replace` if the holder is in the backlog; otherwise it inserts the new job, which takes the key.
   *
   * If the holder is `cancelling`, the new job is inserted and takes the key in all four cases.
   *
   * At most one job of a key is started and not ended. A job that takes the key while an earlier holder is live is
   * `scheduled` without a due time. The write that ends the earlier holder makes it `queued` (DUE), or sets its own due
   * time if that lies in the future.
   */
  readonly onConflict: 'keep' | 'replace' | 'supersede' | 'follow'
  /** The job that invokes it: the write that ends this job puts a message into the inbox of the parent. */
  readonly parent?: Parent
  /** The version of its machine at the enqueue; omitted for a plain job. */
  readonly version?: string
  /** The state that its machine starts from: that of another job's checkpoint (a fork). */
  readonly checkpoint?: Json
}

export interface InsertRequest {
  /** Stored all or not at all. */
  readonly jobs: readonly NewJob[]
  /** Jobs in the backlog at most, of all types, after this insert; null = no limit. */
  readonly capacity: number | null
  /** The same for the jobs of one type. Omitted: no limit. */
  readonly queue?: QueueLimit
}

/** Limit of one queue. */
export interface QueueLimit {
  readonly type: string
  /**
   * Jobs of the type in the backlog at most. 0 = hand-over: a request is stored only if the workers have a free slot
   * for each of its new jobs (see `core/hand-over.ts`), however many jobs of the type are scheduled or retrying.
   */
  readonly capacity: number
}

export interface InsertAnswer {
  /**
   * - `inserted`: the job was stored.
   * - `duplicate`: a job with this id, or else with this key, exists; `id` is that job's.
   * - `replaced`: a job with this key exists; it has the new input, no step results, and its old place in the queue.
   * - `full`: no job of the request was stored, because a capacity is reached: `full` says which.
   * - `id-taken`: no job of the request was stored, because `id` belongs to a job of another type.
   * - `failed`: no job of the request was stored, because of `error`.
   *
   * The last three are answered for every job of the request.
   */
  readonly outcome: 'inserted' | 'duplicate' | 'replaced' | 'full' | 'id-taken' | 'failed'
  readonly id: string
  readonly state: JobState
  /** seq and time of the ENQUEUE; 0 unless `inserted`. */
  readonly seq: number
  readonly at: number
  readonly dueAt: number | null
  /** Of `duplicate`: has the existing job the same input? The order of members does not matter. */
  readonly sameInput?: boolean
  /** Of `full`: the capacity that is reached, of the store or of the queue. The first, if both are. */
  readonly full?: 'store' | 'queue'
  /** The CANCEL of the holder that this job supersedes, with the reason `superseded`. */
  readonly superseded?: WrittenTransition
  /** Of `failed`. */
  readonly error?: ErrorRecord
}

// ── claim ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Limits of a type. Concurrency counts all leases of all workers: from the claim until the attempt is settled or
 * expired.
 */
export interface TypeLimits {
  /** Jobs leased at once; null = no limit. */
  readonly concurrency: number | null
  /** Jobs leased at once per concurrencyKey; null = no limit. Does not apply to jobs without a key. */
  readonly perKey: number | null
  /** Claims in any window of `perMs`; null = no limit. */
  readonly rate: RateLimit | null
  /** The same per concurrencyKey. Omitted: no limit. Does not apply to jobs without a key. */
  readonly keyRate?: RateLimit
}

/** At most `limit` claims in any window of `perMs`. */
export interface RateLimit {
  readonly limit: number
  readonly perMs: number
}

export interface Demand {
  readonly type: string
  /** How many jobs to claim at most, ≥ 1. */
  readonly max: number
  readonly limits: TypeLimits
  /** Sets `maxAttempts` of each claimed job that has not pinned its own. Omitted: it stays as it is. */
  readonly maxAttempts?: number
  /**
   * Type of the job that the store inserts when a job of this claim dies, in the write that makes it dead (FAIL or
   * EXPIRE), regardless of the capacity. Its id is `<id>/dead/<generation>` (or `….2` and so on, if that exists), its
   * input a `Death`; tags, meta and priority are those of the dead job. Every claim sets it anew. Omitted: none.
   */
  readonly onDead?: string
  /**
   * Claims are shared among the concurrency keys in proportion to their weights (see `core/shares.ts`). Jobs without a
   * key share as if they had one key. Omitted: jobs are claimed by priority and place, regardless of their keys.
   */
  readonly keyShares?: true
}

export interface ClaimRequest {
  readonly worker: string
  readonly leaseMs: number
  /** Random, new for each claim; (id, attempt, token) identifies one attempt for ever. */
  readonly token: string
  /**
   * When the worker started, by the store's clock. If workers differ in `perKey`, `keyRate` or `keyShares` of a type,
   * those of the worker that has started last hold for the claims of all, until none that has them has claimed for 30 s
   * (`core/key-terms.ts`). Omitted: those of this claim apply, and from then on.
   */
  readonly startedAt?: number
  /** At most one entry per type. */
  readonly demand: readonly Demand[]
}

/** A claimed job: its state is `running`, and `attempt` includes this attempt. */
export interface ClaimedJob {
  readonly id: string
  readonly type: string
  /** A copy that the handler may change. */
  readonly input: Json | undefined
  readonly priority: number
  readonly concurrencyKey: string | null
  readonly attempt: number
  readonly maxAttempts: number
  readonly generation: number
  readonly token: string
  readonly startedAt: number
  /** seq of the CLAIM. */
  readonly seq: number
  /** Results of the completed steps (`ctx.step`) of this generation, by name. */
  readonly steps: Readonly<Record<string, Json>> | null
  /** The last checkpoint of its machine, and the messages it has not read: null and none for a plain job. */
  readonly checkpoint: Checkpoint | null
  readonly inbox: readonly InboxEntry[]
  /** The version of its machine at the enqueue; null for a plain job. */
  readonly version: string | null
  /** Settings made at its enqueue; null if there are none. */
  readonly pins: JobPins | null
  /** The caller's data of the enqueue; null if there is none. */
  readonly meta: JobMeta | null
  /** The whole record, as of the claim or later. */
  record(): JobRecord
}

/**
 * Why a claim returned fewer jobs of a type than requested; the first reason that applies: `paused` · `empty` ·
 * `capped` by the concurrency limit of the type or of its keys · `limited` by the rate limit of the type or of its
 * keys, until `until`. When one of the first three may have ended, the store sends a hint (see `watch`), also for each
 * key at its concurrency limit.
 */
export interface Shortfall {
  readonly type: string
  readonly reason: 'paused' | 'empty' | 'capped' | 'limited'
  readonly until?: number
}

export interface ClaimAnswer {
  /**
   * Per type by (priority descending, place ascending); with `keyShares` in this order within each key. A job takes a
   * new place at the end of its queue when ENQUEUE, DUE, WAKE or RETRY makes it queued; after RELEASE and EXPIRE it has
   * its previous place.
   */
  readonly jobs: readonly ClaimedJob[]
  readonly shortfalls: readonly Shortfall[]
  /** Jobs that were to be claimed and cannot be read. They were set aside: see `Store.unreadable`. Missing for none. */
  readonly unreadable?: readonly string[]
}

/** Identifies an attempt. */
export interface Lease {
  readonly id: string
  readonly attempt: number
  readonly token: string
}

/** Identifies an attempt among those of its job. */
export type LeaseKey = Pick<Lease, 'attempt' | 'token'>

/**
 * The state of a claimed job that has not started. `leased`: it may start · `cancelling`: it was cancelled · `paused`:
 * its queue was paused since the claim · `lost`: its lease belongs to another attempt, or it has none.
 */
export interface Standing {
  readonly outcome: 'leased' | 'cancelling' | 'paused' | 'lost'
  readonly reason?: string
}

// ── settle and extend ──────────────────────────────────────────────────────────────────────────────────────────────

/** A transition that a call has written. */
export interface WrittenTransition extends Transition {
  /** Of an EXPIRE: LEASE_LOST, the error that was added to the job's errors. */
  readonly error?: ErrorRecord
}

export interface SettleAnswer {
  /**
   * `settled` · `lost`: the lease belongs to another attempt, or there is none; nothing was written, and the other
   * fields have no meaning · `failed`: nothing was written because of `error`; the other fields have no meaning.
   */
  readonly outcome: 'settled' | 'lost' | 'failed'
  readonly seq: number
  readonly at: number
  readonly from: JobState
  readonly to: JobState
  /** Attempts spent after the transition. */
  readonly attempt: number
  readonly dueAt: number | null
  /**
   * A WAKE in the same write: of this job, if it was parked with messages in its inbox, or of its parent, if it has
   * ended.
   */
  readonly woken?: WrittenTransition
  /** A DUE in the same write: of the job with the same unique key that waited for the end of this one. */
  readonly successor?: WrittenTransition
  /** The ENQUEUE in the same write: of the job that runs the hook of the one that died. */
  readonly hook?: WrittenTransition
  /** Of `failed`. */
  readonly error?: ErrorRecord
}

export interface HeartbeatPayload extends Lease {
  readonly checkin?: CheckIn
  readonly logs?: readonly LogLine[]
  /** Results of steps, to be kept with the job. */
  readonly steps?: Readonly<Record<string, Json>>
  /** Requests the messages with higher numbers: they are returned in `inbox`. */
  readonly lastMessageNumber?: number
}

export interface HeartbeatAnswer {
  /**
   * `extended`: the lease was extended · `cancelling`: the lease was extended, and the run must stop · `lost`: nothing
   * was written ·
   * `failed`: nothing was written because of `error`.
   */
  readonly outcome: 'extended' | 'cancelling' | 'lost' | 'failed'
  readonly reason?: string
  readonly graceMs?: number
  /** The messages requested by `lastMessageNumber`. */
  readonly inbox?: readonly InboxEntry[]
  /** Of `failed`. */
  readonly error?: ErrorRecord
}

export interface ExtendRequest {
  readonly worker: string
  /** Length of the new lease from the store's current time, ms. */
  readonly leaseMs: number
  readonly heartbeats: readonly HeartbeatPayload[]
}

// ── administration ─────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Selects jobs: all given fields must match; an array matches any of its elements. A write selects only jobs in a state
 * that allows it. Times are ms since the epoch; `Time` is wider where a caller may also pass a Date.
 */
export interface JobFilter<Time = number> {
  readonly type?: string | readonly string[]
  readonly state?: JobState | readonly JobState[]
  readonly tag?: string
  /** Unique key. */
  readonly key?: string
  readonly concurrencyKey?: string
  /** Only jobs that were postponed because no worker that claimed them could run their machine. */
  readonly unsupported?: true
  /** Only jobs whose last error has this fingerprint, or one of these: see `FailureGroup`. */
  readonly failure?: string | readonly string[]
  /** Only the child jobs of this job: those that its machine has invoked. */
  readonly parent?: string
  /**
   * Only jobs whose machine was in this state, or in a child state of it, at its last checkpoint: a path such as
   * `'paid.shipping'`. A job that has ended keeps its last states. A job retried from the start, and a fork, has none
   * until its first checkpoint.
   */
  readonly machineState?: string
  /** Only jobs whose machine had this tag at its last checkpoint. */
  readonly machineTag?: string
  /** Only jobs whose `meta` has each of these members, at the top level and with exactly this value. */
  readonly meta?: Readonly<Record<string, string | number | boolean>>
  /** Enqueued at this time or later. */
  readonly enqueuedAfter?: Time
  /** Enqueued before this time. */
  readonly enqueuedBefore?: Time
  /** Ended at this time or later. */
  readonly finishedAfter?: Time
  /** Ended before this time. */
  readonly finishedBefore?: Time
}

export interface CancelRequest {
  /** The jobs; those of a filter are cancelled by `bulk`. */
  readonly ids: readonly string[]
  readonly reason: string | null
  /**
   * How long a running handler may take to end, ms; kept with the job, and returned by `extend`. Null = the `grace` of
   * the runtime that runs it.
   */
  readonly graceMs: number | null
}

/**
 * The jobs by what became of them, in the order in which they were cancelled: higher priority first, then older first.
 * `cancelling` lists jobs that were marked by this call or an earlier one.
 */
export interface CancelAnswer {
  readonly cancelled: readonly string[]
  readonly cancelling: readonly string[]
  readonly notFound: readonly string[]
  readonly finished: readonly string[]
  readonly transitions: readonly WrittenTransition[]
  /**
   * If present, nothing of this request was written, because of this error; or all but those that have failed, if a
   * store had to write them one by one: then those that are listed were written.
   */
  readonly error?: ErrorRecord
}

/**
 * Which messages a retry removes from an inbox: how many unread ones, oldest first; or the numbers of messages: of
 * deferred events, and of unread messages as long as no number is left out between them and the first.
 */
export type DropInbox = number | readonly number[]

/** The new input of a job that is retried. Its unique key and its concurrency key do not change. */
export interface EditedInput {
  readonly input: Json | undefined
}

export interface RetryAnswer {
  readonly retried: readonly string[]
  /**
   * Jobs that are neither dead nor cancelled, or whose unique key is held by another job or by one that is
   * `cancelling`.
   */
  readonly refused: readonly string[]
  readonly notFound: readonly string[]
  readonly transitions: readonly WrittenTransition[]
}

/** A change of a queue. */
export interface QueueChange {
  readonly paused: boolean
}

/** What a repair has found. */
export interface RepairAnswer {
  /** Jobs that can be read. */
  readonly jobs: number
  /** Jobs that were set aside, can be read now, and were brought back. */
  readonly restored: readonly string[]
  /** Jobs that are set aside. */
  readonly unreadable: readonly string[]
  /** How many counts were wrong. */
  readonly counts: number
}

export interface DiscardAnswer {
  readonly discarded: readonly string[]
  /** Jobs that have not ended. */
  readonly refused: readonly string[]
  readonly notFound: readonly string[]
}

/** How many ended jobs of a type are kept in each state, and for how long. */
export type RetentionPolicy = Readonly<Record<'done' | 'dead' | 'cancelled', RetentionBounds>>

/** How long ended jobs are kept, type by type. */
export interface RetentionPolicies {
  /** Of these types. */
  readonly types: ReadonlyMap<string, RetentionPolicy>
  /** Of all types that no call has named. */
  readonly others: RetentionPolicy
}

export interface PruneAnswer {
  readonly pruned: number
  /**
   * When the next job is to be removed if no other job ends, ms since the epoch; null if no ended job is kept, or with
   * `more`.
   */
  readonly nextAt: number | null
  /** Was the limit reached? Then the caller calls again. */
  readonly more: boolean
}

export interface SweepAnswer {
  /** Of `rescue`: the running bulk operations without a live lease; missing if there are none. */
  readonly bulk?: readonly string[]
  readonly transitions: readonly WrittenTransition[]
  /** When the next job is due, or the next lease runs out, ms since the epoch; null if none is known. */
  readonly nextAt: number | null
  /** Was the limit reached? Then the caller calls again. */
  readonly more: boolean
}
