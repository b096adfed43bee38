/** A client: enqueues jobs, awaits results, lists and administers. It runs no jobs; a runtime is a client with a worker. */
import { checkKeys, checkInteger, checkText } from '../core/checks.ts'
import type { JobDefinition } from '../core/definition.ts'
import type { MachineEvent } from '../core/machine-record.ts'
import { invalidOption, JobchartError } from '../core/errors.ts'
import { promised, refusedBy } from '../client/answer.ts'
import { Connection } from '../client/connection.ts'
import { waitOf } from '../client/insert-call.ts'
import { expectRetried } from '../client/not-found.ts'
import { listQuery, type ListOptions } from '../core/filter.ts'
import { inBatches, Report, type BatchAnswer } from '../client/batches.ts'
import { wholePage } from '../client/pages.ts'
import { followPressure, followTransitions } from '../client/follow.ts'
import type { Stream } from '../core/stream.ts'
import type { JobHandle } from '../core/handle.ts'
import type { JobEvent, JobRecord } from '../core/record.ts'
import {
  cancelRequest,
  checkEnqueueOptions,
  selectionOf,
  sendSettings,
  type CancelOptions,
  type CancelReport,
  type EnqueueArguments,
  type EnqueueOptions,
  type JobSelector,
  type DiscardReport,
  type Pressure,
  retrySettings,
  type RetryFrom,
  type RetryReport,
  type SendOptions,
} from '../core/call-options.ts'
import { limits } from '../core/limits.ts'
import {
  checkedSchedule,
  type ScheduleArguments,
  type ScheduleHandle,
  type ScheduleRecord,
} from '../core/schedule-options.ts'
import type { ScheduleSpec } from '../core/tick-times.ts'
import { clientSettings, type ClientOptions } from './options.ts'
import { type ClientSettings } from '../core/settings.ts'
import { emptyQueue, QueueHandle, queueStats, type QueueStats } from './queue-handle.ts'
import type {
  CancelAnswer,
  CancelRequest,
  Counts,
  Hint,
  JobPage,
  JobSummary,
  RetryAnswer,
  Selection,
  Store,
  TransitionEntry,
  WorkerRecord,
} from '../store.ts'
import { memoryStore } from '../stores/memory/index.ts'

export class Client {
  protected readonly connection: Connection

  /** Made by `createClient`. */
  constructor(store: Store | undefined, settings: ClientSettings) {
    this.connection = new Connection(store ?? memoryStore({ clock: settings.clock }), settings, {
      fires: this.fires,
      refusing: () => this.refusing(),
      stored: () => this.stored(),
      answered: () => this.answered(),
      hint: (hint) => this.hint(hint),
      cancel: (id, options) => this.cancel(id, options),
      retry: async (id, options) => expectRetried(id, await this.retry(id, options)),
    })
  }

  /** For the operators of `event-streams.ts`. @internal */
  static connectionOf(client: Client): Connection {
    return client.connection
  }

  /** The store of the jobs. */
  get store(): Store {
    return this.connection.store
  }

  /** The types it knows, by their names. */
  get jobs(): ReadonlyMap<string, JobDefinition> {
    return this.connection.settings.jobs
  }

  // ── enqueue ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Stores a job; it is stored when this resolves. With a `capacity` the call waits for room, in the order of the calls.
   * @param job one of the client's `jobs`
   * @param args the input, and options
   * @throws JobchartError UNKNOWN_TYPE, INVALID_INPUT, INVALID_OPTION, ID_TAKEN, STOPPED, STORE_UNAVAILABLE; TIMEOUT and
   *   ABORTED while it waits for room
   * @example const job = await runtime.enqueue(sendEmail, { to: 'ada@example.com' }, { delay: '5m' })
   */
  enqueue<Input, Output, Event extends MachineEvent>(
    job: JobDefinition<Input, Output, Event>,
    ...args: EnqueueArguments<NoInfer<Input>>
  ): Promise<JobHandle<Output, Event>> {
    return this.connection.enqueue<Output, Event>(job, args[0], args[1])
  }

  /**
   * Stores a job if there is room now. Otherwise it stores nothing and returns null.
   * @throws as `enqueue`, but never waits
   */
  async tryEnqueue<Input, Output, Event extends MachineEvent>(
    job: JobDefinition<Input, Output, Event>,
    ...args: EnqueueArguments<NoInfer<Input>>
  ): Promise<JobHandle<Output, Event> | null> {
    const made = await this.connection.prepare(job, args[0], args[1])
    const handles = await this.connection.insert<Output, Event>([made], null)
    return handles?.[0] ?? null
  }

