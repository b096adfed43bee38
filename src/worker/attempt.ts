/**
 * One attempt of a job: validates the input, calls the middleware and the handler, and awaits their end.
 *
 * A run only reports how it ended. `decide.ts` decides by the chart what becomes of the job, and `settle.ts` writes it.
 * A run ends once: the result of an abandoned handler is refused.
 */
import type { Observable, Subscription } from 'rxjs'
import type { Timer } from '../core/clock.ts'
import type {
  ContextValues,
  JobDefinition,
  MachineRunContext,
  Middleware,
  RunContext,
  RunResult,
  RunWithin,
} from '../core/definition.ts'
import type { EnqueueOptions } from '../core/call-options.ts'
import type { Duration } from '../core/duration.ts'
import type { OpenTransaction, SynchronousTransaction } from '../core/open-transaction.ts'
import type { JobHandle } from '../core/handle.ts'
import type { Json } from '../core/payload.ts'
import { JobchartError, TimeoutError } from '../core/errors.ts'
import type { CheckIn, JobRecord, LogLine } from '../core/record.ts'
import { fatal } from '../core/intent.ts'
import type { InboxEntry } from '../core/machine-record.ts'
import { parseInput } from '../client/validate.ts'
import type { Logger } from '../core/logger.ts'
import type {
  AttemptEnd,
  AttemptPart,
  AttemptSpan,
  StartedAttempt,
  Telemetry,
  TraceContext,
} from '../core/telemetry.ts'
import type { ClaimedJob } from '../store.ts'
import type { Batches } from './batches.ts'
import type { ConfirmedLease } from './lease-clock.ts'
import { throughMiddleware } from './middleware.ts'
import { RunEnqueue } from './run-enqueue.ts'
import { StepResults, Steps, type StepTransaction } from '../core/steps.ts'
import { isThenable } from '../core/thenable.ts'
import type { Timers } from '../client/timers.ts'
import type { Waits } from '../client/waits.ts'
import type { RunTransactions } from './run-transactions.ts'
import type { ThreadRun, Threads } from './threads.ts'

/** The calls of `ctx` to the runtime. */
export interface ContextServices {
  /**
   * Why the run may begin no more work: it has ended, was asked to end, or its lease may have expired; null if it may.
   */
  readonly refusal: (run: Run) => JobchartError | null
  /** Stores the result of a step. @throws JobchartError LEASE_LOST, STORE_UNAVAILABLE */
  readonly saveStep: (
    run: Run,
    name: string,
    result: Json,
    tx: OpenTransaction | null,
  ) => Promise<StepTransaction | null>
  /** End the attempt with a transaction. @throws as `ctx.complete` */
  readonly complete: (run: Run, tx: OpenTransaction, output: unknown) => Promise<void>
  readonly fail: (run: Run, tx: OpenTransaction, error: unknown) => Promise<void>
  readonly snooze: (run: Run, tx: OpenTransaction, delay: Duration) => Promise<void>
  readonly within: (run: Run, tx: SynchronousTransaction) => RunWithin
  /** @throws JobchartError INVALID_OUTPUT if the value is not strict JSON */
  readonly checkin: (run: Run, value: unknown) => void
  readonly log: (run: Run, message: string, fields?: Record<string, unknown>) => void
  readonly enqueue: <I, O>(job: JobDefinition<I, O>, input: unknown, options: EnqueueOptions) => Promise<JobHandle<O>>
  readonly enqueueNow: <I, O>(
    tx: SynchronousTransaction,
    job: JobDefinition<I, O>,
    input: unknown,
    options: EnqueueOptions,
  ) => JobHandle<O>
}

/** The calls of a run to the runtime. */
export interface RunServices extends ContextServices {
  readonly middleware: readonly Middleware[]
  readonly telemetry: Telemetry | null
  readonly timers: Timers
  readonly threads: Threads
  readonly batches: Batches
  readonly logger: Logger
  readonly waits: Waits
  /** The context for the machine of the job. */
  readonly machineContext: (run: Run, input: unknown) => MachineRunContext
  /** Aborts the run if the job was cancelled or its queue paused since the claim. */
  readonly confirm: (run: Run) => void
  /** Changes the number of abandoned handlers that have not ended. */
  readonly abandoned: (change: 1 | -1) => void
}

