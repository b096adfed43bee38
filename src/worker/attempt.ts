/**
 * One attempt: validate, go through the middleware into the handler, wait for its end.
 *
 * A run only ever reports how it ended; what becomes of the job is decided by the chart (`decide.ts`) and written by
 * `settle.ts`. A run ends once: what a handler says after it was abandoned is refused.
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
} from '../core/definition.ts'
import type { EnqueueOptions } from '../core/call-options.ts'
import type { JobHandle } from '../core/handle.ts'
import type { Json } from '../core/payload.ts'
import { JobchartError, TimeoutError } from '../core/errors.ts'
import type { CheckIn, JobRecord, LogLine } from '../core/record.ts'
import { fatal } from '../core/intent.ts'
import type { InboxEntry } from '../core/machine-record.ts'
import { parseInput } from '../client/validate.ts'
import type { Logger } from '../core/logger.ts'
import type { ClaimedJob } from '../store.ts'
import { Lane } from './lanes.ts'
import { throughMiddleware } from './middleware.ts'
import { RunEnqueue } from './run-enqueue.ts'
import { StepResults, Steps } from '../core/steps.ts'
import type { Timers } from '../client/timers.ts'

/** What `ctx` asks of the runtime. */
export interface ContextServices {
  /** Why the run may begin no more work, if so: it has ended, was asked to end, or its lease may have run out. */
  readonly refusal: (run: Run) => JobchartError | null
  /** Keeps the result of a step with the job. @throws JobchartError LEASE_LOST, STORE_UNAVAILABLE */
  readonly saveStep: (run: Run, name: string, result: Json) => Promise<void>
  /** @throws JobchartError INVALID_OUTPUT if the value is not strict JSON */
  readonly checkin: (run: Run, value: unknown) => void
  readonly log: (run: Run, message: string, fields?: Record<string, unknown>) => void
  readonly enqueue: <I, O>(job: JobDefinition<I, O>, input: unknown, options: EnqueueOptions) => Promise<JobHandle<O>>
}

/** What a run asks of the runtime. */
export interface RunServices extends ContextServices {
  readonly middleware: readonly Middleware[]
  readonly timers: Timers
  readonly logger: Logger
  /** The run is over; its slot is free and its end waits to be settled. */
  readonly ended: (run: Run) => void
  /** What the machine that does the work of the job is given. */
  readonly machineContext: (run: Run, input: unknown) => MachineRunContext
  /** Aborts a run that must not call user code any more, because of what was asked since its claim. */
  readonly confirm: (run: Run) => void
  /** So many more (or, −1, fewer) handlers go on that nobody waits for. */
  readonly abandoned: (change: 1 | -1) => void
}

/**
 * `returned` and `threw`: the handler's own end · `abandoned`: it did not end in time · `unstarted`: a cancel or stop came
 * before its start.
 */
export type Ending = 'returned' | 'threw' | 'abandoned' | 'unstarted'

/** How long a handler may go on after its timeout before it is abandoned. */
const abandonAfterMs = 1_000

export class Run {
  readonly lane = Lane.settle
  readonly claimed: ClaimedJob
  readonly job: JobDefinition
  readonly services: RunServices
  /** Its place among the runs of this process. */
  place = 0
  /** Own time (monotonic ms) from which the lease must be taken as lost. */
  fenceAt: number
  /** When the store was asked last whether it may start, by the clock of leases (ms). */
  confirmedAt = -Infinity
  ending: Ending | null = null
  /** What it returned or threw. */
  result: unknown = undefined
  /** Why it was asked to end early. */
  abortReason: JobchartError | null = null
  /** Signs of life not written yet. */
  checkin: CheckIn | null = null
  logs: LogLine[] | null = null
  steps: Steps | null = null
  enqueue: RunEnqueue | null = null
  /** Who reads its messages, and the number of the last that was given to him. */
  mailbox: { after: number; readonly listener: (messages: readonly InboxEntry[]) => void } | null = null
  /** Where its machine has come to rest. */
  machineResult: RunResult | null = null
  /** Attempts the job may spend, once a checkpoint has changed that. */
  maxAttempts: number | null = null
  /** Has user code been called? Before that its input is validated. */
  hasBegun = false
  private started = false
  private controller: AbortController | null = null
  private timer: Timer | null = null
  /** When the handler is abandoned, monotonic ms. */
  private abandonAt = Infinity
  /** Cancels the Observable that is followed. */
  private cancelStream: ((reason: JobchartError) => void) | null = null

  constructor(claimed: ClaimedJob, job: JobDefinition, services: RunServices, fenceAt: number) {
    this.claimed = claimed
    this.job = job
    this.services = services
    this.fenceAt = fenceAt
  }

  /** Made on demand: most handlers never look at it. */
  get signal(): AbortSignal {
    if (this.controller === null) {
      this.controller = new AbortController()
      if (this.abortReason !== null) this.controller.abort(this.abortReason)
    }
    return this.controller.signal
  }

  /** How long the attempt may take; null = as long as it likes. */
  get timeoutMs(): number | null {
    return this.claimed.pins?.timeoutMs ?? this.job.timeoutMs
  }

