/** What goes into a store and what comes out of it: the values of the contract in `store.ts`. */
import type { BackoffPolicy } from './backoff.ts'
import type { ErrorRecord } from './failure.ts'
import type { CheckIn, JobMeta, JobRecord, LogLine, Transition } from './record.ts'
import type { JobState } from './lifecycle.ts'
import type { Checkpoint, InboxEntry, Parent } from './machine-record.ts'
import type { Json } from './payload.ts'
import type { RetentionBounds } from './retention.ts'

// ── insert ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What an enqueue fixes for its job, whatever the definition of the worker says that runs it. */
export interface JobPins {
  readonly maxAttempts?: number
  readonly backoff?: BackoffPolicy
  /** Of each attempt. */
  readonly timeoutMs?: number
}

export interface NewJob {
  readonly id: string
  readonly type: string
  readonly input: Json | undefined
  readonly priority: number
  /** Until a claim says otherwise; a claim of a job that has pinned them does not. */
  readonly maxAttempts: number
  /** Left out where nothing is fixed. */
  readonly pins?: JobPins
  readonly tags: readonly string[]
  /** Data of the enqueuer, kept with the job; left out where there is none. */
  readonly meta?: JobMeta
  readonly concurrencyKey: string | null
  /** What a claim from its key by shares weighs: see `Demand.keyShares`. 1…100000; left out, 1. */
  readonly keyWeight?: number
  /** Absolute due time, ms since the epoch; a time that has passed means now. */
  readonly runAt: number | null
  /** Due this many ms after the store's now; 0 = at once. */
  readonly delayMs: number
  /** Unique within the type, from insert until the write that ends the job. */
  readonly key: string | null
  /**
   * When the key is free for others: left out, when the job ends; `start`, when it is claimed. A retry of the ended job takes
   * the key again.
   */
  readonly until?: 'start'
  /**
   * If the key is taken: `keep` answers with the holder; `replace` also puts the new input (and tags and meta) on it if it is
   * in the backlog, and, if the new job is due later than now and the holder is `scheduled`, its due time; `supersede` cancels the
   * holder (running → cancelling) and inserts the new one, which takes the key; `follow` does as `replace` to a holder in the
   * backlog, and otherwise inserts the new one, which takes the key. A holder that is being cancelled keeps no job away: in all
   * cases the new one is inserted and takes the key.
   *
   * At most one job of a key is started and has not ended. A job that takes the key while one that has given it up is live is
   * `scheduled` without a due time, and waits for the end of that one: the write that ends it makes this one `queued` (DUE), or
   * gives it its own due time if that has not come.
   */
  readonly onConflict: 'keep' | 'replace' | 'supersede' | 'follow'
  /** The job that invokes it: its end is put into that job's inbox by the very write that ends it. */
  readonly parent?: Parent
  /** The version of its machine that it is enqueued with; left out of a plain job. */
  readonly version?: string
  /** Where its machine starts from: that of another job. */
  readonly checkpoint?: Json
}

export interface InsertRequest {
  /** All of them or none. */
  readonly jobs: readonly NewJob[]
  /** Jobs in the backlog at most, after this insert, over all types; null = no bound. */
  readonly capacity: number | null
}

/**
 * `inserted` · `duplicate`: the id, or else the key, is there; `id` is the holder's · `replaced`: the key is, and its
 * holder has the new input, no steps, and its old place · `full`: nothing of the request was stored · `id-taken`: nothing
 * either, because `id` belongs to a job of another type · `failed`: nothing either, because of `error`. The last three are
 * answered for every job of the request.
 */
export interface InsertAnswer {
  readonly outcome: 'inserted' | 'duplicate' | 'replaced' | 'full' | 'id-taken' | 'failed'
  readonly id: string
  readonly state: JobState
  /** seq and time of the ENQUEUE, 0 unless inserted. */
  readonly seq: number
  readonly at: number
  readonly dueAt: number | null
  /** Of `duplicate`: has the job that is there the same input? The order of members does not matter. */
  readonly sameInput?: boolean
  /** The transition of the holder this one superseded, for the reason `superseded`. */
  readonly superseded?: WrittenTransition
  /** Of `failed`. */
  readonly error?: ErrorRecord
}

// ── claim ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The semaphores of a type, counted over all leases: one counts until it is settled or taken back. */
export interface TypeLimits {
  /** Running at once; null = no cap. */
  readonly concurrency: number | null
  /** Running at once per concurrencyKey; null = no cap. Jobs without a key are not capped. */
  readonly perKey: number | null
  /** Claims per window of `perMs`, the window sliding; null = no limit. */
  readonly rate: RateLimit | null
  /** The same of each concurrencyKey. Left out: no limit. Jobs without a key are not limited. */
  readonly keyRate?: RateLimit
}