/**
 * `returned` and `threw`: the handler's own end · `abandoned`: it did not end in time · `unstarted`: a cancel or stop
 * came before its start.
 */
type Ending = 'returned' | 'threw' | 'abandoned' | 'unstarted'

/** Time from the timeout of a handler until it is abandoned, and from the end of its thread until its middleware is. */
const abandonAfterMs = 1_000

/** The listener for messages to a machine, and the number of the last delivered one. */
export class Mailbox {
  after: number
  readonly listener: (messages: readonly InboxEntry[]) => void

  constructor(after: number, listener: Mailbox['listener']) {
    this.after = after
    this.listener = listener
  }
}

export class Run {
  readonly claimed: ClaimedJob
  readonly job: JobDefinition
  readonly services: RunServices
  /** Index in the list of `Runs`. */
  place = 0
  lease: ConfirmedLease
  ending: Ending | null = null
  /** The returned value or the thrown error. */
  result: unknown = undefined
  /** Why it was asked to end early. */
  abortReason: JobchartError | null = null
  /** Reports that are not written yet. */
  checkin: CheckIn | null = null
  logs: LogLine[] | null = null
  steps: Steps | null = null
  enqueue: RunEnqueue | null = null
  /** For the messages to its machine. */
  mailbox: Mailbox | null = null
  /** How the run of its machine ended. */
  machineResult: RunResult | null = null
  /** What it has written in transactions of its handler; null: nothing. */
  transactions: RunTransactions | null = null
  /** The limit of attempts after a checkpoint has raised it; else null. */
  maxAttempts: number | null = null
  /** For telemetry; null without, and before the start. */
  span: AttemptSpan | null = null
  /** Monotonic ms. */
  private spanBeganAt = 0
  /** How long it has taken. */
  private spanMs = 0
  /** Has middleware, handler or machine been called? */
  hasBegun = false
  /** Called once when it has ended; null before its start. */
  private onEnd: ((run: Run) => void) | null = null
  private controller: AbortController | null = null
  /** Of a machine, which needs no signal. */
  private abortListener: ((reason: unknown) => void) | null = null
  private timer: Timer | null = null
  /** When the handler is abandoned, monotonic ms; null = not yet known. */
  private abandonAt: number | null = null
  /** The handler, if it runs in a thread. */
  private inThread: ThreadRun | null = null
  /** Cancels the Observable that the handler has returned. */
  private cancelStream: ((reason: JobchartError) => void) | null = null

  constructor(claimed: ClaimedJob, job: JobDefinition, services: RunServices, lease: ConfirmedLease) {
    this.claimed = claimed
    this.job = job
    this.services = services
    this.lease = lease
  }

  /** Created on demand: most handlers do not use it. */
  get signal(): AbortSignal {
    if (this.controller === null) {
      this.controller = new AbortController()
      if (this.abortReason !== null) this.controller.abort(this.abortReason)
    }
    return this.controller.signal
  }

  /** How long the attempt may take; null = as long as it likes. */
  get timeoutMs(): number | null {
    return this.claimed.pins?.attemptTimeoutMs ?? this.job.attemptTimeoutMs
  }

  /** Sets the one listener for an abort. A signal costs more than the rest of a wake of a machine. */
  onAbort(listener: (reason: unknown) => void): void {
    this.abortListener = listener
    if (this.abortReason !== null) listener(this.abortReason)
  }

  get hasStarted(): boolean {
    return this.onEnd !== null
  }

  /** @param onEnd called once when it has ended: its slot is free, and its end is to be settled */
  start(onEnd: (run: Run) => void): void {
    const { job, services, timeoutMs } = this
    this.onEnd = onEnd
    if (timeoutMs !== null) this.timer = services.timers.after(timeoutMs, () => this.timeOut())
    if (services.telemetry !== null) this.beginSpan(services.telemetry)
    try {
      const context = new Context(this)
      if (job.schema === null && services.middleware.length === 0 && job.machine === null) {
        this.hasBegun = true
        this.follow(this.within(() => this.callHandler(this.claimed.input, context)))
      } else {
        this.follow(this.within(() => this.withMiddleware(context)))
      }
    } catch (error) {
      this.end('threw', error)
    }
  }

