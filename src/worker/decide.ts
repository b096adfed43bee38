/** How a run ended → the settlement the chart calls for. Pure but for the jitter; nothing is written here. */
import type { Random } from '../core/clock.ts'
import { backoffMs, exponential } from '../core/backoff.ts'
import type { Duration } from '../core/duration.ts'
import { recordError } from '../core/failure.ts'
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
 * The settlement of an ended run, with its unwritten signs of life; null if it ended because its lease is lost. One that
 * returned, or has not started, is settled all the same: that the lease is lost may be no more than a precaution, and the store
 * writes the end only if nobody else has taken the job.
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
    return ending(run, options)
  } catch (fault) {
    // A proxy may throw whatever is asked of it, even whether it is an Error. It must not take other runs with it.
    options.logger.error('the result or error of a run could not be read', { error: fault, id: run.claimed.id })
    return failed(run, new TypeError('the handler threw a value that cannot be read, such as a revoked proxy'), options)
  }
}

function ending(run: Run, options: DecideOptions): Settlement {
  const held = leaseOf(run)
  const reason = run.abortReason
  if (run.ending === 'unstarted') return released(held, reason?.message ?? 'not started')
  // A timeout has been told to everybody who listened: no late success takes it back.
  if (reason?.code === 'TIMEOUT') return failed(run, reason, options)
  if (run.ending === 'returned' && run.machineResult?.kind === 'parked') {
    const { checkpoint, wakeAt, gather } = run.machineResult
    const delayMs = wakeAt === null ? null : Math.max(0, wakeAt - options.now())
    return parked(held, checkpoint, delayMs, gather)
  }
  if (run.ending === 'returned' && run.machineResult?.kind === 'unsupported') {
    return unsupported(held, run.machineResult.version, run.machineResult.reason)
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
      // Running it again would do its work again and fail again.
      return dead(held, recordError(error))
    }
    const settlement = completed(held, output)
    if (run.machineResult?.kind !== 'done') return settlement
    const { checkpoint, cancelTaken } = run.machineResult
    return { ...settlement, ...(checkpoint && { checkpoint }), ...(cancelTaken && { cancelTaken }) }
  }
  // Abandoned, or it threw after it was asked to stop: not the job's fault, the attempt is not spent.
  if (run.ending === 'abandoned' || reason?.code === 'STOPPED') return released(held, reason?.message ?? 'abandoned')
  return failed(run, run.result, options)
}

function failed(run: Run, error: unknown, options: DecideOptions): Settlement {
  const held = leaseOf(run)
  if (error instanceof Snooze) return snoozedFor(held, error.delayMs)
  if (error instanceof FatalError) return dead(held, recordError(error.cause ?? error))
  const record = recordError(error)
  if (!mayRetry(held) || !worthRetrying(run, error, options)) return dead(held, record)
  return retryAfter(held, record, delayMs(run, error, options))
}

/** Checkpoints of the attempt may have made room for more. */
function leaseOf({ claimed, maxAttempts }: Run): LeaseRef {
  if (maxAttempts === null) return claimed
  const { id, token, attempt, generation } = claimed
  return { id, token, attempt, generation, maxAttempts }
}

function worthRetrying(run: Run, error: unknown, { logger }: DecideOptions): boolean {
  const { id, type } = run.claimed
  let answer: unknown
  try {
    answer = run.job.retryIf === null || run.job.retryIf(error)
  } catch (thrown) {
    logger.error('retryIf threw; the job is retried', { error: thrown, id, type })
    return true
  }
  if (!(answer instanceof Promise)) return Boolean(answer)
  // What it will say is not awaited, and may be an error.
  answer.catch(() => {})
  logger.error('retryIf gave a promise instead of true or false; the job is retried', { id, type })
  return true
}

/** Attempts in this place: those of a machine that led to a checkpoint raise its `maxAttempts`, and make nobody wait longer. */
function tries({ job, claimed, maxAttempts }: Run): number {
  if (job.machine === null) return claimed.attempt
  const spared = Math.max(0, (maxAttempts ?? claimed.maxAttempts) - (claimed.pins?.maxAttempts ?? job.maxAttempts))
  return Math.max(1, claimed.attempt - spared)
}

function delayMs(run: Run, error: unknown, { random, logger }: DecideOptions): number {
  try {
    const backoff = run.claimed.pins?.backoff ?? run.job.backoff
    if (typeof backoff !== 'function') return backoffMs(backoff, tries(run), error, random)
    const own = (attempt: number, reason: unknown): Duration => backoff(attempt, reason, run.claimed.record())
    return backoffMs(own, tries(run), error, random)
  } catch (thrown) {
    logger.error('the backoff function threw; the default backoff is used', {
      error: thrown,
      id: run.claimed.id,
      type: run.claimed.type,
    })
    return backoffMs(defaultBackoff, tries(run), error, random)
  }
}
