/** Decides the settlement of an ended run. Pure, apart from the jitter of the backoff. */
import type { Random } from '../core/clock.ts'
import { backoffMs, exponential } from '../core/backoff.ts'
import type { Duration } from '../core/duration.ts'
import { recordError, unreadable } from '../core/failure.ts'
import { FatalError, Snooze } from '../core/intent.ts'
import { toPayload, type Json } from '../core/payload.ts'
import {
  completed,
  dead,
  mayRetry,
  parked,
  released,
  retryAfter,
  snoozedFor,
  unsupported,
  type LeaseRef,
  type Settlement,
} from '../core/settlement.ts'
import type { Logger } from '../core/logger.ts'
import { isThenable } from '../core/thenable.ts'
import { payloadLimits } from '../core/limits.ts'
import type { Run } from './attempt.ts'

const defaultBackoff = exponential()

export interface DecideOptions {
  /** ms since the epoch, by the store's clock. */
  readonly now: () => number
  readonly random: Random
  readonly logger: Logger
}

/**
 * The settlement of an ended run, with its unwritten reports; null if the loss of its lease made it fail. A run that
 * returned or did not start is settled also after that: the lease may have been treated as lost only as a precaution,
 * and the store writes the end only if no other process has claimed the job.
 */
export function decide(run: Run, options: DecideOptions): Settlement | null {
  const gaveUp = run.ending === 'threw' || run.ending === 'abandoned'
  if (gaveUp && run.abortReason?.code === 'LEASE_LOST') return null
  const settlement = settlementOf(run, options)
  if (run.checkin === null && run.logs === null) return settlement
  return { ...settlement, ...(run.checkin && { checkin: run.checkin }), ...(run.logs && { logs: run.logs }) }
}

function settlementOf(run: Run, options: DecideOptions): Settlement {
  try {
    return settlementOfEnding(run, options)
  } catch (fault) {
    // Reading a thrown proxy may throw. That must not affect the settlements of other runs.
    options.logger.error('the result or error of a run could not be read', { error: fault, id: run.claimed.id })
    return failed(run, unreadable(), options)
  }
}

function settlementOfEnding(run: Run, options: DecideOptions): Settlement {
  const lease = leaseOf(run)
  const reason = run.abortReason
  if (run.ending === 'unstarted') return released(lease, reason?.message ?? 'not started')
  // A late success does not revoke a timeout: the signal has aborted with it.
  if (reason?.code === 'TIMEOUT') return failed(run, reason, options)
  if (run.ending === 'returned' && run.machineResult?.kind === 'parked') {
    const { checkpoint, wakeAt, gather } = run.machineResult
    const delayMs = wakeAt === null ? null : Math.max(0, wakeAt - options.now())
    return parked(lease, checkpoint, delayMs, gather)
  }
  if (run.ending === 'returned' && run.machineResult?.kind === 'unsupported') {
    return unsupported(lease, run.machineResult.version, run.machineResult.reason)
  }
  if (run.ending === 'returned') {
    let output: Json | undefined
    try {
      const { type } = run.claimed
      output =
        run.result === undefined
          ? undefined
          : toPayload(run.result, 'INVALID_OUTPUT', payloadLimits, 'output of job', type)
    } catch (error) {
      // A retry would repeat the work and fail in the same way.
      return dead(lease, recordError(error))
    }
    const settlement = completed(lease, output)
    if (run.machineResult?.kind !== 'done') return settlement
    const { checkpoint, cancelTaken, outcome } = run.machineResult
    return { ...settlement, outcome, ...(checkpoint && { checkpoint }), ...(cancelTaken && { cancelTaken }) }
  }
  // Abandoned, or threw after a stop: the attempt is not counted.
  if (run.ending === 'abandoned' || reason?.code === 'STOPPED') return released(lease, reason?.message ?? 'abandoned')
  return failed(run, run.result, options)
}

export function failed(run: Run, error: unknown, options: DecideOptions): Settlement {
  const lease = leaseOf(run)
  if (error instanceof Snooze) return snoozedFor(lease, error.delayMs)
  if (error instanceof FatalError) return dead(lease, recordError(error.cause ?? error))
  const record = recordError(error)
  if (!mayRetry(lease) || !worthRetrying(run, error, options)) return dead(lease, record)
  return retryAfter(lease, record, delayMs(run, error, options))
}

/** Checkpoints of the run may have raised the limit of attempts. */
export function leaseOf({ claimed, maxAttempts }: Run): LeaseRef {
  if (maxAttempts === null) return claimed
  const { id, token, attempt, generation } = claimed
  return { id, token, attempt, generation, maxAttempts }
}

function worthRetrying(run: Run, error: unknown, { logger }: DecideOptions): boolean {
  const { id, type } = run.claimed
  try {
    const answer: unknown = run.job.retryIf === null || run.job.retryIf(error)
    if (!isThenable(answer)) return Boolean(answer)
    // The promise is not awaited: its rejection must not become an unhandled one.
    Promise.resolve(answer).catch(() => {})
  } catch (thrown) {
    logger.error('retryIf threw; the job is retried', { error: thrown, id, type })
    return true
  }
  logger.error('retryIf returned a promise instead of true or false; the job is retried', { id, type })
  return true
}

/** Attempts since the last checkpoint, for the backoff: attempts that led to a checkpoint have raised `maxAttempts`. */
function attemptsSinceCheckpoint({ job, claimed, maxAttempts }: Run): number {
  if (job.machine === null) return claimed.attempt
  const checkpointedAttempts = Math.max(
    0,
    (maxAttempts ?? claimed.maxAttempts) - (claimed.pins?.maxAttempts ?? job.maxAttempts),
  )
  return Math.max(1, claimed.attempt - checkpointedAttempts)
}

function delayMs(run: Run, error: unknown, { random, logger }: DecideOptions): number {
  try {
    const backoff = run.claimed.pins?.backoff ?? run.job.backoff
    if (typeof backoff !== 'function') return backoffMs(backoff, attemptsSinceCheckpoint(run), error, random)
    const own = (attempt: number, reason: unknown): Duration => backoff(attempt, reason, run.claimed.record())
    return backoffMs(own, attemptsSinceCheckpoint(run), error, random)
  } catch (thrown) {
    logger.error('the backoff function threw; the default backoff is used', {
      error: thrown,
      id: run.claimed.id,
      type: run.claimed.type,
    })
    return backoffMs(defaultBackoff, attemptsSinceCheckpoint(run), error, random)
  }
}