  /** What `work` awaits, enqueues and traces is found to be of this run. */
  private within<T>(work: () => T): T {
    return this.services.waits.call(this, this.span === null ? work : () => this.traced(work))
  }

  /** What `work` enqueues and traces is found to be of this run. */
  traced<T>(work: () => T): T {
    return this.span === null ? work() : this.span.within(work)
  }

  /** The same for a part of the run that has a name. */
  tracedPart<T>(kind: AttemptPart, name: string, work: () => T): T {
    return this.span === null ? work() : this.span.part(kind, name, work)
  }

  private beginSpan(telemetry: Telemetry): void {
    this.span = telemetry.attempt(startedAttempt(this))
    this.spanBeganAt = this.services.timers.clock.monotonic()
  }

  /** How it has ended, for telemetry: once that is stored. */
  endSpan(end: AttemptEnd): void {
    const { span } = this
    this.span = null
    span?.end(end, this.spanMs)
  }

  /** Delivers messages, in order. The listener skips those that it has had before. */
  deliver(messages: readonly InboxEntry[]): void {
    const { mailbox } = this
    const last = messages.at(-1)
    if (mailbox === null || last === undefined || this.ending !== null) return
    mailbox.after = Math.max(mailbox.after, last.number)
    mailbox.listener(messages)
  }

  /** Asks the handler to end; the first reason stays. */
  abort(reason: JobchartError): void {
    if (this.ending !== null || this.abortReason !== null) return
    this.abortReason = reason
    this.controller?.abort(reason)
    this.abortListener?.(reason)
    if (this.cancelStream !== null) {
      // Unsubscribing ends an Observable at once.
      this.cancelStream(reason)
      this.end('threw', reason)
    }
  }

  /** Abandons the handler if it has not ended after `graceMs`. An earlier time that was set before stays. */
  abandonAfter(graceMs: number): void {
    if (this.ending !== null || this.onEnd === null) return
    const at = this.services.timers.clock.monotonic() + graceMs
    if (this.abandonAt !== null && at >= this.abandonAt) return
    this.abandonAt = at
    this.timer?.cancel()
    this.timer = this.services.timers.after(graceMs, () => this.abandon())
  }

  /** Aborts the run, and abandons its handler if it has not ended after `graceMs`. */
  abortWithin(reason: JobchartError, graceMs: number): void {
    this.abort(reason)
    this.abandonAfter(graceMs)
  }

  /** Stops waiting for the handler. Its slot becomes free, and its late result is refused. */
  private abandon(): void {
    if (this.ending !== null || this.onEnd === null) return
    const { logger, abandoned } = this.services
    const { id, type, attempt } = this.claimed
    const about = { id, type, attempt, reason: this.abortReason?.code }
    if (this.inThread !== null) {
      logger.info('a handler did not end in time; its thread is ended', about)
      void this.endThread(this.inThread)
      return
    }
    logger.warn('a handler did not end in time and is abandoned; its slot is free, its result will be refused', about)
    abandoned(1)
    this.end('abandoned', undefined)
  }

  /** Ends the handler with its thread. Middleware around it is abandoned if it does not end after that. */
  private async endThread(inThread: ThreadRun): Promise<void> {
    this.inThread = null
    await inThread.terminate()
    if (this.ending !== null) return
    this.timer = this.services.timers.after(abandonAfterMs, () => this.abandon())
  }

  /** Ends a run that must not start. */
  skip(reason: JobchartError, onEnd: (run: Run) => void): void {
    this.onEnd = onEnd
    this.abortReason ??= reason
    this.end('unstarted', undefined)
  }

