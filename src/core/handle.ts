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
import type { JobEvent, JobRecord } from './record.ts'
import type { IterateOptions, Stream } from './stream.ts'

/** Gives up waiting after `timeout`, or when `signal` aborts; the job goes on. */
export type ResultOptions = WaitOptions

/** What is waited for: a state (`'paid.shipping'`), a tag, or whatever a function says. */
export type WaitCondition<Machine extends MachineTypes = MachineTypes> =
  StatePath<Machine['value']> | Machine['tag'] | ((view: MachineView<Machine>) => boolean)

export type EnqueueOutcome = 'inserted' | 'kept' | 'replaced' | 'following'

export interface JobHandle<Output = unknown, Machine extends MachineTypes = MachineTypes> {
  readonly id: string
  readonly type: string
  /**
   * What the enqueue that gave this handle has done: `inserted`: the job is new · `following`: likewise, and it runs after the
   * end of the job that has started under its unique key · `kept`: it was there, by its id or its unique key, and stays as it
   * was · `replaced`: it was there, and has the input of the call now.
   */
  readonly outcome: EnqueueOutcome
  /** Was it there already: the same id, or the same unique key? The outcome is `kept` or `replaced` then. */
  readonly deduplicated: boolean
  /**
   * Has the job the input of the call that gave this handle? False if it was there already, with another input: then that of
   * the call was not stored.
   */
  readonly sameInput: boolean
  /**
   * Waits for the job's end, in whichever process it comes.
   * @throws JobDeadError (its `cause` is the last error), JobCancelledError, TimeoutError, AbortError; NOT_FOUND if the
   *   record is gone (pruned or discarded); STOPPED if the runtime stops before the job has ended; INVALID_OPTION
   */
  result(options?: ResultOptions): Promise<Output>

  /** The job as it is now. @throws JobchartError NOT_FOUND */
  record(): Promise<JobRecord>

  /** Its state now, then each change; completes at its end. */
  readonly state$: Stream<JobState>

  /** The latest event so far, then each one that happens in this process; completes at its end. */
  readonly events$: Stream<JobEvent>

  /**
   * The same events for `for await`, through a bounded buffer.
   * @example for await (const event of job.events({ overflow: 'drop-oldest' })) console.log(event.event)
   */
  events(options?: IterateOptions): AsyncIterableIterator<JobEvent, undefined>

  cancel(options?: CancelOptions): Promise<CancelReport>

  /**
   * Sends it through again if it is dead or cancelled; a machine goes on at its last checkpoint, or from its start.
   * @throws JobchartError NOT_ACCEPTED, NOT_FOUND
   */
  retry(options?: RetryFrom): Promise<void>

  // ── machines ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Sends an event to its machine: kept with the job, read once and in order, also if it is parked or its process has died.
   * @param options `key` names the event, so that it may be sent again; `accept: 'always'` keeps it whatever its state
   * @throws JobchartError NOT_ACCEPTED if its state does not take the event, or it has ended; NOT_FOUND, CAPACITY (its inbox is
   *   full), INVALID_INPUT, UNKNOWN_TYPE, STORE_UNAVAILABLE
   */
  send(event: Machine['event'], options?: SendOptions): Promise<void>

  /** Would its machine take this event now, after all that was sent to it before? @throws as `send` */
  can(event: Machine['event']): Promise<boolean>

  /** Where its machine stands: at its last checkpoint, or at its start. @throws JobchartError NOT_FOUND, NOT_ACCEPTED, UNSUPPORTED */
  snapshot(): Promise<MachineView<Machine>>

  /** Every checkpoint that is kept (the last 50), oldest first: what led there, and when. @throws as `snapshot` */
  checkpoints(): Promise<readonly CheckpointEntry[]>

  /** Where it stood after the entry `seq` of the transition log. @throws as `snapshot`; NOT_FOUND if that is too long ago */
  snapshotAt(seq: number): Promise<MachineView<Machine>>

  /** A new job that goes on from where this one stood after `seq`. @throws as `snapshotAt` and `enqueue` */
  fork(seq: number, options?: EnqueueOptions): Promise<JobHandle<Output, Machine>>

  /**
   * Waits until its machine rests in a state, has a tag, or is as a function says.
   * @param wanted `'paid.shipping'`, a tag, or `(view) => view.matches('paid') && …`
   * @returns where it stood then
   * @throws TimeoutError, AbortError; JobDeadError, JobCancelledError or NOT_ACCEPTED (done) if it ends elsewhere;
   *   INVALID_OPTION for a name that is no state and no tag; as `snapshot`
   * @example await job.waitFor('approval', { timeout: '10s' })
   */
  waitFor(wanted: WaitCondition<Machine>, options?: ResultOptions): Promise<MachineView<Machine>>

  /**
   * A live XState actor of the job's chart: at the state this handle has seen last (by its enqueue, `record` or `result`),
   * from where it follows the job to its end, or until it is stopped. For inspection and pictures; sending to it moves nothing
   * in the store.
   */
  actor(): JobActor
}
