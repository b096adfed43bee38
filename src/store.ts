/**
 * The contract of a store: it keeps jobs, and hands them to workers by claims.
 *
 * - Every method is atomic, takes arrays, and changes the state of a job only along an arrow of the chart.
 * - Calls of one process take effect in the order in which they are made.
 * - Leases and due times are compared with the store's own clock.
 * - Every write by a worker carries (id, attempt, token); it has no effect unless these are the current ones.
 * - A store owns the values passed to it; the caller owns the values it returns. Neither changes the other's
 *   afterwards.
 * - If one item of a call (a request, a settlement, a heartbeat) cannot be written, that item alone fails: its answer
 *   is `failed` with the error, nothing of it was written, and the other items are written and answered as usual. The
 *   code STORE_UNAVAILABLE says that somebody else holds what an insert or a cancel changes: it may be repeated soon.
 * - A method rejects with JobchartError STORE_UNAVAILABLE if the store cannot be reached. The write may or may not have
 *   happened; the caller may repeat it, because inserts are idempotent by id and settlements by token.
 *
 * It is the entry `jobchart/store`, with the types of all requests and answers. `storeConformance` in
 * `jobchart/store-testing` tests an implementation against this contract.
 */
import type { FailureMerge, FailureMergeChange } from './core/failure-merges.ts'
import './core/node-version.ts'
import type { Clock } from './core/clock.ts'
import type { JobchartError } from './core/errors.ts'
import type { JobRecord } from './core/record.ts'
import type { AdvanceBulk, BulkAnswer, BulkOperation, StartBulk, StopBulk } from './core/bulk-record.ts'
import type { CheckpointEntry } from './core/machine-record.ts'
import type { OpenTransaction, SynchronousTransaction } from './core/open-transaction.ts'
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
import type {
  CheckpointAnswer,
  CheckpointRequest,
  ReindexAnswer,
  ReindexRequest,
  SendAnswer,
  SendRequest,
} from './core/machine-values.ts'
import type {
  ActivityQuery,
  Counts,
  FailureGroup,
  FailureQuery,
  JobPage,
  ListQuery,
  HeatQuery,
  MachineCounts,
  QueueActivity,
  QueueInfo,
  StoredHeat,
  TransitionPage,
  WorkerInfo,
  WorkerRecord,
} from './core/figures.ts'
import type {
  HeartbeatAnswer,
  CancelAnswer,
  CancelRequest,
  ClaimAnswer,
  ClaimRequest,
  DiscardAnswer,
  DropInbox,
  EditedInput,
  ExtendRequest,
  InsertAnswer,
  InsertRequest,
  Lease,
  PruneAnswer,
  QueueChange,
  RepairAnswer,
  RetentionPolicies,
  RetryAnswer,
  SettleAnswer,
  Standing,
  SweepAnswer,
} from './core/values.ts'

import type { FoundTerms, TermQuery } from './core/terms.ts'
import type { CarryOutAnswer, TxFate, TxIntent } from './core/tx-intent.ts'

export { caps } from './core/caps.ts'
export { JobchartError } from './core/errors.ts'
export type { Clock, Timer } from './core/clock.ts'
export type { FailureMerge, FailureMergeChange } from './core/failure-merges.ts'
export type { ErrorRecord } from './core/failure.ts'
export type { JobState } from './core/lifecycle.ts'
export type * from './core/machine-record.ts'
export type { Json } from './core/payload.ts'
export type * from './core/record.ts'
export type * from './core/settlement.ts'
export type * from './core/bulk-record.ts'
export type * from './core/figures.ts'
export type * from './core/open-transaction.ts'
export type * from './core/tx-intent.ts'
export type * from './core/machine-values.ts'
export type * from './core/schedule-record.ts'
export type * from './core/terms.ts'
export type * from './core/values.ts'

/**
 * The answer of a method that writes transitions. A store in the process may return it synchronously: callers save a
 * turn of the event loop, and the events of the call precede all events that follow from it. Other stores return a
 * promise.
 */
export type Answer<T> = T | Promise<T>