  private timeOut(): void {
    const { id, type, attempt } = this.claimed
    this.abort(
      new TimeoutError(`attempt ${attempt} of job ${id} (${type}) took longer than ${this.timeoutMs} ms`, {
        hint: 'Raise `attemptTimeout` of the job, or pass ctx.signal to what the handler waits for.',
      }),
    )
    this.abandonAfter(abandonAfterMs)
  }

  private async withMiddleware(context: RunContext): Promise<unknown> {
    const { job, services, claimed } = this
    // Before the input is validated: another version of the machine may have another schema.
    const machine = job.machine?.prepare(claimed) ?? null
    if (machine !== null && typeof machine !== 'function') {
      this.machineResult = machine
      return undefined
    }
    // Without a schema it begins in the turn of its start: the store has just confirmed all jobs that start in it, in
    // one call.
    const input = job.schema === null ? claimed.input : await this.validInput()
    // The validation, or an older checkpoint, may have taken long.
    services.confirm(this)
    if (this.abortReason !== null) throw this.abortReason
    this.hasBegun = true
    return throughMiddleware({
      middleware: services.middleware,
      context,
      handler: async () =>
        machine === null
          ? this.collect(await this.callHandler(input, context))
          : this.runMachine(await machine(this.services.machineContext(this, input))),
      logger: services.logger,
    })
  }

  /** @throws JobchartError INVALID_INPUT, fatal: a retry would fail in the same way */
  private validInput(): Promise<unknown> {
    return parseInput(this.job, this.claimed.input).catch((error: unknown) => Promise.reject(fatal(error)))
  }

  private callHandler(input: unknown, context: RunContext): unknown {
    const { job, services } = this
    if (job.batch !== null) return services.batches.join(job, job.batch, context, input, this.span)
    if (job.thread === null) return job.run(input, context)
    this.inThread = services.threads.run(job.thread, context, input)
    return this.inThread.output
  }

  private runMachine(result: RunResult): unknown {
    this.machineResult = result
    return result.kind === 'done' ? result.output : undefined
  }

  private follow(result: unknown): void {
    if (isThenable(result)) {
      result.then(
        (value) => (isObservable(value) ? this.follow(value) : this.end('returned', value)),
        (error: unknown) => this.end('threw', error),
      )
    } else if (isObservable(result)) this.follow(this.collect(result))
    else this.end('returned', result)
  }

  /** Turns the values of an Observable into check-ins, and resolves with the last one. Other values are returned. */
  private collect(result: unknown): unknown {
    if (!isObservable(result)) return result
    return new Promise((resolve, reject) => {
      let last: unknown
      let over = false
      let stream: Subscription | null = null
      const cancel = (reason: unknown): void => {
        over = true
        this.cancelStream = null
        reject(reason)
        if (stream !== null) this.unsubscribe(stream)
      }
      this.cancelStream = cancel
      stream = result.subscribe({
        next: (value: unknown) => {
          if (over) return
          last = value
          try {
            this.services.checkin(this, value)
          } catch (error) {
            cancel(error)
          }
        },
        error: cancel,
        complete: () => {
          this.cancelStream = null
          resolve(last)
        },
      })
      // It may have ended synchronously, before `stream` was set.
      if (over) this.unsubscribe(stream)
      else if (this.abortReason !== null) cancel(this.abortReason)
    })
  }

  private unsubscribe(stream: Subscription): void {
    try {
      stream.unsubscribe()
    } catch (error) {
      this.services.logger.error('an Observable threw when it was unsubscribed from', { error, id: this.claimed.id })
    }
  }

  private end(ending: Ending, result: unknown): void {
    if (this.ending !== null) {
      if (this.ending === 'abandoned') {
        this.services.abandoned(-1)
        this.services.logger.warn('refused the late result of an abandoned handler', { id: this.claimed.id, ending })
      }
      return
    }
    this.ending = ending
    this.result = result
    if (this.span !== null) this.spanMs = this.services.timers.clock.monotonic() - this.spanBeganAt
    // Old objects may refer to this run until all of the memory is collected: its machine need not stay so long.
    this.mailbox = this.abortListener = null
    if (this.timer !== null) this.timer.cancel()
    this.onEnd?.(this)
  }
}

