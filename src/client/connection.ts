/**
 * The connection of a client or runtime to its store: opened once and watched, with the parts that all calls share.
 *
 *   enqueue ─▶ prepare (check, validate) ─▶ insert (batch, room) ─▶ store ─▶ handle
 */
import type { JobDefinition } from '../core/definition.ts'
import type { MachineTypes, Parent } from '../core/machine-record.ts'
import { JobchartError } from '../core/errors.ts'
import type { EnqueueOutcome, JobHandle } from '../core/handle.ts'
import type { ScheduleHandle } from '../core/schedule-options.ts'
import { ClientHandle, outcomeOfNew, type HandleServices, type Inserted } from './handle.ts'
import type { JobRecord } from '../core/record.ts'
import { isEnded, type JobCounters } from '../core/lifecycle.ts'
import {
  checkId,
  enqueueOptions,
  retrySettings,
  type CheckedEnqueueOptions,
  type EnqueueOptions,
  type RetryFrom,
  type RetryReport,
} from '../core/call-options.ts'
import type { ClientSettings } from '../core/settings.ts'
import type { SendSpan } from '../core/telemetry.ts'
import type {
  EditedInput,
  Hint,
  InsertAnswer,
  NewJob,
  OpenTransaction,
  QueueLimit,
  RetryAnswer,
  Store,
} from '../store.ts'
import { promised } from './answer.ts'
import { Report } from '../core/report.ts'
import { inBatches } from './batches.ts'
import {
  checkedInput,
  checkListed,
  prepare,
  prepareByName,
  prepareChild,
  prepareMany,
  prepareNow,
  prepareTick,
  type PrepareOptions,
} from './enqueue.ts'
import { EventHub } from './event-hub.ts'
import type { FollowOptions } from './follow.ts'
import { handleServices, type HandleServicesOptions, type HandleOwner } from './handle-services.ts'
import { Inserter, type InserterOptions } from './insert.ts'
import { InsertWithin } from './insert-within.ts'
import { waitOf, type InsertCall, type WaitOptions } from './insert-call.ts'
import { CallDeadline } from './call-deadline.ts'
import { MachineCalls } from './machine-calls.ts'
import { expectRetried, notFound } from './not-found.ts'
import { RecordWatch } from './record-watch.ts'
import { RepeatedCalls } from '../core/repeated-calls.ts'
import { Results } from './results.ts'
import { ClientScheduleHandle } from './schedule-handle.ts'
import { Schedules } from './schedules.ts'
import { Timers } from './timers.ts'
import { traced, typeIn } from './traced.ts'
import { Transactions } from './transactions.ts'
import { Waits } from './waits.ts'

/** Callbacks to the client or runtime that owns a connection. */
interface ConnectionOwner extends HandleOwner {
  /** Why new jobs are refused; null if they are accepted. */
  refusing(): JobchartError | null
  /** Does it fire schedules? */
  readonly fires: boolean
  /** Jobs were stored. */
  stored(): void
  /** The inserter has fewer calls without an answer than before. */
  answered(): void
}

export class Connection {
  readonly store: Store
  readonly settings: ClientSettings
  readonly hub: EventHub
  readonly timers: Timers
  readonly inserter: Inserter
  readonly repeated: RepeatedCalls
  /** The jobs that handlers of this process await. */
  readonly waits = new Waits()
  private readonly preparing: PrepareOptions
  readonly schedules: Schedules
  /** Calls within transactions of the callers. */
  readonly transactions: Transactions
  /** Inserts within them. */
  readonly within: InsertWithin
  /** Calls to machine jobs. */
  readonly machines: MachineCalls
  private readonly results: Results
  /** The jobs of which a state is awaited, and those that are shown as they change. */
  private readonly awaited: RecordWatch
  private readonly shown: RecordWatch
  private readonly owner: ConnectionOwner
  private readonly handleServices: HandleServices
  private readonly hintListeners = new Set<(hint: Hint) => void>()
  private readonly insertListeners = new Set<(type: string, jobs: number) => void>()
  private readonly changeListeners = new Set<() => void>()
  private readonly endListeners = new Set<() => void>()
  private newJobCounters: JobCounters = { attempt: 0, maxAttempts: 3, generation: 1 }
  private opening: Promise<void> | null = null
  private isOpen = false
  private readonly closing = new AbortController()
  /** Why it was closed; null while it is open. */
  private closedBecause: JobchartError | null = null
  private unwatch: () => void = nothing