  /**
   * Stores many jobs of a type in one round trip: all or none.
   * @param inputs 10,000 at most
   * @param options for each of the jobs, without `id`
   * @throws as `enqueue`; CAPACITY if they never fit
   */
  async enqueueMany<Input, Output, Event extends MachineEvent>(
    job: JobDefinition<Input, Output, Event>,
    inputs: readonly NoInfer<Input>[],
    options?: Omit<EnqueueOptions, 'id'>,
  ): Promise<JobHandle<Output, Event>[]> {
    if (!Array.isArray(inputs)) throw invalidOption('inputs of enqueueMany', 'a list', inputs)
    if (inputs.length > limits.enqueueManyMax) {
      const hint = 'Enqueue them in several calls: one call is one write.'
      throw invalidOption('inputs of enqueueMany', `at most ${limits.enqueueManyMax}`, inputs.length, hint)
    }
    if (options !== undefined) checkEnqueueOptions(options, 'options of enqueueMany', ['id'])
    const made = await Promise.all(inputs.map(async (input) => this.connection.prepare(job, input, options)))
    if (made.length === 0) return []
    return (await this.connection.insert<Output, Event>(made, waitOf(options))) ?? []
  }

  /**
   * Enqueues a job and waits for its result. `signal` and `timeout` limit each of the two waits; they do not cancel the job.
   * @throws as `enqueue`, and as `JobHandle.result`
   */
  async run<Input, Output>(
    job: JobDefinition<Input, Output>,
    ...args: EnqueueArguments<NoInfer<Input>>
  ): Promise<Output> {
    const handle = await this.enqueue(job, ...args)
    const { signal, timeout } = args[1] ?? {}
    return handle.result({ ...(signal && { signal }), ...(timeout !== undefined && { timeout }) })
  }

  /**
   * Stores a job by the name of its type, whose definition this process need not know. The worker validates the input; invalid
   * input ends the job as dead. Without the definition the job has 3 attempts and no concurrency key, and is unique only by
   * the options. A type in the client's `jobs` is enqueued as by `enqueue`.
   * @param type the name of the job's type, and of its queue
   * @param input JSON
   * @param options as for `enqueue`
   * @throws as `enqueue`, but for UNKNOWN_TYPE
   * @example const job = await client.enqueueByName('email.send', { to: 'ada@example.com' })
   */
  enqueueByName(type: string, input?: unknown, options?: EnqueueOptions): Promise<JobHandle> {
    return this.connection.enqueueByName(type, input, options)
  }

  // ── queries ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A handle of a stored job, or null. The type of its output is unknown. */
  async job(id: string): Promise<JobHandle | null> {
    const record = await this.connection.get(id)
    return record === null ? null : this.connection.handleOf(record)
  }

  /**
   * A page of jobs. Pass its `next` as `after`, with the same filter and order, for the next page. A page is short only at the
   * end of the list.
   * @param options a filter (all of its fields must match; arrays mean any of), `order` (default `'oldest'` first), `orderBy`
   *   (default `'enqueued'`; `'finished'` lists jobs that have ended), `limit` (1…1,000, default 100), `after`, and `fields`:
   *   `'full'` (default), `'summary'` (no payloads, logs, errors, messages and history), or names of fields
   * @throws JobchartError INVALID_OPTION, STORE_UNAVAILABLE
   * @example const dead = await runtime.list({ state: 'dead', orderBy: 'finished', order: 'newest', fields: 'summary' })
   */
  list(options: ListOptions & { readonly fields: 'summary' }): Promise<JobPage<JobSummary>>
  list<Field extends keyof JobRecord>(
    options: ListOptions & { readonly fields: readonly Field[] },
  ): Promise<JobPage<Pick<JobRecord, Field>>>
  list(options?: ListOptions & { readonly fields?: 'full' }): Promise<JobPage>
  async list(options: ListOptions = {}): Promise<JobPage<Partial<JobRecord>>> {
    const query = listQuery(options)
    await this.connection.ready()
    return wholePage(this.connection.store, this.connection.settings.clock, query)
  }

  /** Numbers of jobs by state: in total and, under `types`, for each type. */
  async counts(): Promise<Counts> {
    await this.connection.ready()
    return this.connection.store.counts()
  }

  /** The runtimes that run jobs of the store, with the jobs that each runs now. */
  async workers(): Promise<WorkerRecord[]> {
    await this.connection.ready()
    return this.connection.store.workers()
  }

  /**
   * The figures of every queue that the store, this process or a running worker knows, also of those that are empty, by name.
   * @throws JobchartError STORE_UNAVAILABLE
   */
  async queues(): Promise<QueueStats[]> {
    const { connection } = this
    await connection.ready()
    const { store, settings } = connection
    const [queues, workers] = await Promise.all([store.queues(), store.workers()])
    const known = new Map(queues.map((queue) => [queue.type, queue]))
    for (const type of [...settings.jobs.keys(), ...workers.flatMap(({ types }) => types)]) {
      if (!known.has(type)) known.set(type, emptyQueue(type))
    }
    const stats = Array.from(known.values(), queueStats(settings.jobs, this.given()))
    return stats.toSorted((a, b) => (a.type < b.type ? -1 : 1))
  }

