/** The handle of a job: wait for it, watch it, cancel it. */
import type {
  CancelOptions,
  CancelReport,
  EnqueueOptions,
  RetryFrom,
  SendOptions,
  WaitOptions,
} from './call-options.ts'
import type { JobActor, JobState } from './lifecycle.ts'
import type { CheckpointEntry, MachineTypes, MachineView, StatePath } from './machine-record.ts'
import type { CheckIn, JobEvent, JobRecord } from './record.ts'
import type { IterateOptions, Stream } from './stream.ts'

/** Limits of a wait: it ends after `timeout`, or when `signal` aborts. The job is not affected. */
export type ResultOptions = WaitOptions

/** Condition of `waitFor`: a state (`'paid.shipping'`), a tag, or a predicate. */
export type WaitCondition<Machine extends MachineTypes = MachineTypes> =
  StatePath<Machine['value']> | Machine['tag'] | ((view: MachineView<Machine>) => boolean)

export type EnqueueOutcome = 'inserted' | 'kept' | 'replaced' | 'following'

/** A job as it is stored: the same in every process. */
export interface JobSnapshot<Machine extends MachineTypes = MachineTypes> {
  readonly id: string
  readonly type: string
  readonly state: JobState
  /**
   * The state and the context of its machine at the last checkpoint; undefined for a plain job, and before the first
   * checkpoint.
   */
  readonly value: Machine['value'] | undefined
  readonly context: Machine['context'] | undefined
  /** The tags of its machine at the last checkpoint. */
  readonly tags: readonly Machine['tag'][]
  /** The last check-in that was stored: a worker writes those that follow closely together, four times a second. */
  readonly checkin: CheckIn | null
}

export interface JobHandle<Output = unknown, Machine extends MachineTypes = MachineTypes> {
  readonly id: string
  readonly type: string
  /**
   * Result of the enqueue that returned this handle:
   * - `inserted`: the job is new.
   * - `following`: the job is new, and runs after the end of the running job with the same unique key.
   * - `kept`: a job with the same id or unique key existed, and was not changed.
   * - `replaced`: a job with the same unique key existed, and got the input of the call.
   */
  readonly outcome: EnqueueOutcome
  /** Did a job with the same id or unique key exist? The outcome is then `kept` or `replaced`. */
  readonly deduplicated: boolean
  /**
   * Has the job the input of the call that returned this handle? False if the existing job has another input: the input
   * of the call was then not stored.
   */
  readonly sameInput: boolean
  /**
   * Resolves when the job is stored: at once, unless it was enqueued with `{ tx }`, or in the transaction that its
   * client joins. Then it resolves after the commit. Until then `id` is the id that a new job gets, and `outcome` is
   * `inserted`; afterwards both, and `sameInput`, are those of the job that is stored: `kept` for an id of yours only
   * if the job that has it has another input. All other calls of the handle wait for
   * it, too, except `send` and `cancel` with `{ tx }`: they are part of that transaction.
   * @throws JobchartError TX_ROLLED_BACK if the transaction, or a savepoint around the call, was rolled back; ID_TAKEN;
   *   NOT_FOUND if the job was removed meanwhile, or refused; TIMEOUT, ABORTED while the transaction is open; STOPPED
   * @example
   * const job = await db.transaction((tx) => client.enqueue(sendEmail, { to }, { tx }))
   * await job.stored()
   */
  stored(options?: WaitOptions): Promise<void>

  /**
   * Waits for the end of the job, in any process.
   * @throws JobDeadError (its `cause` is the last error), JobCancelledError, TimeoutError, AbortError; NOT_FOUND if the
   *   record is gone (pruned or discarded); STOPPED if the runtime stops before the job has ended; INVALID_OPTION
   */
  result(options?: ResultOptions): Promise<Output>

  /** Reads the current record. @throws JobchartError NOT_FOUND */
  record(): Promise<JobRecord>