  constructor(store: Store, settings: ClientSettings, owner: ConnectionOwner) {
    const { logger, clock, capacity } = settings
    this.store = store
    this.settings = settings
    this.owner = owner
    this.preparing = {
      jobs: settings.jobs,
      newId: settings.newId,
      clock,
      logger: settings.logger,
      middleware: settings.enqueueMiddleware,
      telemetry: settings.telemetry,
      span: null,
      copies: new WeakSet(),
    }
    const timers = (this.timers = new Timers(clock))
    const hub = (this.hub = new EventHub(logger))
    const repeated = (this.repeated = new RepeatedCalls(logger))
    this.results = new Results({ store, hub, timers, repeated })
    const ready = (): Promise<void> => this.ready()
    this.transactions = new Transactions({ store, hub, timers, logger, repeated, ready, ambient: settings.tx })
    const queueLimit = queueLimits(settings)
    this.inserter = new Inserter({
      store,
      // A capacity of 0 hands over every type.
      capacity: capacity === 0 ? null : capacity,
      queueLimit,
      timers,
      sent: (requests) => this.sent(requests),
      inserted: (jobs, answers) => this.inserted(jobs, answers),
      answered: () => owner.answered(),
      awaitsRoom: () => this.waits.begin(null),
    })
    const lookups = this.lookups()
    const watched = { store, hub, timers, ready: () => this.ready() }
    this.awaited = new RecordWatch({ ...watched, shows: false })
    this.shown = new RecordWatch({ ...watched, shows: true })
    this.machines = new MachineCalls({
      store,
      hub,
      timers,
      ready: () => this.ready(),
      jobs: settings.jobs,
      follow: () => this.follow,
      watch: this.awaited,
      cancel: (id, options) => owner.cancel(id, options),
      waits: this.waits,
      transactions: this.transactions,
      ...lookups,
    })
    this.schedules = new Schedules({
      store,
      hub,
      fires: owner.fires,
      ready: () => this.ready(),
      checkListed: (job) => checkListed(this.preparing, job),
      // The middleware is called for each tick, not for the declaration: what it adds may be of the moment.
      prepare: (job, input, options) => prepare({ ...this.preparing, middleware: [] }, job, input, options),
      prepareNow: (job, input, options) =>
        prepareNow({ ...this.preparing, middleware: [] }, job, input, enqueueOptions(options, 'options of schedule')),
      prepareTick: (job, id) => prepareTick(this.preparing, job, id),
      inserted: (jobs, answers) => this.inserted(jobs, answers),
      transactions: this.transactions,
    })
    const { machines, results, shown: watch, waits } = this
    const services = { owner, jobs: settings.jobs, results, machines, waits, watch, timers, hub, logger, ...lookups }
    const handles = (this.handleServices = handleServices(services))
    const { transactions } = this
    this.within = new InsertWithin({ store, settings, queueLimit, transactions, handles })
  }

  private lookups(): Pick<HandleServicesOptions, 'get' | 'record' | 'fork' | 'retry'> {
    return {
      get: (id) => this.get(id),
      record: (id) => this.record(id),
      fork: this.fork.bind(this),
      retry: async (id, options) => expectRetried(id, await this.retry([id], options)),
    }
  }

  /** Why new jobs are refused; null if they are accepted. */
  refusing(): JobchartError | null {
    return this.owner.refusing()
  }

  get opened(): boolean {
    return this.isOpen
  }