export interface StoreCapabilities {
  /** Do jobs survive the end of the process? */
  readonly durable: boolean
  /** May several processes use it at once? */
  readonly shared: boolean
  /**
   * Are calls carried out in their order, and those of one turn of the event loop together, as far as that does not
   * take long? Then a claim that is sent right behind an insert finds its jobs, and a worker with free slots sends it.
   * Default: no.
   */
  readonly groupsCalls?: boolean
  /**
   * Does a call cost so much, whatever its size, that one claim at a time is faster than two that overlap, each for
   * half of the slots? Default: no.
   */
  readonly wholeClaims?: boolean
  /** Can calls be part of a transaction of the caller, `{ tx }`? Default: no. */
  readonly transactions?: boolean
}

/**
 * A reason to read the store again, not a fact: a store may send hints that are not needed and, across processes, omit
 * some.
 * `ready`: jobs of the type may be claimable, `atMost` of them if known · `due`: a job is due at this time ·
 * `cancelled`: these leased jobs were marked as cancelled · `messages`: these leased jobs have new messages · `room`:
 * an insert that was refused as full may succeed now, one of a full queue if `type` is given · `ended`: jobs have
 * ended, those of `ids` if known · `queue`: a queue was paused or resumed · `schedule`: a schedule has a tick at this
 * time · `changed`: these jobs, which `announce` has named, were written · `bulk`: anyone may go on with this bulk
 * operation · `missed`: hints of other processes may have been lost until now, or none arrive, if an `error` says why,
 * which is logged · `rollback`: the store is as it was at
 * an earlier time: the last transition that was seen has the number `seen`, and those after `left` are gone ·
 * `restart`: the server of the store was started again or emptied, and no transition that was seen is gone. After these
 * two, records without a transition may be missing: workers, schedules.
 * `unsafe`: the store may lose jobs from now on, because of how it was set up meanwhile: that is logged
 */
export type Hint =
  | { readonly kind: 'ready'; readonly type: string; readonly atMost?: number }
  | { readonly kind: 'due'; readonly at: number }
  | { readonly kind: 'cancelled'; readonly ids: readonly string[] }
  | { readonly kind: 'messages'; readonly ids: readonly string[] }
  | { readonly kind: 'room'; readonly type?: string }
  | { readonly kind: 'ended'; readonly ids?: readonly string[] }
  | { readonly kind: 'queue'; readonly type: string; readonly paused: boolean }
  | { readonly kind: 'schedule'; readonly at: number }
  | { readonly kind: 'changed'; readonly ids: readonly string[] }
  | { readonly kind: 'bulk'; readonly id: string }
  | { readonly kind: 'missed'; readonly error?: JobchartError }
  | { readonly kind: 'rollback'; readonly seen: number; readonly left: number }
  | { readonly kind: 'restart' }
  | { readonly kind: 'unsafe'; readonly error: JobchartError }

/**
 * Schedules. The runtime computes ticks; the store keeps the next one. A tick is fired by one conditional write, so
 * that of several processes exactly one creates its job.
 */
export interface ScheduleStore {
  /**
   * Declares schedules, request by request. A schedule that exists with the same terms is not changed. One with other
   * terms gets the new terms; it gets the new next tick only if spec or time zone differ, or if its last tick lies more
   * than an hour in the future, which means that it was fired while the clock was wrong.
   */
  put(requests: readonly PutSchedule[]): Promise<PutScheduleAnswer[]>
  /** The schedules of these names that exist; without names all, ordered by name. */
  list(names?: readonly string[]): Promise<StoredSchedule[]>
  /** Pauses or resumes. @returns the schedule after the call; null if it does not exist or has another revision */
  pause(request: PauseSchedule): Promise<StoredSchedule | null>
  /** Removes schedules, not the jobs they have created. @returns the names of those that existed */
  remove(names: readonly string[]): Promise<string[]>
  /** Schedules whose tick is due, earliest first. */
  due(request: DueSchedulesRequest): Promise<DueSchedules>
  /**
   * Creates the jobs of ticks and sets the next tick, in one write, request by request. The capacity limit does not
   * apply.
   */
  fire(requests: readonly FireSchedule[]): Answer<FireScheduleAnswer[]>
}

