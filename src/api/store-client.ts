/** The client of a store. A runtime is one with a worker: it overrides what stands at the end of the class. */
import { checkActivity, type Activity, type ActivityOptions } from '../core/activity-options.ts'
import { byDefault, integer, isObject, table, text, where, type Rule } from '../core/checks.ts'
import type { FailureMergeChange, MergedFailureGroup } from '../core/failure-merges.ts'
import { failuresIn } from '../client/failures.ts'
import { checkMerge, checkSplit, failureOptions } from '../core/failure-options.ts'
import type { JobDefinition } from '../core/definition.ts'
import { isDefinition } from '../core/definition-copy.ts'
import type { MachineEvent, MachineTypes } from '../core/machine-record.ts'
import { invalidOption, JobchartError } from '../core/errors.ts'
import { promised, refusedBy } from '../client/answer.ts'
import { ClientBulk } from '../client/bulk.ts'
import { submitTo, type SubmitBatch } from '../client/bulk-driver.ts'
import { Connection } from '../client/connection.ts'
import type { Inserted } from '../client/handle.ts'
import { waitOf } from '../client/insert-call.ts'
import { noRoom } from '../client/insert-within.ts'
import { checkType } from '../client/not-found.ts'
import { traced, typeIn } from '../client/traced.ts'
import { dropInboxOfMany, type BulkOperations, type BulkRequest } from '../core/bulk-options.ts'
import { listQuery, type ListOptions } from '../core/filter.ts'
import { findOptions, findTextMax, type FindOptions, type FindResult } from '../core/find.ts'
import { find } from '../client/find.ts'
import { Report, type JobOutcome } from '../core/report.ts'
import { inBatches } from '../client/batches.ts'
import { whileHeld } from '../client/held.ts'
import { wholePage } from '../client/pages.ts'
import { followPressure, followTransitions } from '../client/follow.ts'
import type { Stream } from '../core/stream.ts'
import type { JobHandle } from '../core/handle.ts'
import type { JobEvent, JobRecord } from '../core/record.ts'
import {
  cancelTerms,
  enqueueOptionsWithoutId,
  retrySettings,
  selectionOf,
  type CancelOptions,
  type CancelReport,
  type IdsOrFilter,
  type EnqueueArguments,
  type EnqueueOptions,
  type JobSelector,
  type DiscardReport,
  type Pressure,
  type RetryFrom,
  type RetryReport,
  type SendOptions,
  type WorkersOptions,
  workersOptions,
} from '../core/call-options.ts'
import { limits } from '../core/limits.ts'
import {
  checkedSchedule,
  runCount,
  type ScheduleArguments,
  type ScheduleCallOptions,
  type ScheduleOptions,
  type ScheduleHandle,
  type ScheduleRecord,
} from '../core/schedule-options.ts'
import type { ScheduleSpec } from '../core/tick-times.ts'
import { type ClientSettings } from '../core/settings.ts'
import { activityIn, ClientQueueHandle, emptyQueue, queueStats, figuresIn } from './client-queue-handle.ts'
import type { QueueHandle, QueueStats } from './queue-handle.ts'
import type { Client, ClosableClient } from './client.ts'
import { checkBytes, checkInputs } from './many.ts'
import { CallsWithin, type Within } from './within.ts'
import type {
  CancelAnswer,
  CancelRequest,
  Counts,
  FailureQuery,
  JobPage,
  JobSummary,
  OpenTransaction,
  Store,
  SynchronousTransaction,
  TransitionEntry,
  WorkerRecord,
} from '../store.ts'
import { withInputs } from '../client/running-inputs.ts'

export abstract class StoreClient implements Client {
  readonly connection: Connection
  readonly bulk: BulkOperations
  private readonly operations: ClientBulk

  constructor(store: Store, settings: ClientSettings) {
    this.connection = new Connection(store, settings, {
      fires: this.fires,
      refusing: () => this.refusing(),
      stored: () => this.stored(),
      answered: () => this.answered(),
      cancel: (id, options) => this.cancel(id, options),
    })
    if (settings.telemetry !== null)
      this.connection.onClose(settings.telemetry.observe({ queues: () => this.depths() }))
    this.bulk = this.operations = new ClientBulk(this.connection)
  }

