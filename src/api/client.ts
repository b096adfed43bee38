/** A client: enqueues jobs, awaits results, lists and administers. It runs no jobs. */
import type { MergedFailureGroup } from '../core/failure-merges.ts'
import type { Activity, ActivityOptions } from '../core/activity-options.ts'
import type { BulkOperations } from '../core/bulk-options.ts'
import type { JobDefinition } from '../core/definition.ts'
import type { JsonMachine, MachineEvent, MachineTypes } from '../core/machine-record.ts'
import type { ListOptions } from '../core/filter.ts'
import type { FindOptions, FindResult } from '../core/find.ts'
import type { Stream } from '../core/stream.ts'
import type { JobHandle } from '../core/handle.ts'
import type { JobEvent, JobRecord } from '../core/record.ts'
import type {
  CancelOptions,
  CancelReport,
  EnqueueArguments,
  EnqueueOptions,
  JobSelector,
  DiscardReport,
  Pressure,
  RetryFrom,
  RetryReport,
  SendOptions,
  WorkersOptions,
} from '../core/call-options.ts'
import type {
  ScheduleArguments,
  ScheduleCallOptions,
  ScheduleHandle,
  ScheduleRecord,
} from '../core/schedule-options.ts'
import type { ScheduleSpec } from '../core/tick-times.ts'
import type { QueueHandle, QueueStats } from './queue-handle.ts'
import type { Within } from './within.ts'
import type {
  Counts,
  FailureQuery,
  JobPage,
  JobSummary,
  Store,
  SynchronousTransaction,
  TransitionEntry,
  WorkerRecord,
} from '../store.ts'

/** Made by `createClient`, which can also be closed, and by `createRuntime`, which runs jobs and can be stopped. */
export interface Client {
  /** The store of the jobs. */
  readonly store: Store

  /** The types it knows, by their names. */
  readonly jobs: ReadonlyMap<string, JobDefinition>

  // ── enqueue ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Stores a job; it is stored when this resolves. With a `capacity` the call waits for room, in the order of the
   * calls.
   * @param job one of the client's `jobs`
   * @param args the input, and options
   * @throws JobchartError UNKNOWN_TYPE, INVALID_INPUT, INVALID_OPTION, ID_TAKEN, STOPPED, STORE_UNAVAILABLE; TIMEOUT
   * and
   *   ABORTED while it waits for room
   * @example const job = await runtime.enqueue(sendEmail, { to: 'ada@example.com' }, { delay: '5m' })
   */
  enqueue<Input, Output, Machine extends MachineTypes>(
    job: JobDefinition<Input, Output, Machine>,
    ...args: EnqueueArguments<NoInfer<Input>>
  ): Promise<JobHandle<Output, Machine>>

  /**
   * Stores a job if there is room now. Otherwise it stores nothing and returns null.
   * @throws as `enqueue`, but never waits
   */
  tryEnqueue<Input, Output, Machine extends MachineTypes>(
    job: JobDefinition<Input, Output, Machine>,
    ...args: EnqueueArguments<NoInfer<Input>>
  ): Promise<JobHandle<Output, Machine> | null>

  /**
   * Stores many jobs of a type in one round trip: all or none.
   * @param inputs 10,000 at most, and about 16 MB of JSON together
   * @param options for each of the jobs, without `id`
   * @throws as `enqueue`; CAPACITY if they never fit
   */
  enqueueMany<Input, Output, Machine extends MachineTypes>(
    job: JobDefinition<Input, Output, Machine>,
    inputs: readonly NoInfer<Input>[],
    options?: Omit<EnqueueOptions, 'id'>,
  ): Promise<JobHandle<Output, Machine>[]>

  /**
   * Enqueues a job and waits for its result. `signal` and `timeout` limit each of the two waits; they do not cancel the
   * job.
   * @throws as `enqueue`, and as `JobHandle.result`
   */
  run<Input, Output>(job: JobDefinition<Input, Output>, ...args: EnqueueArguments<NoInfer<Input>>): Promise<Output>