  /** The queue of a type, whether this process has its definition or not. @throws JobchartError INVALID_OPTION */
  queue(type: string): QueueHandle {
    checkText('type', type, limits.idCharsMax)
    return new QueueHandle(
      this.connection,
      { given: () => this.given(), queuePaused: (paused) => this.queuePaused(paused) },
      type,
    )
  }

  // ── schedules ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Declares a schedule, or changes the one of this name. The same declaration again changes nothing; another spec or time zone
   * moves its next tick. Runtimes that work on the store fire it: one job per tick, however many they are.
   * @param name 1…150 characters; the ids of its jobs begin with it
   * @param spec five or six fields of cron (seconds first when six), `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`,
   *   `@every 90s`, or `{ every: '90s' }`
   * @param args the input of each job, or (of a runtime) a function that makes it of the tick; and options
   * @throws JobchartError INVALID_OPTION, INVALID_INPUT, UNKNOWN_TYPE, STOPPED, STORE_UNAVAILABLE
   * @example const nightly = await runtime.schedule('nightly', '0 0 3 * * *', sendEmail, { to }, { timezone: 'Europe/Zurich' })
   */
  async schedule<Input, Output, Event extends MachineEvent>(
    name: string,
    spec: ScheduleSpec,
    job: JobDefinition<Input, Output, Event>,
    ...args: ScheduleArguments<NoInfer<Input>>
  ): Promise<ScheduleHandle<Output, Event>> {
    const definition = checkedSchedule(name, spec, job, args[0], args[1])
    const refusal = this.refusing()
    if (refusal !== null) throw refusal
    await this.connection.schedules.declare([definition], null)
    return this.connection.scheduleHandle(name)
  }

  /** The handle of a schedule that is there, or null. The output of its jobs is not known. */
  async getSchedule(name: string): Promise<ScheduleHandle | null> {
    checkText('name', name, limits.idCharsMax)
    await this.connection.ready()
    const [there] = await this.store.schedules.list([name])
    return there === undefined ? null : this.connection.scheduleHandle(name)
  }

  /**
   * All schedules of the store, by name.
   * @param options `next`: how many of the next ticks of each are listed, 1…1,000; default 1
   * @throws JobchartError INVALID_OPTION, STORE_UNAVAILABLE
   */
  schedules(options: { readonly next?: number } = {}): Promise<ScheduleRecord[]> {
    checkKeys('options of schedules', options, ['next'])
    return this.connection.schedules.list(options.next ?? 1)
  }

  // ── administration ────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Cancels jobs. Jobs that do not run end at once; the signals of running jobs are aborted, in whichever process they run.
   * After this has resolved none of the jobs starts.
   * @param choice an id, ids, or a filter
   * @throws JobchartError INVALID_OPTION, STORE_UNAVAILABLE
   * @example await runtime.cancel({ tag: 'tenant-7' }, { reason: 'account closed', priority: 10 })
   */
  async cancel(choice: JobSelector, options: CancelOptions = {}): Promise<CancelReport> {
    const request = cancelRequest(choice, options, this.cancelGraceMs)
    // An open store needs no await: the cancel is submitted in this turn, before other events of the process.
    if (!this.connection.opened) await this.connection.ready()
    const report = new Report(['cancelled', 'cancelling', 'notFound', 'finished'])
    const priority = options.priority ?? 0
    await this.inBatches(
      request.selection,
      (selection) => this.submitCancel({ ...request, selection }, priority),
      report,
    )
    return report.made()
  }

  /**
   * Runs dead or cancelled jobs again: they are queued in a new generation, with attempts from 0. Machines resume from their
   * last checkpoint, or from the start with `from: 'start'`.
   * @param options `input` gives the job another input; then `choice` is its id
   * @throws JobchartError INVALID_OPTION, INVALID_INPUT, STORE_UNAVAILABLE
   * @example await runtime.retry(id, { input: { to: 'ada@example.com' } })
   */
  async retry(choice: JobSelector, options: RetryFrom = {}): Promise<RetryReport> {
    const selection = selectionOf(choice)
    const { fromStart, dropInbox } = retrySettings(options)
    await this.connection.ready()
    const { store, hub } = this.connection
    const edit = 'input' in options ? await this.connection.editedInput(choice, options.input) : undefined
    const retry = (part: Selection): Promise<RetryAnswer> =>
      promised(
        () => store.retry(part, fromStart, dropInbox, edit),
        (answer) => {
          hub.emitAll(answer.moves)
          return answer
        },
      )
    const report = new Report(['retried', 'refused', 'notFound'])
    await this.inBatches(selection, retry, report)
    return report.made()
  }