/**
 * Bulk operations: changes of all jobs that match a filter, in batches. The store keeps the progress of each in the
 * write of the batch. It does nothing by itself: the client that has started an operation calls `advance` until it has
 * ended, and a runtime takes over an operation whose lease has expired. A start without a lease sends the hint `bulk`.
 */
export interface BulkStore {
  /** Keeps a new operation, unless it need not be kept, and does its first batch, in one write. */
  start(request: StartBulk): Answer<BulkAnswer>
  /** Does the next batch of an operation, and extends its lease. */
  advance(request: AdvanceBulk): Answer<BulkAnswer>
  /** Ends an operation that runs. @returns the operation after the call; null if there is none */
  stop(request: StopBulk): Promise<BulkOperation | null>
  /** All operations, or only those that run; those that were requested last come first. */
  list(only?: 'running'): Promise<BulkOperation[]>
}

/** Calls within transactions on the connection of the store, which have taken effect when they return. */
export interface SynchronousTransactions {
  /** As `TransactionStore.write`. @throws JobchartError as that; UNSUPPORTED if the library is asynchronous */
  write(tx: SynchronousTransaction, intents: readonly TxIntent[]): string
  /** Jobs by state, and by type and state, as the transaction sees them. */
  counts(): Omit<Counts, 'cursor'>
  /** Of each write: is it kept, and not carried out yet, as the transaction sees it? */
  areKept(receipts: readonly string[]): readonly boolean[]
}

/**
 * Calls within transactions of users, of a store that shares their database. What a call asks for is kept by the
 * transaction, and carried out right after its commit.
 */
export interface TransactionStore {
  /**
   * Keeps intents in a transaction that is open, together: they are carried out all or none, if it commits. Locks no
   * row that anybody else reads or writes, and never waits.
   * @returns a receipt, for `fates`
   * @throws JobchartError TX_NOT_OPEN, TX_OTHER_DATABASE; INVALID_OPTION if it is read only; STORE_UNAVAILABLE without
   * the rights; LEASE_LOST, see `LeasedIntent`; and what the library of the transaction throws
   */
  write(tx: OpenTransaction, intents: readonly TxIntent[]): Promise<string>
  /** Of a store on the connection of the transaction. */
  readonly synchronous?: SynchronousTransactions
  /**
   * Jobs by state, and by type and state, as the transaction sees them: of a store of which all other calls wait for
   * its end.
   */
  counts?(tx: OpenTransaction): Promise<Omit<Counts, 'cursor'>>
  /** What has become of writes, in the order of their receipts. */
  fates(receipts: readonly string[]): Promise<readonly TxFate[]>
  /**
   * Carries out what committed transactions have left, `limit` calls at most, the first ones first. Exactly once:
   * together with its removal. To be called by every runtime from time to time, and by who learns of a commit.
   */
  carryOut(limit: number): Promise<CarryOutAnswer>
}

export interface Store {
  /** Name for error messages and logs: 'memory', 'sqlite', … */
  readonly name: string
  readonly capabilities: StoreCapabilities
  /** The store's clock, ms since the epoch: exact for a store in the process, otherwise an estimate. */
  now(): number

  /**
   * Opens the store. Calls are counted: the store closes with as many calls of `close`.
   * @param options `clock` is used by a store without a clock of its own: that of the first call. When `signal` aborts,
   * the caller does not need the store any more: opening it may be given up, and must be if it waits for a server.
   */
  open(options: { readonly clock: Clock; readonly signal?: AbortSignal }): Promise<void>
  close(): Promise<void>

