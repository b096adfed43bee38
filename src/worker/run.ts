/**
 * One attempt: validate, go through the middleware into the handler, wait for its end.
 *
 * A run only ever reports how it ended; what becomes of the job is decided by the chart (`decide.ts`) and written by
 * `settle.ts`. A run ends once: what a handler says after it was abandoned is refused.
 */
import type { Observable, Subscription } from 'rxjs'
import type { Timer } from '../core/clock.ts'
import type { JobDefinition, Middleware, RunContext, RunResult, MachineRunContext } from '../core/definition.ts'
import { TimeoutError, type JobchartError } from '../core/errors.ts'
import type { CheckIn, LogLine } from '../core/record.ts'
import { fatal } from '../core/intent.ts'
import type { InboxEntry } from '../core/machine-record.ts'
import { parseInput } from '../client/validate.ts'
import type { Logger } from '../core/logger.ts'
import type { ClaimedJob } from '../store.ts'
import { Lane } from './lanes.ts'
import { throughMiddleware } from './middleware.ts'
import { contextOf, type ContextServices } from './run-context.ts'
import type { RunEnqueue } from './run-enqueue.ts'
import type { Steps } from '../core/steps.ts'
import type { Timers } from '../client/timers.ts'

/** What a run asks of the runtime. */
export interface RunServices extends ContextServices {
  readonly middleware: readonly Middleware[]
  readonly timers: Timers
  readonly logger: Logger
  /** The run is over; its slot is free and its end waits to be settled. */
  readonly ended: (run: Run) => void
  /** The seat of the machine that is its handler. */
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

  constructor(claimed: ClaimedJob, job: JobDefinition, host: RunServices, fenceAt: number) {
    this.claimed = claimed
    this.job = job
    this.services = host
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

  start(): void {
    const { job, services: host } = this
    this.started = true
    if (job.timeoutMs !== null) this.timer = host.timers.after(job.timeoutMs, () => this.timeOut())
    try {
      const context = contextOf(this)
      if (job.schema === null && host.middleware.length === 0 && job.machine === null) {
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
      new TimeoutError(`attempt ${attempt} of job ${id} (${type}) took longer than ${this.job.timeoutMs} ms`, {
        hint: 'Raise `timeout` of the job, or pass ctx.signal to what the handler waits for.',
      }),
    )
    this.abandonAfter(abandonAfterMs)
  }

  private async withMiddleware(context: RunContext): Promise<unknown> {
    const { job, services: host, claimed } = this
    // Before its input is looked at: that of another version may have another schema.
    const machine = job.machine?.prepare(claimed) ?? null
    if (machine !== null && typeof machine !== 'function') {
      this.machineResult = machine
      return undefined
    }
    // An input that the schema refuses now will be refused every time.
    const input = await parseInput(job, claimed.input).catch((error: unknown) => Promise.reject(fatal(error)))
    // A schema may have taken its time.
    host.confirm(this)
    if (this.abortReason !== null) throw this.abortReason
    this.hasBegun = true
    return throughMiddleware({
      middleware: host.middleware,
      context,
      handler: async () =>
        machine === null
          ? this.collect(await job.run(input, context))
          : this.runMachine(await machine(this.services.machineContext(this, input))),
      logger: host.logger,
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