/** Claims at most in any window of this length. */
export interface RateLimit {
  readonly limit: number
  readonly perMs: number
}

export interface Demand {
  readonly type: string
  /** Jobs at most, ≥ 1. */
  readonly max: number
  readonly limits: TypeLimits
  /** Attempts that a job which is claimed may spend from now on, unless it has pinned its own. Left out: as it stands. */
  readonly maxAttempts?: number
  /**
   * Do its concurrency keys share the claims by the weights of their jobs, as `core/shares.ts` says? Jobs without a key share
   * as those of one key. Left out: the jobs go by priority and place, whatever their keys.
   */
  readonly keyShares?: true
}

export interface ClaimRequest {
  readonly worker: string
  readonly leaseMs: number
  /** Fresh and random for each claim; (id, attempt, token) names one attempt for ever. */
  readonly token: string
  /** At most one entry per type. */
  readonly demand: readonly Demand[]
}

/** A job in the hands of a worker. `state` is `running`, `attempt` counts this attempt. */
export interface ClaimedJob {
  readonly id: string
  readonly type: string
  /** A copy of its own: the handler may change it. */
  readonly input: Json | undefined
  readonly priority: number
  readonly attempt: number
  readonly maxAttempts: number
  readonly generation: number
  readonly token: string
  readonly startedAt: number
  /** seq of the CLAIM. */
  readonly seq: number
  /** Results of finished `ctx.step`s of this generation, by name. */
  readonly steps: Readonly<Record<string, Json>> | null
  /** Where its machine stands, and the messages it has not read: null and none for plain jobs. */
  readonly checkpoint: Checkpoint | null
  readonly inbox: readonly InboxEntry[]
  /** The version of its machine that it was enqueued with; null of plain jobs. */
  readonly version: string | null
  /** What its enqueue has fixed; null if nothing. */
  readonly pins: JobPins | null
  /** The data of its enqueuer; null if there is none. */
  readonly meta: JobMeta | null
  /** The whole record, as of now at the earliest and as of the claim at the latest. */
  record(): JobRecord
}

/**
 * Why a type gave fewer than were asked, the first that holds: `paused` · `empty` · `capped` by its semaphore or its
 * keys' · `limited` by its rate, or its keys' rates, until `until`. A hint follows (see `watch`) when one of the first three
 * may have ended, also for those of its keys that are at their cap.
 */
export interface Shortfall {
  readonly type: string
  readonly reason: 'paused' | 'empty' | 'capped' | 'limited'
  readonly until?: number
}

export interface ClaimAnswer {
  /**
   * Per type by (priority descending, place ascending), by shares within each key. A job takes a new place, the last, whenever ENQUEUE, DUE, WAKE or
   * RETRY makes it queued; RELEASE and EXPIRE give it its old place back.
   */
  readonly jobs: readonly ClaimedJob[]
  readonly shortfalls: readonly Shortfall[]
}

/** What names an attempt for ever. */
export interface Lease {
  readonly id: string
  readonly attempt: number
  readonly token: string
}

/**
 * How a job stands that was claimed and has not started. `held`: it may start · `cancelling`: it is to stop · `paused`: its
 * queue was paused since · `lost`: another attempt holds it, or none does.
 */
export interface Standing {
  readonly outcome: 'held' | 'cancelling' | 'paused' | 'lost'
  readonly reason?: string
}

// ── while it runs, and its end ──────────────────────────────────────────────────────────────────────────────────────

/** A transition that a call has written. */
export interface WrittenTransition extends Transition {
  /** Of an EXPIRE: LEASE_LOST, as it was added to the job's errors. */
  readonly error?: ErrorRecord
}

export interface SettleAnswer {
  /**
   * `lost`: another attempt holds the job, or none does; nothing was written, and the other fields say nothing · `failed`:
   * likewise nothing, because of `error`.
   */
  readonly outcome: 'settled' | 'lost' | 'failed'
  readonly seq: number
  readonly at: number
  readonly from: JobState
  readonly to: JobState
  /** Attempts spent after the transition. */
  readonly attempt: number
  readonly dueAt: number | null
  /** The WAKE in the same write: of a job that parked with messages in its inbox, or of the parent of one that ended. */
  readonly woken?: WrittenTransition
  /** The DUE in the same write: of the job that waited, under the same unique key, for this one to end. */
  readonly successor?: WrittenTransition
  /** Of `failed`. */
  readonly error?: ErrorRecord
}