  get store(): Store {
    return this.connection.store
  }

  get jobs(): ReadonlyMap<string, JobDefinition> {
    return this.connection.settings.jobs
  }

  // ── enqueue ──────────────────────────────────────────────────────────────────────────────────────────────────────

  enqueue<Input, Output, Machine extends MachineTypes>(
    job: JobDefinition<Input, Output, Machine>,
    ...args: EnqueueArguments<NoInfer<Input>>
  ): Promise<JobHandle<Output, Machine>> {
    return this.connection.enqueue<Output, Machine>(job, args[0], args[1])
  }

  async tryEnqueue<Input, Output, Machine extends MachineTypes>(
    job: JobDefinition<Input, Output, Machine>,
    ...args: EnqueueArguments<NoInfer<Input>>
  ): Promise<JobHandle<Output, Machine> | null> {
    const { connection } = this
    const tx = connection.transactions.of(args[1])
    const jobs = { type: typeIn(job), from: 'call', count: null } as const
    return traced(connection.settings, jobs, async (span) => {
      const made = await connection.prepare(job, args[0], args[1], false, span)
      const handles =
        tx === null
          ? await connection.insert<Output, Machine>([made], null)
          : await connection.within.insert<Output, Machine>(tx, [made])
      return handles?.[0] ?? null
    })
  }

  async enqueueMany<Input, Output, Machine extends MachineTypes>(
    job: JobDefinition<Input, Output, Machine>,
    inputs: readonly NoInfer<Input>[],
    options?: Omit<EnqueueOptions, 'id'>,
  ): Promise<JobHandle<Output, Machine>[]> {
    checkInputs(inputs)
    const checked = options === undefined ? undefined : enqueueOptionsWithoutId(options, 'options of enqueueMany')
    const tx = this.connection.transactions.of(checked)
    if (inputs.length === 0) return []
    const { connection } = this
    const jobs = { type: typeIn(job), from: 'call', count: inputs.length } as const
    return traced(connection.settings, jobs, async (span) => {
      const made = await connection.prepareMany(job, inputs, checked, span)
      checkBytes(made)
      if (tx === null) return (await connection.insert<Output, Machine>(made, waitOf(options))) ?? []
      const handles = await connection.within.insert<Output, Machine>(tx, made)
      if (handles !== null) return handles
      throw noRoom(made.length)
    })
  }

  async run<Input, Output>(
    job: JobDefinition<Input, Output>,
    ...args: EnqueueArguments<NoInfer<Input>>
  ): Promise<Output> {
    const refusal = this.refusingRun(job)
    if (refusal !== null) throw refusal
    const [input, options] = args
    const { tx, signal, timeout } = options ?? {}
    if (tx !== undefined && tx !== null) {
      const hint = 'The job cannot end before the commit: enqueue it with `tx`, commit, and wait for `result()`.'
      throw invalidOption('tx of run', 'none', tx, hint)
    }
    // What is no object is refused by the enqueue.
    const outside = options === undefined || isObject(options) ? { ...options, tx: null } : options
    const limits = { ...(signal && { signal }), ...(timeout !== undefined && { timeout }) }
    return new Promise((resolve, reject) => {
      // The wait begins as the job is inserted: the job may end before the enqueue resolves.
      const inserted: Inserted<Output, MachineTypes> = (handle) => resolve(handle.result(limits, !handle.deduplicated))
      this.connection.enqueue<Output>(job, input, outside, false, inserted).catch(reject)
    })
  }

  enqueueByName(type: string, input?: unknown, options?: EnqueueOptions): Promise<JobHandle> {
    return this.connection.enqueueByName(type, input, options)
  }

  lists(job: JobDefinition): boolean {
    return isDefinition(this.jobs.get(job?.type), job)
  }

