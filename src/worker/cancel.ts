/**
 * Cancels jobs. Every cancel of this runtime passes through a lane of the dispatcher, higher priority first, and
 * reaches the store before the next pick. While a cancel is in flight, claimed jobs do not start.
 */
import { JobCancelledError } from '../core/errors.ts'
import type { HeartbeatAnswer, CancelAnswer, Store } from '../store.ts'
import { refusedBy, whenAnswered } from '../client/answer.ts'
import type { EventHub } from '../client/event-hub.ts'
import type { CancelCommand } from './commands.ts'
import type { Run } from './attempt.ts'
import type { Runs } from './runs.ts'

interface CancellerOptions {
  readonly store: Store
  readonly hub: EventHub
  readonly runs: Runs
  /** Grace of cancels by other processes that do not define one. */
  readonly graceMs: number
  /** A batch of cancels was answered: claimed jobs may start. */
  readonly answered: () => void
  /** The number of the last claim that was sent. */
  readonly lastClaim: () => number
}

/** A job that must not start if a claim in flight returns it. */
interface MarkedJob {
  readonly error: JobCancelledError
  /** The number of the last claim that was sent before. */
  readonly claim: number
}

export class Canceller {
  private inFlightCount = 0
  private readonly options: CancellerOptions
  /** Jobs that were cancelled between their claim and their start, oldest mark first. */
  private readonly cancelledBeforeStart = new Map<string, MarkedJob>()

  constructor(options: CancellerOptions) {
    this.options = options
  }

  get inFlight(): boolean {
    return this.inFlightCount > 0
  }

  cancel(commands: readonly CancelCommand[]): void {
    const byUrgency = commands.toSorted((a, b) => b.priority - a.priority)
    this.inFlightCount++
    whenAnswered(
      () => this.options.store.cancel(byUrgency.map(({ request }) => request)),
      (answers) => this.applyAnswers(byUrgency, answers),
      (error: unknown) => {
        this.inFlightCount--
        for (const command of commands) command.reject(error)
        this.options.answered()
      },
    )
  }

  /** Aborts a run that the store reports as cancelled. */
  cancelRun(run: Run, { reason, graceMs }: Pick<HeartbeatAnswer, 'reason' | 'graceMs'>): void {
    if (run.abortReason?.code === 'CANCELLED') return
    run.abort(new JobCancelledError(run.claimed.id, reason))
    run.abandonAfter(graceMs ?? this.options.graceMs)
  }

  /** A job was cancelled by another process while a claim is in flight: if the claim returns it, it must not start. */
  cancelledElsewhere(id: string): void {
    this.mark(id, new JobCancelledError(id))
  }

  /** The reason if the job was cancelled after its claim; else null. */
  beforeStart(id: string): JobCancelledError | null {
    return this.cancelledBeforeStart.size === 0 ? null : (this.cancelledBeforeStart.get(id)?.error ?? null)
  }

  /**
   * To be called when claims were answered.
   * @param oldest the number of the oldest claim in flight; Infinity if there is none
   */
  forget(oldest: number): void {
    for (const [id, { claim }] of this.cancelledBeforeStart) {
      if (claim >= oldest) return
      this.cancelledBeforeStart.delete(id)
    }
  }

  private mark(id: string, error: JobCancelledError): void {
    this.cancelledBeforeStart.delete(id)
    this.cancelledBeforeStart.set(id, { error, claim: this.options.lastClaim() })
  }

  private applyAnswers(commands: readonly CancelCommand[], answers: readonly CancelAnswer[]): void {
    const { runs, hub, store } = this.options
    this.inFlightCount--
    commands.forEach((command, i) => {
      const answer = answers[i] as CancelAnswer
      if (answer.error !== undefined) return command.reject(refusedBy(store.name, 'the cancel', answer.error))
      const { reason, graceMs } = command.request
      // A job that is cancelled now may be part of an unanswered claim, made before its lease ran out.
      const cancelled = new Set(answer.transitions.flatMap(({ id, event }) => (event === 'CANCEL' ? [id] : [])))
      // `transitions` also holds cancelled child jobs, `cancelling` also jobs that were being cancelled before.
      const ids = [...new Set([...answer.cancelling, ...cancelled])]
      runs.find(ids).forEach((run, at) => {
        const id = ids[at] as string
        // A machine that handles the cancel gets it as a message: there is no transition, and the run continues.
        if (run !== null && run.job.machine !== null && !cancelled.has(id)) return
        if (run !== null) this.cancelRun(run, { graceMs, ...(reason !== null && { reason }) })
        // `run` may be an older attempt whose lease is lost, while a claim with the cancelled attempt is in flight.
        this.mark(id, new JobCancelledError(id, reason ?? undefined))
      })
      hub.emitAll(answer.transitions)
      command.resolve(answer)
    })
    this.options.answered()
  }
}