export interface HeartbeatPayload extends Lease {
  readonly checkin?: CheckIn
  readonly logs?: readonly LogLine[]
  /** Results of steps to keep with the job. */
  readonly steps?: Readonly<Record<string, Json>>
  /** Asks for the messages after this one. */
  readonly lastMessageNumber?: number
}

export interface HeartbeatAnswer {
  /**
   * `held`: the lease is longer now · `cancelling`: likewise, and the job is to stop · `lost`: nothing was written ·
   * `failed`: likewise nothing, because of `error`.
   */
  readonly outcome: 'held' | 'cancelling' | 'lost' | 'failed'
  readonly reason?: string
  readonly graceMs?: number
  /** What was asked for by `messages`. */
  readonly inbox?: readonly InboxEntry[]
  /** Of `failed`. */
  readonly error?: ErrorRecord
}

export interface ExtendRequest {
  readonly worker: string
  /** The new lease, from the store's now. */
  readonly leaseMs: number
  readonly heartbeats: readonly HeartbeatPayload[]
}

// ── administration ──────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Which jobs; all given fields must match, arrays mean any of. A write finds only those it can do something to.
 * Times are ms since the epoch; `Time` is wider where a caller may also give a Date.
 */
export interface JobFilter<Time = number> {
  readonly type?: string | readonly string[]
  readonly state?: JobState | readonly JobState[]
  readonly tag?: string
  /** Unique key. */
  readonly key?: string
  readonly concurrencyKey?: string
  /** Only those that were put off because no worker which claimed them could run their machine. */
  readonly unsupported?: true
  /** Only the children of this job: those that its machine has invoked. */
  readonly parent?: string
  /**
   * Only those whose machine stood in this state, or below it, at its last checkpoint: a path such as `'paid.shipping'`. A job
   * that has ended keeps its last ones; a retry from the start, and a fork until its first checkpoint, has none.
   */
  readonly machineState?: string
  /** Only those whose machine had this tag at its last checkpoint. */
  readonly machineTag?: string
  /** Only those whose `meta` has each of these members, at its top level and with exactly this value. */
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

/**
 * Jobs by their ids, or by a filter, the oldest first. By filter one call acts on `caps.selection` jobs at most, and looks at a
 * bounded number of them: the answer has a `next` while there may be more, and a call that has it as `after` goes on. Jobs that
 * were enqueued after the first of these calls are left alone.
 */
export type Selection =
  { readonly ids: readonly string[] } | { readonly filter: JobFilter; readonly after?: string; readonly limit?: number }

export interface CancelRequest {
  readonly selection: Selection
  readonly reason: string | null
  /** How long a running handler may take to end; kept with the job and told by `extend`. */
  readonly graceMs: number
}

/**
 * What became of each, in the order they were applied: higher priority first, then older first. `cancelling` holds jobs
 * whose mark was set now or before.
 */
export interface CancelAnswer {
  readonly cancelled: readonly string[]
  readonly cancelling: readonly string[]
  readonly notFound: readonly string[]
  readonly finished: readonly string[]
  readonly transitions: readonly WrittenTransition[]
  /** By filter: there may be more, after this. */
  readonly next?: string
  /** Why nothing of this request was written, if so. */
  readonly error?: ErrorRecord
}

/** The input that a job which is retried has from now on. Its unique key and its concurrency key stay as they are. */
export interface EditedInput {
  readonly input: Json | undefined
}

export interface RetryAnswer {
  readonly retried: readonly string[]
  /** There, but neither dead nor cancelled, or its unique key has another holder now, or a job that is being cancelled. */
  readonly refused: readonly string[]
  readonly notFound: readonly string[]
  readonly transitions: readonly WrittenTransition[]
  /** By filter: there may be more, after this. */
  readonly next?: string
}

export interface DiscardAnswer {
  readonly discarded: readonly string[]
  /** There, but not ended. */
  readonly refused: readonly string[]
  readonly notFound: readonly string[]
  /** By filter: there may be more, after this. */
  readonly next?: string
}

/** How many ended jobs of each state are kept, and how long. */
export type RetentionPolicy = Readonly<Record<'done' | 'dead' | 'cancelled', RetentionBounds>>

export interface PruneAnswer {
  readonly pruned: number
  /** The next time at which a call will find something if no other job ends; null if nothing is kept, or with `more`. */
  readonly nextAt: number | null
  /** Was the limit reached? Then call again. */
  readonly more: boolean
}

export interface SweepAnswer {
  readonly transitions: readonly WrittenTransition[]
  /** The next time at which a call will find something, if that is known now. */
  readonly nextAt: number | null
  /** Was the bite full? Then call again. */
  readonly more: boolean
}
