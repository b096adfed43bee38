/**
 * Cancel: every cancel of this runtime goes through the dispatcher's lane, higher priority first, and has reached the
 * store before anything else is picked. While one is under way nothing starts that was handed out meanwhile.
 */
import { JobCancelledError } from '../core/errors.ts'
import type { HeartbeatAnswer, CancelAnswer, Store } from '../store.ts'
import { refusedBy, whenAnswered } from '../client/answer.ts'
import type { EventHub } from '../client/event-hub.ts'
import type { CancelCommand } from './commands.ts'
import type { Run } from './attempt.ts'
import type { Runs } from './runs.ts'

export interface CancellerOptions {
  readonly store: Store
  readonly hub: EventHub
  readonly runs: Runs
  /** Grace of cancels that come from elsewhere without one. */
  readonly graceMs: number
  /** A batch of cancels was answered: what was held back may start. */
  readonly answered: () => void
}

export class Canceller {
  private inFlightCount = 0
  private readonly options: CancellerOptions
  /** Cancelled between their claim and their start. Emptied when no claim is under way. */
  private readonly cancelledBeforeStart = new Map<string, JobCancelledError>()

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
      (answers) => this.take(byUrgency, answers),
      (error: unknown) => {
        this.inFlightCount--
        for (const command of commands) command.reject(error)
        this.options.answered()
      },
    )
  }

  /** The store says that a run is to be cancelled. */
  cancelRun(run: Run, { reason, graceMs }: Pick<HeartbeatAnswer, 'reason' | 'graceMs'>): void {
    if (run.abortReason?.code === 'CANCELLED') return
    run.abort(new JobCancelledError(run.claimed.id, reason))
    run.abandonAfter(graceMs ?? this.options.graceMs)
  }

  /** A job was cancelled; if it is on its way here, it must not start. */
  cancelledElsewhere(id: string): void {
    this.cancelledBeforeStart.set(id, new JobCancelledError(id))
  }

  /** Was it cancelled after its claim? */
  beforeStart(id: string): JobCancelledError | null {
    return this.cancelledBeforeStart.size === 0 ? null : (this.cancelledBeforeStart.get(id) ?? null)
  }

  /** No claim is under way any more. */
  forget(): void {
    if (this.cancelledBeforeStart.size > 0) this.cancelledBeforeStart.clear()
  }

  private take(commands: readonly CancelCommand[], answers: readonly CancelAnswer[]): void {
    const { runs, hub, store } = this.options
    this.inFlightCount--
    commands.forEach((command, i) => {
      const answer = answers[i] as CancelAnswer
      if (answer.error !== undefined) return command.reject(refusedBy(store.name, 'the cancel', answer.error))
      const { reason, graceMs } = command.request
      // One that has ended may still be on its way here, in an answer from before its lease ran out.
      const struck = new Set(answer.moves.flatMap(({ id, event }) => (event === 'CANCEL' ? [id] : [])))
      // Those that were marked before, and the children of others, are no less cancelled.
      const ids = [...new Set([...answer.cancelling, ...struck])]
      runs.find(ids).forEach((run, at) => {
        const id = ids[at] as string
        // A machine that takes a cancel as an event is only sent a message: no move says so, and it goes on.
        if (run !== null && run.job.machine !== null && !struck.has(id)) return
        if (run !== null) this.cancelRun(run, { graceMs, ...(reason !== null && { reason }) })
        // The run may be one whose lease is lost, while the attempt that was cancelled is still on its way here.
        this.cancelledBeforeStart.set(id, new JobCancelledError(id, reason ?? undefined))
      })
      hub.emitAll(answer.moves)
      command.resolve(answer)
    })
    this.options.answered()
  }
}