  /**
   * Stores a job by the name of its type, whose definition this process need not know. The worker validates the input;
   * invalid input ends the job as dead. Without the definition the job has 3 attempts and no concurrency key, and is
   * unique only by the options. A type in the client's `jobs` is enqueued as by `enqueue`.
   * @param type the name of the job's type, and of its queue
   * @param input JSON
   * @param options as for `enqueue`
   * @throws as `enqueue`, but for UNKNOWN_TYPE
   * @example const job = await client.enqueueByName('email.send', { to: 'ada@example.com' })
   */
  enqueueByName(type: string, input?: unknown, options?: EnqueueOptions): Promise<JobHandle>

  /**
   * Is this definition, or a copy of it, among `jobs`? Calls refuse any other with UNKNOWN_TYPE. After a hot reload a
   * definition of which an option has changed is another one: then make the client anew.
   * @example if (!client.lists(order)) client = createClient({ jobs: [order], store })
   */
  lists(job: JobDefinition): boolean

  /**
   * Synchronous calls in a transaction that is open on the connection of the store, `sqliteStore({ database })`: they
   * have written when they return, and they throw, so that a transaction whose library works synchronously is rolled
   * back by their errors. Other stores refuse them with UNSUPPORTED; there, and in asynchronous transactions, calls
   * take `{ tx }`.
   * @param tx the database itself, on which a transaction is open, or the transaction that Drizzle passes
   * @example
   * database.transaction(() => {
   *   insertOrder.run(order.id)
   *   client.within(database).enqueue(receipt, { order: order.id })
   * })()
   */
  within(tx: SynchronousTransaction): Within

  // ── queries ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * A handle of a stored job, or null if it is not in the store. With its definition the handle is typed as that of its
   * enqueue.
   * @throws JobchartError INVALID_OPTION if the job is of another type than the definition
   * @example const job = await runtime.job(order, id)
   */
  job<Input, Output, Machine extends MachineTypes>(
    definition: JobDefinition<Input, Output, Machine>,
    id: string,
  ): Promise<JobHandle<Output, Machine> | null>
  job(id: string): Promise<JobHandle<unknown, JsonMachine> | null>

  /**
   * A page of jobs. Pass its `next` as `after`, with the same filter and order, for the next page. A page is short only
   * at the end of the list.
   * @param options a filter (all of its fields must match; arrays mean any of), `order` (default `'oldest'` first),
   * `orderBy`
   *   (default `'enqueued'`; `'finished'` lists jobs that have ended), `limit` (1…1,000, default 100), `after`, and
   *   `fields`: `'full'` (default), `'summary'` (no payloads, logs, errors, messages and history), or names of fields
   * @returns the jobs, with `next`, and with `cursor`: `transitions$({ from: cursor })` of the first page goes on from
   * there without a
   *   gap. Its first entries may be in the page already.
   * @throws JobchartError INVALID_OPTION, STORE_UNAVAILABLE
   * @example const dead = await runtime.list({ state: 'dead', orderBy: 'finished', order: 'newest', fields: 'summary'
   * })
   */
  list(options: ListOptions & { readonly fields: 'summary' }): Promise<JobPage<JobSummary>>

  list<Field extends keyof JobRecord>(
    options: ListOptions & { readonly fields: readonly Field[] },
  ): Promise<JobPage<Pick<JobRecord, Field>>>

  list(options?: ListOptions & { readonly fields?: 'full' }): Promise<JobPage>

  /**
   * Searches everything by which jobs are found: ids, unique keys, concurrency keys, tags and values of `meta` that
   * begin with the text, in its case; types, states and tags of machines, and errors that have it within, in any case.
   * `name=value` finds members of `meta` of this name whose value begins so.
   * `others` are workers and schedules whose name has it.
   * If there is none, the same for the text in lower case (`as`); or what has `near`: a word that differs from the text
   * in one letter, or as much of its beginning as possible, half of it at least.
   * What the store has no index of is looked for among the 5,000 jobs that were enqueued last: `searched` tells.
   * @param text 1…200 characters
   * @param options `limit`: hits of each kind at most, 1…100, default 10
   * @returns hits with the number of their jobs and a filter that finds them, exact ones first
   * @throws JobchartError INVALID_OPTION, STORE_UNAVAILABLE
   * @example const { hits } = await client.find('cus_9')
   */
  find(text: string, options?: FindOptions): Promise<FindResult>

