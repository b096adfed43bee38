/**
 * Cancels: those that wait are written together, higher priority first, before the next pick. While a cancel is in
 * flight, no claimed job starts, and those that are asked for meanwhile wait. Before these are sent, the claimed jobs
 * that they do not name start, unless one has a filter: otherwise a stream of cancels would let none start.
 */
import type { BehaviorSubject, OperatorFunction } from 'rxjs'
import { JobCancelledError, type JobchartError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import type { AnyJobEvent } from '../core/record.ts'
import type { Answer, CancelAnswer, HeartbeatAnswer, Store } from '../store.ts'
import { refusedBy, whenAnswered } from '../client/answer.ts'
import type { Run } from './attempt.ts'
import type { Timers } from '../client/timers.ts'
import type { Claims } from './claims.ts'
import type { CancelBatch, CancelByIds, CancelCommand, CancelTerms } from './commands.ts'
import type { Runs } from './runs.ts'
import { stage } from './stage.ts'
import type { Workload } from './workload.ts'

export interface CancelJobsOptions {
  readonly store: Pick<Store, 'cancel' | 'name'>
  readonly runs: Pick<Runs, 'find'>
  readonly claims: Pick<Claims, 'size' | 'refuseJob' | 'cancelsWait'>
  readonly workload: Pick<Workload, 'add' | 'done'>
  readonly timers: Pick<Timers, 'clock'>
  /** Is a cancel in flight? */
  readonly cancelling: BehaviorSubject<boolean>
  readonly logger: Logger
  /** Time for a cancelled handler to end, if the cancel does not say it. */
  readonly graceMs: number
}

/** From cancels to the events of the jobs that they have changed. */
export function cancelJobs(options: CancelJobsOptions): OperatorFunction<readonly CancelCommand[], AnyJobEvent> {
  const { store, runs, claims, cancelling, workload, timers, logger } = options
  let inFlight = 0
  let startsGoFirst = false
  let waiting: CancelCommand[] = []
  return stage(logger, (out) => {
    const answered = (commands: number): void => {
      if (--inFlight === 0) next()
      workload.done(commands)
    }
    const next = (): void => {
      // What a filter selects is not known here.
      if (waiting.some((command) => 'ask' in command)) return send()
      startsGoFirst = waiting.length > 0
      if (startsGoFirst) {
        refuseStarts(runs, claims.cancelsWait)
        timers.clock.nextTurn(send)
      }
      cancelling.next(false)
    }
    const call = <T>(ask: () => Answer<T>, commands: readonly CancelCommand[], apply: (answer: T) => void): void =>
      whenAnswered(
        ask,
        (answer) => {
          apply(answer)
          answered(commands.length)
        },
        (error) => {
          for (const { reject } of commands) reject(error)
          answered(commands.length)
        },
      )
    const cancelled = (terms: CancelTerms, answer: Cancelled): void => {
      abortCancelled(terms, answer, options)
      for (const transition of answer.transitions) out.next(transition)
    }
    const cancelByIds = (commands: readonly CancelByIds[]): void => {
      const ask = (): Answer<CancelAnswer[]> => store.cancel(commands.map(({ request }) => request))
      call(ask, commands, (answers) =>
        commands.forEach(({ request, resolve, reject }, i) => {
          const answer = answers[i] as CancelAnswer
          if (answer.error !== undefined) return reject(refusedBy(store.name, 'the cancel', answer.error))
          cancelled(request, answer)
          resolve(answer)
        }),
      )
    }
    const cancelBatch = (command: CancelBatch): void =>
      call(command.ask, [command], (answer) => {
        cancelled(command.terms, { cancelling: answer.jobs.cancelling ?? [], transitions: answer.transitions })
        command.resolve(answer)
      })
    const send = (): void => {
      startsGoFirst = false
      claims.cancelsWait.clear()
      const calls = callsOf(waiting.toSorted((a, b) => b.priority - a.priority))
      waiting = []
      // Counted before the first one is sent: no claimed job starts between two of these calls.
      inFlight = calls.length
      cancelling.next(true)
      for (const each of calls) {
        if (Array.isArray(each)) cancelByIds(each)
        else cancelBatch(each)
      }
    }
    return (commands) => {
      workload.add(commands.length)
      waiting.push(...commands)
      if (inFlight === 0 && !startsGoFirst) return send()
      const refusals = refusalsOf(commands)
      for (const [id, refusal] of refusals) claims.cancelsWait.set(id, refusal)
      if (!startsGoFirst) return
      if (commands.some((command) => 'ask' in command)) cancelling.next(true)
      else refuseStarts(runs, refusals)
    }
  })
}

function refusalsOf(commands: readonly CancelCommand[]): ReadonlyMap<string, JobchartError> {
  const refusals = new Map<string, JobchartError>()
  for (const command of commands) {
    if ('ask' in command) continue
    const { ids, reason } = command.request
    for (const id of ids) refusals.set(id, new JobCancelledError(id, reason ?? undefined))
  }
  return refusals
}

/** Claimed jobs that cancels name do not start: they are released, and cancelled as waiting jobs. */
function refuseStarts(runs: Pick<Runs, 'find'>, refusals: ReadonlyMap<string, JobchartError>): void {
  const ids = [...refusals.keys()]
  runs.find(ids).forEach((run, at) => {
    if (run?.hasStarted === false) run.abort(refusals.get(ids[at] as string) as JobchartError)
  })
}

type Cancelled = Pick<CancelAnswer, 'cancelling' | 'transitions'>

/** The calls of the store for these commands, in their order: one for neighbours that cancel jobs by their ids. */
function callsOf(commands: readonly CancelCommand[]): (CancelByIds[] | CancelBatch)[] {
  const calls: (CancelByIds[] | CancelBatch)[] = []
  for (const command of commands) {
    const last = calls.at(-1)
    if ('ask' in command) calls.push(command)
    else if (Array.isArray(last)) last.push(command)
    else calls.push([command])
  }
  return calls
}

function abortCancelled(
  { reason, graceMs }: CancelTerms,
  { cancelling, transitions }: Cancelled,
  { runs, claims, graceMs: ownGraceMs }: CancelJobsOptions,
): void {
  // A job that is cancelled now may be part of an unanswered claim, made before its lease ran out.
  const cancelled = new Set(transitions.flatMap(({ id, event }) => (event === 'CANCEL' ? [id] : [])))
  // `transitions` also holds cancelled child jobs, `cancelling` also jobs that were being cancelled before.
  const ids = [...new Set([...cancelling, ...cancelled])]
  runs.find(ids).forEach((run, at) => {
    const id = ids[at] as string
    // A machine that handles the cancel gets it as a message: there is no transition, and the run continues.
    if (run !== null && run.job.machine !== null && !cancelled.has(id)) return
    if (run !== null) cancelRun(run, { graceMs: graceMs ?? ownGraceMs, ...(reason !== null && { reason }) })
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
