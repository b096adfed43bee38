/** One run of a handler, in its thread: makes its context of messages, and calls it. */
import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads'
import { caps } from '../core/caps.ts'
import { systemClock, type Timer } from '../core/clock.ts'
import { invalidOption, JobchartError } from '../core/errors.ts'
import { fatal } from '../core/intent.ts'
import { logFieldLimits, payloadLimits } from '../core/limits.ts'
import { toPayload, type Json } from '../core/payload.ts'
import type { ThreadContext, ThreadHandler } from '../core/thread-module.ts'
import {
  packThrown,
  unpackThrown,
  type FromThread,
  type Report,
  type StepEnd,
  type ThreadJob,
  type ToThread,
} from './messages.ts'

/** Reports are sent at most this often: a loop may check in a million times in a second. */
const reportEveryMs = 20

interface PendingStep {
  readonly name: string
  readonly work: () => unknown
  readonly ended: (end: StepEnd) => void
  /** What the work has thrown. */
  error: unknown
}

export class HandlerRun {
  private readonly number: number
  private readonly job: ThreadJob
  private readonly port: MessagePort
  private readonly controller = new AbortController()
  private readonly steps = new Map<number, PendingStep>()
  private calls = 0
  private checkin: Report['checkin'] = null
  private lines: Report['lines'][number][] = []
  private reportTimer: Timer | null = null
  private reportedAt = -Infinity
  /** Has its end been sent? Then messages that arrive are those of the next run. */
  private over = false

  constructor(number: number, job: ThreadJob, port: MessagePort) {
    this.number = number
    this.job = job
    this.port = port
  }

  /** Calls the handler and sends how it has ended. */
  async run(handler: ThreadHandler<unknown, unknown>): Promise<void> {
    const { number: run } = this
    let end: FromThread
    try {
      end = { kind: 'returned', run, output: this.outputOf(await handler(this.job.input, this.context())) }
    } catch (error) {
      end = { kind: 'threw', run, error: packThrown(error) }
    }
    this.report()
    this.over = true
    this.port.postMessage(end)
  }

  take(message: ToThread): void {
    if (message.run !== this.number) return
    if (message.kind === 'abort') {
      const { code, message: text } = message
      this.controller.abort(new JobchartError(code, text))
    } else if (message.kind === 'work') void this.work(message.call)
    else if (message.kind === 'stepped') {
      this.steps.get(message.call)?.ended(message.end)
      this.steps.delete(message.call)
    }
  }

  private context(): ThreadContext {
    const { id, type, attempt, maxAttempts, deadline, trace } = this.job
    const { controller } = this
    const receive = (): void => this.receive()
    return {
      id,
      type,
      attempt,
      maxAttempts,
      deadline,
      trace,
      get signal() {
        receive()
        return controller.signal
      },
      checkin: (value) => {
        this.checkin = { value: toPayload(value, 'INVALID_OUTPUT', payloadLimits, 'check-in of job', type) }
        this.reportSoon()
        receive()
      },
      log: (message, fields) => {
        if (typeof message !== 'string') throw invalidOption('message of ctx.log', 'text', message)
        const kept = fields && toPayload(fields, 'INVALID_OUTPUT', logFieldLimits, 'fields of ctx.log of job', type)
        this.lines.push({ message, ...(kept && { fields: kept as Record<string, Json> }) })
        if (this.lines.length > caps.logs) this.lines.shift()
        this.reportSoon()
      },
      step: (name, work) => this.step(name, work),
    }
  }

  /**
   * Handles the messages that have arrived: a loop that does not await gives the event loop no turn to deliver them.
   */
  private receive(): void {
    let received
    while (!this.over && (received = receiveMessageOnPort(this.port)) !== undefined)
      this.take(received.message as ToThread)
  }

  /** The runtime knows which steps are finished and may refuse one: it tells when the work may begin. */
  private async step<T>(name: string, work: () => T | PromiseLike<T>): Promise<T> {
    if (this.over) throw stepRefused(this.job.id)
    const call = ++this.calls
    const { promise, resolve: ended } = Promise.withResolvers<StepEnd>()
    const pending: PendingStep = { name, work, ended, error: undefined }
    this.steps.set(call, pending)
    this.send({ kind: 'step', run: this.number, call, name })
    const end = await promise
    if (end.kind === 'threw') throw pending.error
    if (end.kind === 'refused') throw unpackThrown(end.error)
    return end.result as T
  }

  private async work(call: number): Promise<void> {
    const step = this.steps.get(call)
    if (step === undefined) return
    const { number: run } = this
    try {
      const value = await step.work()
      const kept =
        value === undefined
          ? {}
          : { value: toPayload(value, 'INVALID_OUTPUT', payloadLimits, 'result of step', step.name) }
      this.send({ kind: 'worked', run, call, result: kept })
    } catch (error) {
      step.error = error
      this.send({ kind: 'worked', run, call, result: null })
    }
  }

  private outputOf(value: unknown): Json | undefined {
    if (value === undefined) return undefined
    try {
      return toPayload(value, 'INVALID_OUTPUT', payloadLimits, 'output of job', this.job.type)
    } catch (error) {
      // As in `decide.ts`: a retry would repeat the work and fail in the same way.
      throw fatal(error)
    }
  }

  private reportSoon(): void {
    const waitMs = this.reportedAt + reportEveryMs - systemClock.monotonic()
    if (waitMs <= 0) this.report()
    else this.reportTimer ??= systemClock.timer(() => this.report(), waitMs, { keepAlive: false })
  }

  private report(): void {
    this.reportTimer?.cancel()
    this.reportTimer = null
    const { checkin, lines } = this
    if (checkin === null && lines.length === 0) return
    this.checkin = null
    this.lines = []
    this.reportedAt = systemClock.monotonic()
    this.send({ kind: 'report', run: this.number, checkin, lines })
  }

  private send(message: FromThread): void {
    if (!this.over) this.port.postMessage(message)
  }
}

const stepRefused = (id: string): JobchartError =>
  new JobchartError('NOT_ACCEPTED', `the run of job ${id} has ended: it cannot begin more work`, {
    hint: 'Await ctx.step within the handler.',
  })
