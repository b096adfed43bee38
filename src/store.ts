/**
 * The contract of a store: where jobs rest between the hands of workers.
 *
 * Every method is atomic, takes arrays, and moves jobs along arrows of the chart only. Calls take effect in the order in
 * which one process makes them. Times (leases, due times) are judged by the store's own clock. Every write by a worker
 * carries (id, attempt, token) and has no effect when they are not the current ones. What is handed to a store belongs to
 * it, what it hands out belongs to the caller. `storeConformance` in `jobchart/testing` holds an implementation to all of
 * this.
 *
 * What cannot be written of one item of a call (a request, a settlement, a heartbeat) fails that item alone: its answer is `failed`
 * and says why, nothing of it was written, and the others are answered as if it had not been there.
 *
 * A method rejects with JobchartError STORE_UNAVAILABLE when the store cannot be reached: the write may or may not have
 * happened, and may be repeated, because inserts with ids and settles with tokens are idempotent.
 */
import type { Clock } from './core/clock.ts'
import type { JobRecord } from './core/record.ts'
import type { CheckpointEntry } from './core/machine-record.ts'
import type { Settlement } from './core/settlement.ts'
import type {
  DueSchedules,
  DueSchedulesRequest,
  FireSchedule,
  FireScheduleAnswer,
  PauseSchedule,
  PutSchedule,
  PutScheduleAnswer,
  StoredSchedule,
} from './core/schedule-record.ts'
import type { CheckpointAnswer, CheckpointRequest, SendAnswer, SendRequest } from './core/machine-values.ts'
import type { Counts, JobPage, ListQuery, QueueInfo, TransitionPage, WorkerInfo, WorkerRecord } from './core/figures.ts'
import type {
  HeartbeatAnswer,
  CancelAnswer,
  CancelRequest,
  ClaimAnswer,
  ClaimRequest,
  DiscardAnswer,
  EditedInput,
  ExtendRequest,
  InsertAnswer,
  InsertRequest,
  Lease,
  PruneAnswer,
  RetentionPolicy,
  RetryAnswer,
  Selection,
  SettleAnswer,
  Standing,
  SweepAnswer,
} from './core/values.ts'

export type * from './core/figures.ts'
export type * from './core/machine-values.ts'
export type * from './core/schedule-record.ts'
export type * from './core/values.ts'

/**
 * What the methods that move jobs give. A store within the process may answer at once: that saves its callers a turn, and
 * what it did is told before anything that follows from it. All others give a promise.
 */
export type Answer<T> = T | Promise<T>

export interface StoreCapabilities {
  /** Do jobs outlive the process? */
  readonly durable: boolean
  /** May several processes work on it at once? */
  readonly shared: boolean
}

/**
 * A wake-up. Never the truth, only a reason to ask for it: a store may send too many or, across processes, miss some.
 * `ready`: jobs of the type may be claimable, `atMost` of them where that is known · `due`: something waits for a time ·
 * `cancelled`: running jobs were marked · `mail`: running jobs have messages · `room`: an insert refused as full may succeed now · `ended`: jobs came to an end ·
 * `queue`: a queue was paused or resumed · `schedule`: one has a tick at this time.
 */
export type Hint =
  | { readonly kind: 'ready'; readonly type: string; readonly atMost?: number }
  | { readonly kind: 'due'; readonly at: number }
  | { readonly kind: 'cancelled'; readonly ids: readonly string[] }
  | { readonly kind: 'messages'; readonly ids: readonly string[] }
  | { readonly kind: 'room' }
  | { readonly kind: 'ended'; readonly ids?: readonly string[] }
  | { readonly kind: 'queue'; readonly type: string; readonly paused: boolean }
  | { readonly kind: 'schedule'; readonly at: number }

/**
 * Schedules. The store knows no calendar: it keeps what is computed for it, and fires by one conditional write, so that of
 * several processes one makes the job of a tick.
 */
export interface ScheduleStore {
  /**
   * Declares schedules, one by one. What is there with the same terms stays as it is; with other terms it takes those, and the
   * next tick only if spec or time zone differ (or its last tick lies in the future, because the clock was wrong).
   */
  put(requests: readonly PutSchedule[]): Promise<PutScheduleAnswer[]>
  /** By the names, those that are there; without names all, by name. */
  list(names?: readonly string[]): Promise<StoredSchedule[]>
  /** Gives the schedule as it is then; null if it is gone or has another revision by now. */
  pause(request: PauseSchedule): Promise<StoredSchedule | null>
  /** Gives the names of those that were there. Jobs they have made stay. */
  remove(names: readonly string[]): Promise<string[]>
  due(request: DueSchedulesRequest): Promise<DueSchedules>
  /** Makes the jobs of ticks and moves the schedule on, all of it in one write, request by request. Capacity is not asked for. */
  fire(requests: readonly FireSchedule[]): Answer<FireScheduleAnswer[]>
}