  /** Removes ended jobs. @throws JobchartError INVALID_OPTION, STORE_UNAVAILABLE */
  async discard(choice: JobSelector): Promise<DiscardReport> {
    const selection = selectionOf(choice)
    await this.connection.ready()
    const { store } = this.connection
    const report = new Report(['discarded', 'refused', 'notFound'])
    await this.inBatches(selection, (part) => store.discard(part), report)
    return report.made()
  }

  /** Sends an event to the machine of a job. @throws as `JobHandle.send` @example await runtime.send(id, { type: 'APPROVE' }) */
  async send(id: string, event: MachineEvent, options: SendOptions = {}): Promise<void> {
    return this.connection.machines.send(id, event, sendSettings(options))
  }

  /** Enqueues a job whose machine starts from the state of another job's machine after `seq`. @throws as `JobHandle.fork` */
  fork(id: string, seq: number, options?: EnqueueOptions): Promise<JobHandle> {
    return this.connection.fork(id, seq, options)
  }

  // ── streams ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Events of jobs caused by this process, after their commit. Hot. */
  get events$(): Stream<JobEvent> {
    return this.connection.hub.events$
  }

  /**
   * The store's transition log: the transitions of all processes, in order.
   * @param options `from`: the `cursor` of the entry to continue after; default: from the oldest entry kept. The stream fails with
   *   SLOW_READER if entries after `from` have been dropped. A number is a `seq`: only the memory and the SQLite store have a
   *   log that it names a place in; 0 is the oldest entry kept.
   * @throws JobchartError INVALID_OPTION
   * @example runtime.transitions$({ from: saved }).subscribe(({ id, event, cursor }) => (saved = cursor))
   */
  transitions$(options: { readonly from?: string | number } = {}): Stream<TransitionEntry> {
    checkKeys('options of transitions$', options, ['from'])
    return followTransitions(this.connection.follow, cursorFrom(options.from ?? 0))
  }

  /** The size of the backlog: its current value, then each new one, ten times a second at most. */
  get pressure$(): Stream<Pressure> {
    return followPressure(this.connection.follow, () => this.counts(), this.connection.settings.capacity)
  }

  /** Ends every stream and wait and closes the store. Jobs are not affected. */
  async close(): Promise<void> {
    await this.connection.close(closed())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Acts on a selection in calls of bounded size, and collects the outcomes of the jobs. */
  private inBatches<Name extends string>(
    selection: Selection,
    act: (part: Selection) => Promise<BatchAnswer<Name>>,
    report: Report<Name>,
  ): Promise<void> {
    return inBatches(selection, act, report, this.connection.settings.clock)
  }

  // ── overridden by Runtime ─────────────────────────────────────────────────────────────────────────────────────────

  /** Does this client fire schedules? */
  protected get fires(): boolean {
    return false
  }

  /** Default time for a cancelled handler to end, ms. */
  protected get cancelGraceMs(): number {
    return 5_000
  }

  /** Why new jobs are refused; null if they are accepted. */
  protected refusing(): JobchartError | null {
    return null
  }

  protected submitCancel(request: CancelRequest, _priority: number): Promise<CancelAnswer> {
    const { store, hub } = this.connection
    return promised(
      () => store.cancel([request]),
      ([answer]) => {
        const { error, moves } = answer as CancelAnswer
        if (error !== undefined) throw refusedBy(store.name, 'the cancel', error)
        hub.emitAll(moves)
        return answer as CancelAnswer
      },
    )
  }

  /** Number of picks so far, by type. */
  protected given(): ReadonlyMap<string, number> {
    return new Map()
  }

  /** Called when a queue was paused in the store. A client has nothing to hold back. */
  protected async queuePaused(_type: string): Promise<void> {}

  /** Called when jobs were stored. */
  protected stored(): void {
    // A client runs no jobs.
  }

  /** Called when fewer inserts than before wait for their answers. */
  protected answered(): void {
    // A client waits for none of them.
  }

  protected hint(_hint: Hint): void {
    // A client runs no jobs.
  }
}

function cursorFrom(from: string | number): string | null {
  if (typeof from === 'string') return checkText('from', from, limits.idCharsMax)
  const seq = checkInteger('from', from, 0, Number.MAX_SAFE_INTEGER)
  return seq === 0 ? null : String(seq)
}

const closed = (): JobchartError =>
  new JobchartError('STOPPED', 'the client was closed', {
    hint: 'Create a new client: a closed one cannot be reopened.',
  })

/**
 * Creates a client: a runtime without `start`, slots and runs, for processes that only enqueue, query and administer.
 * @throws JobchartError INVALID_OPTION
 * @example const client = createClient({ store, jobs: [sendEmail] })
 */
export function createClient(options: ClientOptions): Client {
  const settings = clientSettings(options)
  return new Client(options.store, settings)
}