  /** Stores new jobs, request by request, in order. @returns for each request one answer per job */
  insert(requests: readonly InsertRequest[]): Answer<InsertAnswer[][]>
  /**
   * Claims queued jobs: CLAIM, attempt + 1, the token, a lease. Pause, concurrency and rate limits are checked in the
   * same write.
   */
  claim(request: ClaimRequest): Answer<ClaimAnswer>
  /**
   * The state of claimed jobs that have not started. Called right before user code runs, so that a job that any process
   * has cancelled, or whose queue was paused, since the claim does not start. Writes nothing, and answers
   * synchronously. A store with a round trip omits the method: its answer would be no newer than that of the claim.
   */
  confirm?(leases: readonly Lease[]): readonly Standing[]
  /** Ends attempts. The same token settled again gets the same answer. */
  settle(settlements: readonly Settlement[]): Answer<SettleAnswer[]>
  /**
   * Extends the leases of all runs of a worker; writes their check-ins, logs and steps. Also counts as the worker's
   * heartbeat.
   */
  extend(request: ExtendRequest): Promise<HeartbeatAnswer[]>
  /**
   * Writes checkpoints of machines, each conditionally on its lease, and removes the messages that the machine has
   * read, except the events that it defers. An event that is dropped, by this or another write, is reported in the log
   * of the job.
   */
  checkpoint(requests: readonly CheckpointRequest[]): Answer<CheckpointAnswer[]>
  /** Puts messages into inboxes, in order. A waiting job is woken by the same write: WAKE. */
  send(requests: readonly SendRequest[]): Answer<SendAnswer[]>
  /**
   * Changes by which states and tags parked jobs are found, and whether a process can run them, each conditionally on
   * its checkpoint: after a deployment, without running them. Writes no transition.
   */
  reindex(requests: readonly ReindexRequest[]): Promise<ReindexAnswer[]>
  /** The checkpoints of a job that are still kept, oldest first; none for a job that does not exist. */
  checkpoints(id: string): Promise<readonly CheckpointEntry[]>
  /**
   * Cancels, request by request, in order. A job whose machine handles a cancel, according to its last checkpoint, gets
   * the first cancel as a message; if its machine then ends by it, the CANCEL precedes the COMPLETE. Every other cancel
   * ends or marks the job, and cancels its child jobs and their descendants: these are reported in `transitions` only.
   */
  cancel(requests: readonly CancelRequest[]): Answer<CancelAnswer[]>
  /**
   * Retries dead and cancelled jobs: RETRY, a new generation, at the end of the queue, in the order of the ids.
   * Kept: errors, logs and history. Removed: the last error, step results, and the reason of the
   * cancel. A machine continues at its checkpoint and keeps its step results.
   * @param fromStart a machine starts at its initial state: checkpoints, step results and messages are removed
   * Events that it removes from an inbox are reported in the log of the job, and their keys are freed.
   * @param dropInbox which messages to remove; default none
   * @param edit a new input for the jobs; implies `fromStart`. Unique keys and concurrency keys stay
   */
  retry(ids: readonly string[], fromStart?: boolean, dropInbox?: DropInbox, edit?: EditedInput): Answer<RetryAnswer>
  /** Removes jobs that have ended. */
  discard(ids: readonly string[]): Promise<DiscardAnswer>
  /**
   * DUE of scheduled and retrying jobs, WAKE of waiting jobs whose time has come: earliest first, older first among
   * equals.
   */
  promote(limit: number): Answer<SweepAnswer>
  /**
   * EXPIRE of jobs whose lease has run out, in the same order; token and expiry are compared in the same write. Also
   * finds the bulk operations whose lease has run out.
   */
  rescue(limit: number): Answer<SweepAnswer>
  /**
   * Sets how long ended jobs are kept: those of the named types, and those of all types that no call has named. The
   * store keeps it, so that a worker that does not know a type prunes it by what a worker that runs it has set. The
   * last call applies.
   */
  retain(policies: RetentionPolicies): Promise<void>
  /**
   * Removes ended jobs that are no longer kept, `limit` at most: of each type and state those that ended first. Which
   * type comes first is left to the store. Before the first `retain` nothing is removed.
   */
  prune(limit: number): Promise<PruneAnswer>

  readonly schedules: ScheduleStore
  readonly bulk: BulkStore
  /** Of a store that shares the database of its users: then `capabilities.transactions` is true. */
  readonly transactions?: TransactionStore