  within(tx: SynchronousTransaction): Within {
    const { connection } = this
    return new CallsWithin({ connection, tx })
  }

  // ── queries ──────────────────────────────────────────────────────────────────────────────────────────────────────

  async job<Output, Machine extends MachineTypes>(
    ...args: [definition: JobDefinition, id: string] | [id: string]
  ): Promise<JobHandle<Output, Machine> | null> {
    const [definition, id] = args.length === 1 ? [null, ...args] : args
    const record = await this.connection.get(id)
    if (record === null) return null
    if (definition !== null) checkType(record, definition.type)
    return this.connection.handleOf(record)
  }

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

  async find(given: string, options: FindOptions = {}): Promise<FindResult> {
    const searched = findText(given, 'text of find')
    const { limit } = findOptions(options, 'options of find')
    await this.connection.ready()
    return find(this.connection.store, this.connection.settings.clock, searched.trim(), limit)
  }

  async counts(): Promise<Counts> {
    await this.connection.ready()
    return this.connection.store.counts()
  }

  async workers(options: WorkersOptions = {}): Promise<WorkerRecord[]> {
    const { inputs } = workersOptions(options, 'options of workers')
    await this.connection.ready()
    const { store, settings } = this.connection
    const workers = await store.workers()
    return inputs ? withInputs(store, settings.clock, workers) : workers
  }

  async queues(): Promise<QueueStats[]> {
    const { connection } = this
    await connection.ready()
    const { store, settings } = connection
    const [queues, workers] = await Promise.all([store.queues(), store.workers()])
    const known = new Map(queues.map((queue) => [queue.type, queue]))
    for (const type of [...settings.jobs.keys(), ...workers.flatMap(({ types }) => types)]) {
      if (!known.has(type)) known.set(type, emptyQueue(type))
    }
    const figures = await figuresIn(store, [...known.values()])
    const stats = Array.from(known.values(), queueStats(settings.jobs, this.given(), figures))
    return stats.toSorted((a, b) => (a.type < b.type ? -1 : 1))
  }

  async activity(options: ActivityOptions = {}): Promise<Activity> {
    const asked = checkActivity(options)
    await this.connection.ready()
    return activityIn(this.connection.store, asked, 'total')
  }

  async failures(options: FailureQuery = {}): Promise<MergedFailureGroup[]> {
    const query = failureOptions(options, 'options of failures')
    await this.connection.ready()
    return [...(await failuresIn(this.connection.store, query))]
  }

  async mergeFailures(type: string, fingerprints: readonly string[]): Promise<void> {
    return this.changeMerges(checkMerge(type, fingerprints))
  }

  async splitFailures(type: string, fingerprints: readonly string[]): Promise<void> {
    return this.changeMerges(checkSplit(type, fingerprints))
  }

  private async changeMerges(change: FailureMergeChange): Promise<void> {
    await this.connection.ready()
    await this.connection.store.failureMerges(change)
  }

  queue(type: string): QueueHandle {
    return new ClientQueueHandle(
      this.connection,
      {
        given: () => this.given(),
        topKeys: (of, count) => this.topKeys(of, count),
        queuePaused: (paused) => this.queuePaused(paused),
      },
      shortText(type, 'type'),
    )
  }

  // ── schedules ────────────────────────────────────────────────────────────────────────────────────────────────────

  async schedule<Input, Output, Machine extends MachineTypes>(
    name: string,
    spec: ScheduleSpec,
    job: JobDefinition<Input, Output, Machine>,
    ...args: ScheduleArguments<NoInfer<Input>, ScheduleCallOptions>
  ): Promise<ScheduleHandle<Output, Machine>> {
    const tx = this.connection.transactions.of(args[1])
    const definition = checkedSchedule(name, spec, job, args[0], withoutTx(args[1]))
    const refusal = this.refusing()
    if (refusal !== null) throw refusal
    await this.connection.schedules.declare([definition], null, tx)
    return this.connection.scheduleHandle(name)
  }