  start(): void {
    const { job, services, timeoutMs } = this
    this.started = true
    if (timeoutMs !== null) this.timer = services.timers.after(timeoutMs, () => this.timeOut())
    try {
      const context = new Context(this)
      if (job.schema === null && services.middleware.length === 0 && job.machine === null) {
        this.hasBegun = true
        this.follow(job.run(this.claimed.input, context))
      } else {
        this.follow(this.withMiddleware(context))
      }
    } catch (error) {
      this.end('threw', error)
    }
  }

  /** Gives it messages that have come, in order; those it has had already are passed over by who reads them. */
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
    if (this.cancelStream !== null) {
      // An Observable is cancelled by unsubscribing, and then it is over.
      this.cancelStream(reason)
      this.end('threw', reason)
    }
  }

  /** Abandons the handler if it has not ended `graceMs` from now; a time that was set before is never put off. */
  abandonAfter(graceMs: number): void {
    if (this.ending !== null || !this.started) return
    const at = this.services.timers.clock.monotonic() + graceMs
    if (at >= this.abandonAt) return
    this.abandonAt = at
    this.timer?.cancel()
    this.timer = this.services.timers.after(graceMs, () => this.abandon())
  }

  /** Stops waiting for the handler. Its slot is free, whatever it still says is refused. */
  private abandon(): void {
    if (this.ending !== null || !this.started) return
    this.services.logger.warn(
      'a handler did not end in time and is abandoned; its slot is free, its result will be refused',
      {
        id: this.claimed.id,
        type: this.claimed.type,
        attempt: this.claimed.attempt,
        reason: this.abortReason?.code,
      },
    )
    this.services.abandoned(1)
    this.end('abandoned', undefined)
  }

  /** Ends a run that must not start. */
  skip(reason: JobchartError): void {
    this.abortReason ??= reason
    this.end('unstarted', undefined)
  }

  private timeOut(): void {
    const { id, type, attempt } = this.claimed
    this.abort(
      new TimeoutError(`attempt ${attempt} of job ${id} (${type}) took longer than ${this.timeoutMs} ms`, {
        hint: 'Raise `timeout` of the job, or pass ctx.signal to what the handler waits for.',
      }),
    )
    this.abandonAfter(abandonAfterMs)
  }

  private async withMiddleware(context: RunContext): Promise<unknown> {
    const { job, services, claimed } = this
    // Before its input is looked at: that of another version may have another schema.
    const machine = job.machine?.prepare(claimed) ?? null
    if (machine !== null && typeof machine !== 'function') {
      this.machineResult = machine
      return undefined
    }
    // An input that the schema refuses now will be refused every time.
    const input = await parseInput(job, claimed.input).catch((error: unknown) => Promise.reject(fatal(error)))
    // A schema may have taken its time.
    services.confirm(this)
    if (this.abortReason !== null) throw this.abortReason
    this.hasBegun = true
    return throughMiddleware({
      middleware: services.middleware,
      context,
      handler: async () =>
        machine === null
          ? this.collect(await job.run(input, context))
          : this.runMachine(await machine(this.services.machineContext(this, input))),
      logger: services.logger,
    })
  }

  private runMachine(rest: RunResult): unknown {
    this.machineResult = rest
    return rest.kind === 'done' ? rest.output : undefined
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

  /** An Observable's values become check-ins; it resolves with the last one. Anything else is itself. */
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
      // It may have been over before there was anything to unsubscribe from.
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
    if (this.timer !== null) this.timer.cancel()
    this.services.ended(this)
  }
}

/** What a handler sees of its run: `ctx`. Functions are made when asked for, bound, so that they may be destructured. */
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

  get values(): ContextValues {
    // Its members are the application's: to declare, and for its middleware to set.
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
    return (name, work) => (run.steps ??= stepsOf(run)).once(name, work)
  }

  get enqueue(): RunContext['enqueue'] {
    const { run } = this
    return async (job, ...[input, options = {}]) => {
      if (run.ending !== null) throw runIsOver(run)
      const enqueue = (run.enqueue ??= new RunEnqueue(run.claimed))
      return run.services.enqueue(job, input, enqueue.options(job?.type, input, options))
    }
  }
}

function stepsOf(run: Run): Steps {
  const { id, attempt, steps } = run.claimed
  return new Steps({
    results: new StepResults(id, steps),
    attempt: `attempt ${attempt} of job ${id}`,
    refusal: () => run.services.refusal(run),
    save: (name, result) => run.services.saveStep(run, name, result),
  })
}

export const runIsOver = ({ claimed: { id } }: Run): JobchartError =>
  new JobchartError('NOT_ACCEPTED', `the run of job ${id} is over: it begins no more work`, {
    hint: 'Await ctx.step and ctx.enqueue within the handler; what comes later belongs to the runtime.',
  })

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

function isObservable(value: unknown): value is Observable<unknown> {
  if (typeof value !== 'object' || value === null) return false
  try {
    const { subscribe, pipe } = value as { subscribe?: unknown; pipe?: unknown }
    return typeof subscribe === 'function' && typeof pipe === 'function'
  } catch {
    // A getter threw: whatever it is, it is no Observable.
    return false
  }
}
