/**
 * Cancels: those that wait are written together, higher priority first, before the next pick. While a cancel is in
 * flight, no claimed job starts.
 */
import type { BehaviorSubject, OperatorFunction } from 'rxjs'
import { JobCancelledError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import type { AnyJobEvent } from '../core/record.ts'
import type { CancelAnswer, HeartbeatAnswer, Store } from '../store.ts'
import { refusedBy, whenAnswered } from '../client/answer.ts'
import type { Run } from './attempt.ts'
import type { Claims } from './claims.ts'
import type { CancelCommand } from './commands.ts'
import type { Runs } from './runs.ts'
import { stage } from './stage.ts'
import type { Workload } from './workload.ts'

export interface CancelJobsOptions {
  readonly store: Pick<Store, 'cancel' | 'name'>
  readonly runs: Pick<Runs, 'find'>
  readonly claims: Pick<Claims, 'size' | 'refuseJob'>
  readonly workload: Pick<Workload, 'notify'>
  /** Is a cancel in flight? */
  readonly cancelling: BehaviorSubject<boolean>
  readonly logger: Logger
}

/** From cancels to the events of the jobs that they have changed. */
export function cancelJobs(options: CancelJobsOptions): OperatorFunction<readonly CancelCommand[], AnyJobEvent> {
  const { store, cancelling, workload, logger } = options
  let inFlight = 0
  const answered = (): void => {
    if (--inFlight === 0) cancelling.next(false)
    workload.notify()
  }
  return stage(logger, (out) => (commands) => {
    const byPriority = commands.toSorted((a, b) => b.priority - a.priority)
    if (inFlight++ === 0) cancelling.next(true)
    whenAnswered(
      () => store.cancel(byPriority.map(({ request }) => request)),
      (answers) => {
        byPriority.forEach((command, i) => {
          const answer = answers[i] as CancelAnswer
          if (answer.error !== undefined) return command.reject(refusedBy(store.name, 'the cancel', answer.error))
          abortCancelled(command, answer, options)
          for (const transition of answer.transitions) out.next(transition)
          command.resolve(answer)
        })
        answered()
      },
      (error) => {
        for (const command of byPriority) command.reject(error)
        answered()
      },
    )
  })
}

function abortCancelled({ request }: CancelCommand, answer: CancelAnswer, options: CancelJobsOptions): void {
  const { runs, claims } = options
  const { reason, graceMs } = request
  // A job that is cancelled now may be part of an unanswered claim, made before its lease ran out.
  const cancelled = new Set(answer.transitions.flatMap(({ id, event }) => (event === 'CANCEL' ? [id] : [])))
  // `transitions` also holds cancelled child jobs, `cancelling` also jobs that were being cancelled before.
  const ids = [...new Set([...answer.cancelling, ...cancelled])]
  runs.find(ids).forEach((run, at) => {
    const id = ids[at] as string
    // A machine that handles the cancel gets it as a message: there is no transition, and the run continues.
    if (run !== null && run.job.machine !== null && !cancelled.has(id)) return
    if (run !== null) cancelRun(run, { graceMs, ...(reason !== null && { reason }) })
    // `run` may be an older attempt whose lease is lost, while a claim with the cancelled attempt is in flight.
    if (claims.size > 0) claims.refuseJob(id, new JobCancelledError(id, reason ?? undefined))
  })
}

interface RunCancel extends Pick<HeartbeatAnswer, 'reason'> {
  readonly graceMs: number
}

/** Aborts a run whose job is cancelled. */
export function cancelRun(run: Run, { reason, graceMs }: RunCancel): void {
  if (run.abortReason?.code === 'CANCELLED') return
  run.abortWithin(new JobCancelledError(run.claimed.id, reason), graceMs)
}