  async getSchedule(name: string): Promise<ScheduleHandle | null> {
    shortText(name, 'name')
    await this.connection.ready()
    const [there] = await this.store.schedules.list([name])
    return there === undefined ? null : this.connection.scheduleHandle(name)
  }

  schedules(options: { readonly next?: number } = {}): Promise<ScheduleRecord[]> {
    return this.connection.schedules.list(schedulesOptions(options, 'options of schedules').next)
  }

  // ── administration ───────────────────────────────────────────────────────────────────────────────────────────────

  async cancel(choice: JobSelector, options: CancelOptions = {}): Promise<CancelReport> {
    const terms = cancelTerms(options)
    const selection = selectionOf(choice)
    const tx = this.connection.transactions.of(options)
    const report = new Report(['cancelled', 'cancelling', 'notFound', 'finished'])
    const { priority = 0, tx: _, ...given } = options
    if (tx !== null) return this.cancelWithin(tx, selection, terms, report)
    if ('filter' in selection) {
      const submit = this.submitBatches(terms, priority)
      return this.changeMatching({ kind: 'cancel', ...given, filter: selection.filter }, report, submit)
    }
    // An open store needs no await: the cancel is submitted in this turn, before other events of the process.
    if (!this.connection.opened) await this.connection.ready()
    const act = (ids: readonly string[]): Promise<CancelAnswer> =>
      whileHeld(() => this.submitCancel({ ids, ...terms }, priority))
    await inBatches(selection.ids, act, report, this.connection.settings.clock)
    return report.made()
  }

  /** Cancels jobs after the commit of a transaction. */
  private async cancelWithin(
    tx: OpenTransaction,
    selection: IdsOrFilter,
    terms: Omit<CancelRequest, 'ids'>,
    report: Report<'cancelled' | 'cancelling' | 'notFound' | 'finished'>,
  ): Promise<CancelReport> {
    if ('filter' in selection) {
      const hint = 'A cancel by filter is a bulk operation: start it after the commit, or pass tx: null.'
      throw invalidOption('jobs', 'ids in a transaction', selection.filter, hint)
    }
    await this.connection.ready()
    await this.connection.transactions.write(tx, [{ kind: 'cancel', request: { ids: selection.ids, ...terms } }])
    return report.made()
  }

  async retry(choice: JobSelector, options: RetryFrom = {}): Promise<RetryReport> {
    const selection = selectionOf(choice)
    retrySettings(options)
    if ('input' in options && typeof choice !== 'string') {
      throw invalidOption('input of retry', 'the id of one job beside it', choice, 'Retry one job with each input.')
    }
    if ('ids' in selection) return this.connection.retry(selection.ids, options)
    const { from } = options
    const dropInbox = dropInboxOfMany(options.dropInbox)
    const terms = { ...(from !== undefined && { from }), ...(dropInbox !== undefined && { dropInbox }) }
    const report = new Report(['retried', 'refused', 'notFound'])
    return this.changeMatching({ kind: 'retry', ...terms, filter: selection.filter }, report)
  }

  async discard(choice: JobSelector): Promise<DiscardReport> {
    const selection = selectionOf(choice)
    const report = new Report(['discarded', 'refused', 'notFound'])
    if ('filter' in selection) return this.changeMatching({ kind: 'discard', filter: selection.filter }, report)
    await this.connection.ready()
    const { store, settings } = this.connection
    await inBatches(selection.ids, (ids) => store.discard(ids), report, settings.clock)
    return report.made()
  }

  async send(...args: SendArguments): Promise<void> {
    const [definition, id, event, options = {}] = isWithDefinition(args) ? args : ([null, ...args] as const)
    return this.connection.machines.sendOrJoin(id, event, options, definition ?? undefined)
  }

  fork(id: string, seq: number, options?: EnqueueOptions): Promise<JobHandle> {
    return this.connection.fork(id, seq, options)
  }

  // ── streams ──────────────────────────────────────────────────────────────────────────────────────────────────────

  get events$(): Stream<JobEvent> {
    return this.connection.hub.events$
  }