export interface Store {
  /** For messages: 'memory', 'sqlite', … */
  readonly name: string
  readonly capabilities: StoreCapabilities
  /** The store's clock, ms since the epoch: exact in process, an estimate elsewhere. */
  now(): number

  /** Makes ready. Calls are counted: as many `close`s end it. A store without a clock of its own takes the first host's. */
  open(host: { readonly clock: Clock }): Promise<void>
  close(): Promise<void>

  /** Stores new jobs, request by request, in order; answers job by job. */
  insert(requests: readonly InsertRequest[]): Answer<InsertAnswer[][]>
  /** Hands out queued jobs: CLAIM, attempt + 1, the token, a lease. Checks pause, caps and rate in the same write. */
  claim(request: ClaimRequest): Answer<ClaimAnswer>
  /**
   * How jobs stand that were claimed and have not started. Asked right before user code runs, so that a cancel or a pause which
   * was answered since the claim, in whichever process, still keeps it from starting. Writes nothing, and answers in the
   * call itself. A store whose answers travel leaves it out: they would be no newer than that of the claim.
   */
  confirm?(leases: readonly Lease[]): readonly Standing[]
  /** Ends attempts. The same token settled again gets the same answer. */
  settle(settlements: readonly Settlement[]): Answer<SettleAnswer[]>
  /** Heartbeat of all runs of a worker, and what they leave on the way. Also the worker's own sign of life. */
  extend(request: ExtendRequest): Promise<HeartbeatAnswer[]>
  /** Keeps where machines stand: each is one conditional write, with the messages that were read. */
  checkpoint(requests: readonly CheckpointRequest[]): Answer<CheckpointAnswer[]>
  /** Puts messages into inboxes, in order. A job that waits is woken by the same write: WAKE. */
  send(requests: readonly SendRequest[]): Answer<SendAnswer[]>
  /** The checkpoints of a job that are still kept, oldest first; none for a job that is not there. */
  checkpoints(id: string): Promise<readonly CheckpointEntry[]>
  /**
   * Cancels, request by request, in order. A job whose last checkpoint takes a cancel is sent a message the first time, and
   * ends as its machine sees fit; its COMPLETE is then preceded by the CANCEL. What ends, or is marked, takes the jobs it has
   * invoked with it, and theirs: those are reported in `transitions` alone.
   */
  cancel(requests: readonly CancelRequest[]): Answer<CancelAnswer[]>
  /**
   * Sends dead and cancelled jobs through again: RETRY, a new generation, at the end of their queue in the order of the
   * ids, or oldest first. Errors, logs and history stay; error, steps, and why it was cancelled are forgotten. A machine goes
   * on at its checkpoint and keeps its steps, or, `fromStart`, forgets both and its messages; of those left in its inbox the
   * first `dropInbox` go. With `edit` the jobs have another input, and begin as with `fromStart`; their keys stay.
   */
  retry(selection: Selection, fromStart?: boolean, dropInbox?: number, edit?: EditedInput): Answer<RetryAnswer>
  /** Removes ended jobs. */
  discard(selection: Selection): Promise<DiscardAnswer>
  /** Moves what is due, earliest first, of equals the older: DUE for scheduled and retrying, WAKE for waiting. */
  promote(limit: number): Answer<SweepAnswer>
  /** Takes back jobs whose lease has run out, likewise: EXPIRE, token and expiry compared in the same write. */
  rescue(limit: number): Answer<SweepAnswer>
  /** Removes ended jobs beyond the policy, oldest first, `limit` at most. */
  prune(policy: RetentionPolicy, limit: number): Promise<PruneAnswer>

  readonly schedules: ScheduleStore

  get(ids: readonly string[]): Promise<(JobRecord | null)[]>
  /** Jobs page by page, in the order of their enqueue or of their end, with the fields asked for. */
  list<Field extends keyof JobRecord = keyof JobRecord>(
    query: ListQuery<Field>,
  ): Promise<JobPage<Pick<JobRecord, Field>>>
  counts(): Promise<Counts>
  /** Every queue the store knows, because a job was enqueued or the queue was paused once; also those that are empty now. */
  queues(): Promise<QueueInfo[]>
  /** A queue as it is, after `change`. A pause is in force for every claim after the answer. */
  queue(type: string, change?: { readonly paused: boolean }): Promise<QueueInfo>
  /** Makes a worker known (and seen), or removes it with null. Forgets those that were lost long ago. */
  worker(id: string, info: WorkerInfo | null): Promise<void>
  workers(): Promise<WorkerRecord[]>
  /** Entries of the transition log after the cursor `from` (null = from the oldest kept), `limit` at most. */
  transitions(from: string | null, limit: number): Promise<TransitionPage>
  /** Calls `listener` with hints until the returned function is called. Listeners do not throw. */
  watch(listener: (hint: Hint) => void): () => void
}