  /** Opens the store, the first time. @throws JobchartError STORE_UNAVAILABLE; STOPPED after the close */
  ready(): Promise<void> {
    if (this.closedBecause !== null) return Promise.reject(this.closedBecause)
    return (this.opening ??= this.store.open({ clock: this.settings.clock, signal: this.closing.signal }).then(
      async () => {
        if (this.closedBecause !== null) {
          // `close` did not wait for a store that was still opening.
          await this.store.close()
          throw this.closedBecause
        }
        this.isOpen = true
        this.unwatch = this.store.watch((hint) => this.hint(hint))
      },
      (error: unknown) => {
        this.opening = null
        throw this.closedBecause ?? error
      },
    ))
  }

  /** Ends every stream and wait, also if the store does not answer, then closes the store. */
  async close(reason: JobchartError, deadline = new CallDeadline(this.settings.clock)): Promise<void> {
    const { isOpen } = this
    this.closedBecause = reason
    this.repeated.close()
    this.closing.abort(reason)
    this.inserter.close(reason)
    this.transactions.close(reason)
    this.unwatch()
    if (isOpen) await this.results.close(reason, deadline)
    for (const ended of this.endListeners) ended()
    this.hub.complete()
    this.timers.cancelAll()
    this.isOpen = false
    try {
      if (isOpen) await deadline.wait(this.store.close())
    } finally {
      deadline.end()
    }
  }

  /** @param fromRun the caller is a running job: it is not refused during a stop, and the capacity does not apply */
  enqueue<Output, Machine extends MachineTypes = MachineTypes>(
    job: JobDefinition<unknown, Output>,
    input: unknown,
    options?: EnqueueOptions,
    fromRun = false,
    inserted?: Inserted<Output, Machine>,
  ): Promise<JobHandle<Output, Machine>> {
    if (this.settings.telemetry === null) return this.enqueueUnder(null, job, input, options, fromRun, inserted)
    const jobs = { type: typeIn(job), from: fromRun ? 'job' : 'call', count: null } as const
    return traced(this.settings, jobs, (span) =>
      this.enqueueUnder<Output, Machine>(span, job, input, options, fromRun, inserted),
    )
  }

  private enqueueUnder<Output, Machine extends MachineTypes>(
    span: SendSpan | null,
    job: JobDefinition<unknown, Output>,
    input: unknown,
    options: EnqueueOptions | undefined,
    fromRun: boolean,
    inserted: Inserted<Output, Machine> | undefined,
  ): Promise<JobHandle<Output, Machine>> {
    let made: NewJob | Promise<NewJob>
    let wait: WaitOptions | undefined
    let tx: OpenTransaction | null
    try {
      tx = this.transactions.of(options)
      made = this.prepare(job, input, options, fromRun, span)
      wait = waitOf(options)
    } catch (error) {
      // The method returns a promise also for invalid arguments.
      return Promise.reject(error)
    }
    if (tx !== null) return this.within.insertOne(tx, made, !fromRun)
    return made instanceof Promise
      ? made.then((later) => this.insertOne(later, !fromRun, wait, inserted))
      : this.insertOne(made, !fromRun, wait, inserted)
  }

  /** Enqueues a job by the name of its type, whose definition need not be known. */
  async enqueueByName(type: string, input: unknown, options?: EnqueueOptions): Promise<JobHandle> {
    const { settings } = this
    const job = settings.jobs.get(type)
    if (job !== undefined) return this.enqueue(job, input, options)
    const refusal = this.refusing()
    if (refusal !== null) throw refusal
    const tx = this.transactions.of(options)
    return traced(settings, { type, from: 'call', count: null }, async (span) => {
      const made = await this.prepareLater(prepareByName(this.preparingUnder(span), type, input, options), false)
      return tx === null ? this.insertOne(made, true, waitOf(options)) : this.within.insertOne(tx, made)
    })
  }