  /**
   * The job as it is stored, then each change, whichever process makes it: the state, the machine's value, context and
   * tags, and the last check-in. Equal snapshots are given once; of changes in quick succession, the last one. `for
   * await` gives a slow reader the newest. Completes at the end of the job; fails with NOT_FOUND if there is no such
   * job. On stores that several processes use, watched jobs are read together, every 25 ms, and less often if a read
   * takes longer than 2.5 ms.
   * @example for await (const { state, checkin } of job.snapshot$) response.write(`data: ${JSON.stringify({ state,
   * checkin })}\n\n`)
   */
  readonly snapshot$: Stream<JobSnapshot<Machine>>

  /** The current state, then each change; completes at the end of the job. */
  readonly state$: Stream<JobState>

  /**
   * The latest event, then each later one, in order; completes at the end of the job. While another process runs the
   * job, its transitions and its check-ins are given, of check-ins in quick succession the last one; its log lines,
   * emitted events and checkpoints are not.
   */
  readonly events$: Stream<JobEvent>

  /**
   * The same events for `for await`, through a bounded buffer.
   * @example for await (const event of job.events({ overflow: 'drop-oldest' })) console.log(event.event)
   */
  events(options?: IterateOptions): AsyncIterableIterator<JobEvent, undefined>

  cancel(options?: CancelOptions): Promise<CancelReport>

  /**
   * Retries the job if it is dead or cancelled. A machine continues at its last checkpoint, or from its initial state.
   * @throws JobchartError NOT_ACCEPTED, NOT_FOUND
   */
  retry(options?: RetryFrom): Promise<void>

  // ── machines ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Sends an event to its machine. The event is stored with the job and read once, in order, also if the job is parked
   * or its process has crashed.
   * @param options `key` deduplicates repeated calls; `accept: 'always'` stores the event whatever the state of the
   * machine
   * @throws JobchartError NOT_ACCEPTED if the machine does not take the event in its state, or the job has ended;
   * NOT_FOUND, CAPACITY (its inbox is
   *   full), INVALID_INPUT, UNKNOWN_TYPE, STORE_UNAVAILABLE
   */
  send(event: Machine['event'], options?: SendOptions): Promise<void>

  /** Would its machine take this event after all events sent before it? @throws as `send` */
  can(event: Machine['event']): Promise<boolean>

  /**
   * The snapshot of its machine: at its last checkpoint, or at its start.
   * @throws JobchartError NOT_FOUND, NOT_ACCEPTED, UNSUPPORTED
   */
  snapshot(): Promise<MachineView<Machine>>

  /**
   * The kept checkpoints (the last 50), oldest first, each with its time and the event that led to it.
   * @throws as
   * `snapshot`
   */
  checkpoints(): Promise<readonly CheckpointEntry[]>

  /**
   * Its snapshot after the entry `seq` of the transition log.
   * @throws as `snapshot`; NOT_FOUND if that checkpoint is no longer kept
   */
  snapshotAt(seq: number): Promise<MachineView<Machine>>

  /**
   * Enqueues a new job that continues from the checkpoint of this one at `seq`.
   * @throws as `snapshotAt` and `enqueue`
   */
  fork(seq: number, options?: EnqueueOptions): Promise<JobHandle<Output, Machine>>

  /**
   * Waits until its machine is in a state, has a tag, or meets a predicate. Intermediate states of a transition are not
   * seen.
   * @param wanted `'paid.shipping'`, a tag, or `(view) => view.matches('paid') && …`
   * @returns the snapshot that met the condition
   * @throws TimeoutError, AbortError; JobDeadError, JobCancelledError or NOT_ACCEPTED (done) if the job ends without
   * meeting it;
   *   INVALID_OPTION for a name that is no state and no tag; as `snapshot`
   * @example await job.waitFor('approval', { timeout: '10s' })
   */
  waitFor(wanted: WaitCondition<Machine>, options?: ResultOptions): Promise<MachineView<Machine>>

  /**
   * A live XState actor of the job's chart. It starts in the last state that this handle has read (by its enqueue,
   * `record` or `result`), and follows the job until the job ends or the actor is stopped. For inspection and pictures:
   * events sent to it do not change the job.
   */
  actor(): JobActor
}