/**
 * `ctx`, the second argument of a handler. Its functions are bound, so that they may be destructured, and made on
 * demand.
 */
class Context implements RunContext {
  private readonly run: Run
  private own: ContextValues | null = null

  constructor(run: Run) {
    this.run = run
  }

  get id(): string {
    return this.run.claimed.id
  }

  get type(): string {
    return this.run.claimed.type
  }

  get attempt(): number {
    return this.run.claimed.attempt
  }

  get maxAttempts(): number {
    return this.run.claimed.maxAttempts
  }

  get signal(): AbortSignal {
    return this.run.signal
  }

  get deadline(): number | null {
    const { claimed, timeoutMs } = this.run
    return timeoutMs === null ? null : claimed.startedAt + timeoutMs
  }

  get job(): JobRecord {
    return this.run.claimed.record()
  }

  get trace(): TraceContext | null {
    return this.run.span?.context ?? null
  }

  get values(): ContextValues {
    // The application declares the members, and its middleware sets them.
    return (this.own ??= {} as ContextValues)
  }

  get checkin(): RunContext['checkin'] {
    return (value) => this.run.services.checkin(this.run, value)
  }

  get log(): RunContext['log'] {
    return (message, fields) => this.run.services.log(this.run, message, fields)
  }

  get step(): RunContext['step'] {
    const { run } = this
    return (name, work, options) =>
      (run.steps ??= stepsOf(run)).once(name, () => run.tracedPart('step', name, work), options?.tx)
  }

  get complete(): RunContext['complete'] {
    return (tx, output) => this.run.services.complete(this.run, tx, output)
  }

  get fail(): RunContext['fail'] {
    return (tx, error) => this.run.services.fail(this.run, tx, error)
  }

  get snooze(): RunContext['snooze'] {
    return (tx, delay) => this.run.services.snooze(this.run, tx, delay)
  }

  get within(): RunContext['within'] {
    return (tx) => this.run.services.within(this.run, tx)
  }

  get enqueue(): RunContext['enqueue'] {
    const { run } = this
    return async (job, ...[input, options = {}]) => {
      if (run.ending !== null) throw runIsOver(run)
      const enqueue = (run.enqueue ??= new RunEnqueue(run.claimed))
      return enqueue.enqueue(job?.type, input, options, (made) =>
        run.traced(() => run.services.enqueue(job, input, made)),
      )
    }
  }
}

function stepsOf(run: Run): Steps {
  const { id, attempt, steps } = run.claimed
  return new Steps({
    results: new StepResults(id, steps),
    attempt: `attempt ${attempt} of job ${id}`,
    refusal: () => run.services.refusal(run),
    save: (name, result, tx) => run.services.saveStep(run, name, result, tx),
  })
}

/** An attempt that begins, as telemetry sees it. */
const startedAttempt = ({ claimed }: Run): StartedAttempt => ({
  id: claimed.id,
  type: claimed.type,
  attempt: claimed.attempt,
  generation: claimed.generation,
  context: claimed.pins?.trace,
  isFirst: () =>
    claimed.attempt === 1 &&
    claimed.generation === 1 &&
    claimed.checkpoint === null &&
    claimed.record().history.filter(({ event }) => event === 'CLAIM').length === 1,
  queuedMs: () => {
    const queued = claimed.record().history.findLast(({ to }) => to === 'queued')
    return queued === undefined ? null : Math.max(0, claimed.startedAt - queued.at)
  },
})

export const runIsOver = ({ claimed: { id } }: Run): JobchartError =>
  new JobchartError('NOT_ACCEPTED', `the run of job ${id} has ended: it cannot begin more work`, {
    hint: 'Await ctx.step and ctx.enqueue within the handler. After its end, enqueue with the runtime.',
  })

function isObservable(value: unknown): value is Observable<unknown> {
  if (typeof value !== 'object' || value === null) return false
  try {
    const { subscribe, pipe } = value as { subscribe?: unknown; pipe?: unknown }
    return typeof subscribe === 'function' && typeof pipe === 'function'
  } catch {
    // A getter threw: it is no Observable.
    return false
  }
}