  /**
   * Enqueues a child job of a machine. Returns null if it was inserted, and the record if it existed. An existing job
   * that is no child of this parent (found by a unique key) sends no message at its end: its record is returned when it
   * has ended.
   */
  async enqueueChild(
    job: JobDefinition,
    input: unknown,
    options: EnqueueOptions,
    parent: Parent,
  ): Promise<JobRecord | null> {
    const jobs = { type: job.type, from: 'job', count: null } as const
    const { id, deduplicated } = await traced(this.settings, jobs, async (span) => {
      const made = { ...(await prepareChild(this.preparingUnder(span), job, input, options)), parent }
      return this.insertOne(made, false)
    })
    if (!deduplicated) return null
    const record = await this.record(id)
    if (record.parent?.id === parent.id || isEnded(record.state)) return record
    return new Promise((resolve, reject) => {
      const ended = (last: JobRecord | null): void => (last === null ? reject(notFound(id)) : resolve(last))
      this.results.whenEnded(id, ended, reject)
    })
  }

  /** Enqueues a job whose machine starts from a checkpoint of another job. */
  async fork<Output, Machine extends MachineTypes>(
    id: string,
    seq: number,
    options: EnqueueOptions = {},
  ): Promise<JobHandle<Output, Machine>> {
    const { record, state } = await this.machines.origin(id, seq)
    const { type, input, priority, tags, meta } = record
    const job = this.settings.jobs.get(type) as JobDefinition
    const tx = this.transactions.of(options)
    return traced(this.settings, { type, from: 'call', count: null }, async (span) => {
      const given = { priority, tags, meta, unique: false, ...options }
      const made = { ...(await this.prepare(job, input, given, false, span)), checkpoint: state }
      if (tx !== null) return this.within.insertOne<Output, Machine>(tx, made)
      return this.insertOne<Output, Machine>(made, true, waitOf(options))
    })
  }

  /** The job to insert, checked. @throws JobchartError STOPPED, and what `prepare` throws */
  prepare(
    job: JobDefinition,
    input: unknown,
    options: EnqueueOptions | undefined,
    fromRun = false,
    span: SendSpan | null = null,
  ): NewJob | Promise<NewJob> {
    const refusal = fromRun ? null : this.refusing()
    if (refusal !== null) throw refusal
    const made = prepare(this.preparingUnder(span), job, input, options, fromRun ? 'job' : 'call')
    return this.isOpen && !(made instanceof Promise) ? made : this.prepareLater(made, fromRun)
  }

  /** The jobs to insert, checked. @throws JobchartError STOPPED, and what `prepare` throws */
  prepareMany(
    job: JobDefinition,
    inputs: readonly unknown[],
    options: CheckedEnqueueOptions | undefined,
    span: SendSpan | null,
  ): NewJob[] | Promise<NewJob[]> {
    const refusal = this.refusing()
    if (refusal !== null) throw refusal
    const made = prepareMany(this.preparingUnder(span), job, inputs, options)
    return this.isOpen && !(made instanceof Promise) ? made : this.prepareLater(made, false)
  }

  /** What enqueues are prepared with. @param span of the enqueue, if it is traced */
  preparingUnder(span: SendSpan | null): PrepareOptions {
    return span === null ? this.preparing : { ...this.preparing, span }
  }

  private async prepareLater<Made>(made: Made | Promise<Made>, fromRun: boolean): Promise<Made> {
    // In parallel: the validation may reject while the store is still opening, and must not become an unhandled
    // rejection.
    const ready = this.ready()
    if (made instanceof Promise) await Promise.all([made, ready])
    else await ready
    const prepared = await made
    // A stop may have begun meanwhile.
    const refusal = fromRun ? null : this.refusing()
    if (refusal !== null) throw refusal
    return prepared
  }

  /** Inserts all of these jobs. With `wait` null and no room it inserts none and returns null. */
  insert<Output, Machine extends MachineTypes = MachineTypes>(
    jobs: readonly NewJob[],
    wait: WaitOptions | null | undefined,
  ): Promise<JobHandle<Output, Machine>[] | null> {
    return this.inserter.insert(jobs, true, wait, (_, answers) =>
      answers === null ? null : jobs.map((made, i) => this.handle<Output, Machine>(made, answers[i] as InsertAnswer)),
    )
  }