  /**
   * Numbers of jobs by state: in total and, under `types`, for each type.
   * @returns the numbers, and `cursor`: `transitions$({ from: cursor })` has exactly what changes them afterwards
   * @throws JobchartError STORE_UNAVAILABLE
   */
  counts(): Promise<Counts>

  /**
   * The runtimes that run jobs of the store, with the jobs that each runs now and their inputs.
   * @param options `inputs`: default true; false leaves them out, and saves a read
   * @throws JobchartError STORE_UNAVAILABLE
   * @example for (const { name, running } of await runtime.workers()) console.log(name, running.map(({ input }) =>
   * input))
   */
  workers(options?: WorkersOptions): Promise<WorkerRecord[]>

  /**
   * The figures of every queue that the store, this process or a running worker knows, also of those that are empty, by
   * name.
   * @throws JobchartError STORE_UNAVAILABLE
   */
  queues(): Promise<QueueStats[]>

  /**
   * What happened in all queues together, in all processes, minute by minute or hour by hour: kept by the store, not
   * scanned. `queue(type).activity()` is that of one queue.
   * @param options `period`: `'minute'` (default) or `'hour'`; `last`: how far back, default `'1h'` or `'1d'`
   * @throws JobchartError INVALID_OPTION, STORE_UNAVAILABLE
   * @example const { buckets } = await client.activity({ period: 'hour', last: '7d' })
   */
  activity(options?: ActivityOptions): Promise<Activity>

  /**
   * Failed attempts, grouped by type and by name, code and message of the error: kept by the store, not scanned. The
   * group that has occurred last is first; of each type a hundred are kept. `{ type, state: 'dead', failure:
   * group.fingerprints }` is the filter of its dead jobs.
   * @param options `type`: only the groups of this type; `limit`: 1…1,000, default 100
   * @throws JobchartError INVALID_OPTION, STORE_UNAVAILABLE
   * @example const [latest] = await client.failures({ type: 'email.send' })
   */
  failures(options?: FailureQuery): Promise<MergedFailureGroup[]>

  /**
   * Tells groups of failures as one from now on, in all processes: one cause may have several messages. Their attempts
   * are still counted apart. Groups that were merged with one of them before belong to the group, too.
   * @param type of all of them
   * @param fingerprints two to a hundred; the first one names the group
   * @throws JobchartError INVALID_OPTION, INVALID_INPUT (more than a hundred in one group), STORE_UNAVAILABLE
   * @example await client.mergeFailures('order', [timeout.fingerprint, refused.fingerprint])
   */
  mergeFailures(type: string, fingerprints: readonly string[]): Promise<void>

  /** Takes groups of failures out of those that they were merged into. @throws JobchartError as `mergeFailures` */
  splitFailures(type: string, fingerprints: readonly string[]): Promise<void>

  /** The queue of a type, whether this process has its definition or not. @throws JobchartError INVALID_OPTION */
  queue(type: string): QueueHandle

  // ── schedules ────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Declares a schedule, or changes the one of this name. The same declaration again changes nothing; another spec or
   * time zone moves its next tick. Runtimes that work on the store fire it: one job per tick, however many they are.
   * @param name 1…150 characters; the ids of its jobs begin with it
   * @param spec five or six fields of cron (seconds first when six), `@hourly`, `@daily`, `@weekly`, `@monthly`,
   * `@yearly`,
   *   `@every 90s`, or `{ every: '90s' }`
   * @param args the input of each job, or (of a runtime) a function that makes it of the tick; and options
   * @throws JobchartError INVALID_OPTION, INVALID_INPUT, UNKNOWN_TYPE, STOPPED, STORE_UNAVAILABLE
   * @example const nightly = await runtime.schedule('nightly', '0 0 3 * * *', sendEmail, { to }, { timezone:
   * 'Europe/Zurich' })
   */
  schedule<Input, Output, Machine extends MachineTypes>(
    name: string,
    spec: ScheduleSpec,
    job: JobDefinition<Input, Output, Machine>,
    ...args: ScheduleArguments<NoInfer<Input>, ScheduleCallOptions>
  ): Promise<ScheduleHandle<Output, Machine>>

  /** The handle of a schedule that is there, or null. The output of its jobs is not known. */
  getSchedule(name: string): Promise<ScheduleHandle | null>