  transitions$(options: { readonly from?: string | number } = {}): Stream<TransitionEntry> {
    return followTransitions(this.connection.follow, transitionsOptions(options, 'options of transitions$').from)
  }

  get pressure$(): Stream<Pressure> {
    return followPressure(this.connection.follow, this.connection.settings)
  }

  abstract [Symbol.asyncDispose](): Promise<void>

  /** What telemetry shows of the queues: to be asked for it opens no store. */
  private async depths(): Promise<readonly QueueStats[]> {
    return this.connection.opened ? this.queues() : []
  }

  /** Changes all jobs that match a filter, as a bulk operation that the caller waits for. */
  private async changeMatching<Name extends JobOutcome>(
    request: BulkRequest,
    report: Report<Name>,
    submit?: SubmitBatch,
  ): Promise<ReturnType<Report<Name>['made']>> {
    const { counts } = await this.operations.change(request, submit, (jobs) => report.add(jobs))
    report.count(counts)
    return report.made()
  }

  // ── overridden by Runtime ────────────────────────────────────────────────────────────────────────────────────────

  /** Does this client fire schedules? */
  protected get fires(): boolean {
    return false
  }

  /** Why new jobs are refused; null if they are accepted. */
  protected refusing(): JobchartError | null {
    return null
  }

  /** Why a job may not be run and awaited by the present call; null if it may. */
  protected refusingRun(_job: JobDefinition): JobchartError | null {
    return null
  }

  protected submitCancel(request: CancelRequest, _priority: number): Promise<CancelAnswer> {
    const { store, hub } = this.connection
    return promised(
      () => store.cancel([request]),
      ([answer]) => {
        const { error, transitions } = answer as CancelAnswer
        if (error !== undefined) throw refusedBy(store.name, 'the cancel', error)
        hub.emitAll(transitions)
        return answer as CancelAnswer
      },
    )
  }

  /** How the batches of a cancel by filter reach the store. */
  protected submitBatches(_terms: Pick<CancelRequest, 'reason' | 'graceMs'>, _priority: number): SubmitBatch {
    return submitTo(this.connection.hub)
  }

  /** Number of picks so far, by type. */
  protected given(): ReadonlyMap<string, number> {
    return new Map()
  }

  /** The concurrency keys of a type with the most picks so far. */
  protected topKeys(_type: string, _count: number): readonly { readonly key: string; readonly picks: number }[] {
    return []
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
}

type SendArguments =
  | [id: string, event: MachineEvent, options?: SendOptions | undefined]
  | [definition: JobDefinition, id: string, event: MachineEvent, options?: SendOptions | undefined]

const isWithDefinition = (args: SendArguments): args is Extract<SendArguments, [JobDefinition, ...unknown[]]> =>
  typeof args[1] === 'string'

/** The options of a schedule that is declared by a call. What is no object is refused later. */
function withoutTx(options: ScheduleCallOptions | undefined): ScheduleOptions | undefined {
  if (!isObject(options)) return options
  const { tx: _, ...others } = options
  return others
}

const shortText = text(limits.idCharsMax)
const findText = where(text(findTextMax), (given) => given.trim() !== '', 'more than space')
const seqOrZero = integer(0, Number.MAX_SAFE_INTEGER)

/** The cursor after which transitions are read; null: from the first on. */
const cursor: Rule<string | null> = (from, name) =>
  typeof from === 'string' ? shortText(from, name) : from === 0 ? null : String(seqOrZero(from, name))

const transitionsOptions = table({ from: byDefault(0, cursor) })
const schedulesOptions = table({ next: byDefault(1, (value) => runCount(value, 'number of runs')) })

/** A client without a worker. */
export class PlainClient extends StoreClient implements ClosableClient {
  async close(): Promise<void> {
    await this.connection.close(closed())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

const closed = (): JobchartError =>
  new JobchartError('STOPPED', 'the client was closed', {
    hint: 'Create a new client: a closed one cannot be reopened.',
  })