  private insertOne<Output, Machine extends MachineTypes>(
    made: NewJob,
    bounded: boolean,
    wait?: WaitOptions,
    inserted?: Inserted<Output, Machine>,
  ): Promise<JobHandle<Output, Machine>> {
    if (inserted === undefined) return this.inserter.insert([made], bounded, wait, this.finishOne<Output, Machine>)
    return this.inserter.insert([made], bounded, wait, (_, answers): JobHandle<Output, Machine> => {
      const handle = this.handle<Output, Machine>(made, answers?.[0] as InsertAnswer)
      inserted(handle)
      return handle
    })
  }

  /** A member, so that a call allocates no closure. */
  private readonly finishOne = <Output, Machine extends MachineTypes>(
    call: InsertCall<JobHandle<Output, Machine>>,
    answers: InsertAnswer[] | null,
  ): JobHandle<Output, Machine> => this.handle<Output, Machine>(call.jobs[0] as NewJob, answers?.[0] as InsertAnswer)

  private handle<Output, Machine extends MachineTypes>(
    { type, maxAttempts }: NewJob,
    answer: InsertAnswer,
  ): ClientHandle<Output, Machine> {
    const { id, sameInput = true, state, seq } = answer
    const counters = this.countersOfNew(maxAttempts)
    return new ClientHandle<Output, Machine>(
      this.handleServices,
      id,
      type,
      outcomeOf(answer),
      sameInput,
      state,
      seq,
      counters,
    )
  }

  /** @param ids one, if the options have a new input */
  async retry(ids: readonly string[], options: RetryFrom = {}): Promise<RetryReport> {
    const { fromStart, dropInbox } = retrySettings(options)
    await this.ready()
    const { store, hub, settings } = this
    const edit = 'input' in options ? await this.editedInput(ids[0] as string, options.input) : undefined
    const retry = (part: readonly string[]): Promise<RetryAnswer> =>
      promised(
        () => store.retry(part, fromStart, dropInbox, edit),
        (answer) => {
          hub.emitAll(answer.transitions)
          return answer
        },
      )
    const report = new Report(['retried', 'refused', 'notFound'])
    await inBatches(ids, retry, report, settings.clock)
    return report.made()
  }

  /** The input that a job is retried with, checked. @throws JobchartError INVALID_INPUT */
  private async editedInput(id: string, input: unknown): Promise<EditedInput | undefined> {
    const record = await this.get(id)
    return record === null ? undefined : checkedInput(this.settings.jobs.get(record.type), record.type, input)
  }

  handleOf<Output, Machine extends MachineTypes>(record: JobRecord): JobHandle<Output, Machine> {
    const { id, type, state, attempt, maxAttempts, generation, history } = record
    const counters = { attempt, maxAttempts, generation }
    const seq = history.at(-1)?.seq ?? 0
    return new ClientHandle<Output, Machine>(this.handleServices, id, type, 'kept', true, state, seq, counters)
  }

  scheduleHandle<Output, Machine extends MachineTypes>(name: string): ScheduleHandle<Output, Machine> {
    return new ClientScheduleHandle<Output, Machine>(name, this.schedules, async (job, answer, id) => {
      if (answer !== null) return this.handle<Output, Machine>(job, answer)
      return this.handleOf<Output, Machine>(await this.record(id))
    })
  }

  /** The counters of a new job. Consecutive jobs with equal counters share one object. */
  private countersOfNew(maxAttempts: number): JobCounters {
    const last = this.newJobCounters
    if (last.maxAttempts === maxAttempts) return last
    return (this.newJobCounters = { attempt: 0, maxAttempts, generation: 1 })
  }

  /** @throws JobchartError NOT_FOUND */
  async record(id: string): Promise<JobRecord> {
    const record = await this.get(id)
    if (record === null) throw notFound(id)
    return record
  }

  /** @throws JobchartError INVALID_OPTION */
  async get(id: string): Promise<JobRecord | null> {
    checkId(id)
    await this.ready()
    return (await this.store.get([id]))[0] ?? null
  }