  /** Records by id, in the order of the ids; null for a job that does not exist. */
  get(ids: readonly string[]): Promise<(JobRecord | null)[]>
  /**
   * A page of jobs, ordered by enqueue or by end, with the requested fields. Its `cursor` is one of the log that was
   * the last when the store began to read, or before: what the page lacks is after it.
   */
  list<Field extends keyof JobRecord = keyof JobRecord>(
    query: ListQuery<Field>,
  ): Promise<JobPage<Pick<JobRecord, Field>>>
  /** Jobs per state, and per type and state, with the cursor of the last transition that they have: read together. */
  counts(): Promise<Counts>
  /**
   * Jobs of a type that have not ended, per state and per tag of their machines: those that `list` finds by
   * `machineState` and by `machineTag`. States and tags without a job are left out. Every write that changes them
   * counts them, so that nothing is scanned.
   */
  machineCounts(type: string): Promise<MachineCounts>
  /**
   * What the machines of a type have added to the heat of their chart (`NewCheckpoint.heat`): names with their numbers.
   * By the store's clock, and counted in the write of the checkpoint.
   */
  heat(query: HeatQuery): Promise<StoredHeat>
  /** Every queue that a job was enqueued to or that was paused, including those that are empty now. */
  queues(): Promise<QueueInfo[]>
  /**
   * Changes a queue, if `change` is given.
   * @returns the queue after the change; a pause applies to every claim after the answer
   */
  queue(type: string, change?: QueueChange): Promise<QueueInfo>
  /**
   * Since when the first queued job of each type is queued: the first by priority, then by place, whatever its
   * concurrency key.
   * @returns for each type the time of the transition that has queued the job, ms since the epoch; null if none is
   * queued
   */
  queuedSince(types: readonly string[]): Promise<(number | null)[]>
  /**
   * What happened in queues, per minute or hour of store time. Every write counts its own transitions, so that nothing
   * is scanned. The answer has an entry for each type asked for, or for every queue, in no particular order; of the
   * total, one.
   */
  activity(query: ActivityQuery): Promise<QueueActivity[]>
  /**
   * Groups of failed attempts, the one that has occurred last first. Of each type the `caps.failureGroups` that have
   * occurred last are kept. A FAIL without an error is in no group.
   */
  failures(query: FailureQuery): Promise<FailureGroup[]>
  /**
   * Changes which groups of failures are told as one, if `change` is given: by `mergesAfter`.
   * @returns those of all types after the change
   */
  failureMerges(change?: FailureMergeChange): Promise<readonly FailureMerge[]>
  /**
   * Registers a worker, which counts as a heartbeat, or removes it (null). Removes workers that were lost ten minutes
   * ago.
   */
  worker(id: string, info: WorkerInfo | null): Promise<void>
  /** All registered workers. */
  workers(): Promise<WorkerRecord[]>
  /** Entries of the transition log after the cursor `from` (null = from the oldest entry kept), `limit` at most. */
  transitions(from: string | null, limit: number): Promise<TransitionPage>
  /**
   * Terms that begin with a text: ids, keys, concurrency keys, tags and members of meta, each with the number of its
   * jobs. Of these only the kinds that the store has an index of; a store without any omits the method. Who searches
   * looks for the other kinds among the jobs that were enqueued last.
   */
  terms?(query: TermQuery): Promise<FoundTerms>
  /**
   * The ids of jobs whose stored data cannot be read, because something else has changed it. Whoever meets one sets it
   * aside: it is in no list and no count, and holds up no other job; `discard` by id removes it. A store in which that
   * cannot happen omits the method.
   */
  unreadable?(): Promise<readonly string[]>
  /**
   * Rebuilds what follows from the stored jobs (counts, indexes, the number of the last transition), and brings jobs
   * back that were set aside and can be read now. Other calls may wait meanwhile, or be refused.
   */
  repair?(): Promise<RepairAnswer>
  /**
   * From now on, for `forMs`, each write of one of these jobs sends the hint `changed` to every process: check-ins and
   * logs, too. A store that cannot tell other processes at once omits the method; who shows a job of it reads the job
   * again and again.
   */
  announce?(ids: readonly string[], forMs: number): Promise<void>
  /** Calls `listener` with each hint until the returned function is called. A listener must not throw. */
  watch(listener: (hint: Hint) => void): () => void
  /**
   * For a minute at least, hints `ended` of other processes arrive, too; of ends before them, one without `ids` or a
   * `missed` tells. To be called again and again by who waits for the end of a job. A store that sends them to every
   * process omits the method.
   */
  watchEnds?(): void
}