  /**
   * All schedules of the store, by name.
   * @param options `next`: how many of the next ticks of each are listed, 1…1,000; default 1
   * @throws JobchartError INVALID_OPTION, STORE_UNAVAILABLE
   */
  schedules(options?: { readonly next?: number }): Promise<ScheduleRecord[]>

  // ── administration ───────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Cancels jobs. Jobs that do not run end at once; the signals of running jobs are aborted, in whichever process they
   * run. After this has resolved none of the jobs starts. By filter it is a bulk operation: if this process dies, is
   * closed or loses the store, a runtime carries it to its end.
   * @param choice an id, ids, or a filter
   * @throws JobchartError INVALID_OPTION, STORE_UNAVAILABLE, STORE_REFUSED; by filter also STOPPED, ABORTED if the
   * operation is stopped, and CAPACITY if more than 100 jobs match while 100 bulk operations run
   * @example await runtime.cancel({ tag: 'tenant-7' }, { reason: 'account closed', priority: 10 })
   */
  cancel(choice: JobSelector, options?: CancelOptions): Promise<CancelReport>

  /**
   * Runs dead or cancelled jobs again: they are queued in a new generation, with attempts from 0. Machines resume from
   * their last checkpoint, or from the start with `from: 'start'`. By filter it is a bulk operation.
   * @param options `input` gives the job another input; then `choice` is its id
   * @throws JobchartError INVALID_INPUT; and as `cancel`
   * @example await runtime.retry(id, { input: { to: 'ada@example.com' } })
   */
  retry(choice: JobSelector, options?: RetryFrom): Promise<RetryReport>

  /** Removes ended jobs. By filter it is a bulk operation. @throws JobchartError as `cancel` */
  discard(choice: JobSelector): Promise<DiscardReport>

  /**
   * Retries, discards and cancels by filter that nobody has to wait for, and all such operations of the store: also
   * those of `retry`, `discard` and `cancel` on more than 100 jobs.
   * @example const { id } = await client.bulk.start({ kind: 'retry', filter: { state: 'dead' } })
   */
  readonly bulk: BulkOperations

  /**
   * Sends an event to the machine of a job. With its definition the event is typed.
   * @throws as `JobHandle.send`; INVALID_OPTION if the job is of another type than the definition
   * @example await runtime.send(order, id, { type: 'APPROVE' })
   */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- of a parameter, literals may have further members
  send<Event extends MachineEvent>(id: string, event: Event, options?: SendOptions): Promise<void>
  // The last one: of a call that fits none TypeScript shows why it does not fit the last.
  send<Input, Output, Machine extends MachineTypes>(
    definition: JobDefinition<Input, Output, Machine>,
    id: string,
    event: NoInfer<Machine['event']>,
    options?: SendOptions,
  ): Promise<void>

  /**
   * Enqueues a job whose machine starts from the state of another job's machine after `seq`.
   * @throws as
   * `JobHandle.fork`
   */
  fork(id: string, seq: number, options?: EnqueueOptions): Promise<JobHandle>

  // ── streams ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Events of jobs caused by this process, after their commit. Hot. */
  readonly events$: Stream<JobEvent>

  /**
   * The store's transition log: the transitions of all processes, in order.
   * @param options `from`: the `cursor` of the entry to continue after, or that of an answer of `list` or `counts`;
   * `'now'`: only what
   *   comes after the subscription; default: from the oldest entry kept. The stream fails with SLOW_READER if entries
   *   after `from` have been dropped. A number is a `seq`: only the memory and the SQLite store have a log that it
   *   names a place in; 0 is the oldest entry kept.
   * @throws JobchartError INVALID_OPTION
   * @example runtime.transitions$({ from: saved }).subscribe(({ id, event, cursor }) => (saved = cursor))
   */
  transitions$(options?: { readonly from?: string | number }): Stream<TransitionEntry>

  /** The size of the backlog: its current value, then each new one, ten times a second at most. */
  readonly pressure$: Stream<Pressure>

  /** The same as `close()` of a client, and as `stop({ mode: 'finish' })` of a runtime. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Made by `createClient`. */
export interface ClosableClient extends Client {
  /** Ends every stream and wait and closes the store. Jobs are not affected. */
  close(): Promise<void>
}