  /** Options of the streams over the store. */
  get follow(): FollowOptions {
    const listen = (listeners: Set<() => void>) => (listener: () => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
    const { store, timers, hub } = this
    return {
      store,
      timers,
      logger: this.settings.logger,
      onChange: (changed) => {
        const offHints = listen(this.changeListeners)(changed)
        const offEvents = hub.onAll(changed)
        return () => {
          offHints()
          offEvents()
        }
      },
      onEnd: listen(this.endListeners),
      ready: () => this.ready(),
    }
  }

  /** Calls back when it is closed. */
  onClose(listener: () => void): void {
    this.endListeners.add(listener)
  }

  /** Calls back with each hint of the store, after the connection has handled it. */
  onHint(listener: (hint: Hint) => void): void {
    this.hintListeners.add(listener)
  }

  /**
   * Calls back when jobs of a type that can be claimed at once are being inserted, if the store groups calls: a claim
   * that is sent now finds them.
   */
  onInsert(listener: (type: string, jobs: number) => void): void {
    if (this.store.capabilities.groupsCalls === true) this.insertListeners.add(listener)
  }

  private sent(requests: readonly { readonly jobs: readonly NewJob[] }[]): void {
    if (this.insertListeners.size === 0) return
    const counts = new Map<string, number>()
    for (const { jobs } of requests) {
      for (const { type, runAt, delayMs } of jobs) {
        if (runAt === null && delayMs === 0) counts.set(type, (counts.get(type) ?? 0) + 1)
      }
    }
    for (const [type, count] of counts) for (const listener of this.insertListeners) listener(type, count)
  }

  private hint(hint: Hint): void {
    if (hint.kind === 'room') this.inserter.room(hint.type)
    const { kind } = hint
    if (kind === 'missed' || kind === 'rollback' || kind === 'restart') this.inserter.room()
    if (hint.kind === 'rollback')
      this.settings.logger.warn('the store lost its last writes', { error: rolledBack(hint) })
    if (hint.kind === 'missed' && hint.error !== undefined)
      this.settings.logger.warn('what other processes do is noticed late', { error: hint.error })
    if (hint.kind === 'unsafe') this.settings.logger.warn('the store may lose jobs', { error: hint.error })
    this.results.hint(hint)
    this.awaited.hint(hint)
    this.shown.hint(hint)
    for (const listener of this.hintListeners) listener(hint)
    for (const changed of this.changeListeners) changed()
  }

  /** Emits the events of jobs that were stored. */
  inserted(jobs: readonly NewJob[], answers: readonly InsertAnswer[]): void {
    const { hub } = this
    this.owner.stored()
    if (!hub.hasListeners) return
    answers.forEach(({ outcome, id, state, seq, at, superseded }, i) => {
      if (superseded !== undefined) hub.emit(superseded)
      if (outcome !== 'inserted' || !hub.hasListener(id)) return
      const { type, meta } = jobs[i] as NewJob
      hub.emit({ seq, at, id, type, event: 'ENQUEUE', from: null, to: state, attempt: 0, ...(meta && { meta }) })
    })
  }
}

const nothing = (): void => {}

const rolledBack = ({ seen, left }: Hint & { readonly kind: 'rollback' }): JobchartError =>
  new JobchartError('STORE_ROLLED_BACK', `transitions ${left + 1} to ${seen} are gone: the server has an older state`, {
    hint: 'Jobs enqueued since are lost, others may run again. See what the persistence of the server promises.',
  })

function outcomeOf(answer: InsertAnswer): EnqueueOutcome {
  const { outcome } = answer
  if (outcome !== 'inserted') return outcome === 'replaced' ? 'replaced' : 'kept'
  return outcomeOfNew(answer)
}

/** The limit of the queue of a type; null if no queue has one. */
function queueLimits({ jobs, capacity }: ClientSettings): InserterOptions['queueLimit'] {
  if (capacity === 0) return (type) => ({ type, capacity })
  const limits = [...jobs.values()].flatMap(({ type, capacity: own }): [string, QueueLimit][] =>
    own === null ? [] : [[type, { type, capacity: own }]],
  )
  const byType = new Map(limits)
  return byType.size === 0 ? null : (type) => byType.get(type)
}
