/**
 * The work of a worker as one pipeline, from commands to events:
 *
 *   cancels ────▶ cancelled first
 *   wakes ──────▶ queues that may have work
 *   free turns ─▶ weighted selection under permits ─▶ claim ─▶ attempts ─▶ settle ─▶ events
 *
 * `lanes` puts every step into the order of its urgency. A pick is made only when every lane is empty, so that all
 * earlier commands have taken effect. Answers of claims and ends of runs take their turn in lanes of their own, behind
 * cancels that were given meanwhile.
 */
import { filter, merge, mergeAll, type BehaviorSubject, type Observable, type OperatorFunction } from 'rxjs'
import type { Logger } from '../core/logger.ts'
import type { AnyJobEvent } from '../core/record.ts'
import { admitJobs, type AdmitJobsOptions } from './admit-jobs.ts'
import { cancelJobs, type CancelJobsOptions } from './cancel-jobs.ts'
import { claimPicks, type ClaimPicksOptions } from './claim-picks.ts'
import type { CancelCommand, WakeCommand } from './commands.ts'
import { toEvents, type ToEventsOptions } from './to-events.ts'
import { Lane, type Lanes } from './lanes.ts'
import { runAttempts, type RunAttemptsOptions } from './run-attempts.ts'
import { selectPicks, wakeQueues, type SelectPicksOptions } from './select-picks.ts'
import { settleRuns, type SettleRunsOptions } from './settle-runs.ts'
import { stage } from './stage.ts'
import type { RateWaits } from './rate-waits.ts'
import type { StoreCalls } from './store-calls.ts'

interface PipelineInputs {
  readonly lanes: Lanes
  readonly cancels: Observable<CancelCommand>
  readonly wakes: Observable<WakeCommand>
  /** Called when all commands given before are handled. */
  readonly idleCalls: Observable<() => void>
  readonly storeCalls: StoreCalls
  readonly rateWaits: Pick<RateWaits, 'isWaiting'>
  /** Is a cancel in flight? */
  readonly cancelling: BehaviorSubject<boolean>
}

type PipelineOptions = PipelineInputs &
  CancelJobsOptions &
  SelectPicksOptions &
  ClaimPicksOptions &
  AdmitJobsOptions &
  RunAttemptsOptions &
  SettleRunsOptions &
  ToEventsOptions

export function pipeline(options: PipelineOptions): Observable<AnyJobEvent> {
  const { lanes, cancels, wakes, idleCalls, cancelling, storeCalls, rateWaits, logger } = options
  return merge(
    cancels.pipe(lanes.batches(Lane.cancel), cancelJobs(options)),
    lanes.free.pipe(
      selectPicks(options),
      claimPicks(options),
      lanes.batches(Lane.claimed),
      admitJobs(options),
      lanes.turns(Lane.start, cancelling),
      runAttempts(options),
      lanes.batches(Lane.settle, storeCalls.areEnough),
      settleRuns(options),
      toEvents(options),
    ),
    wakes.pipe(
      filter(({ type }) => !rateWaits.isWaiting(type)),
      lanes.batches(Lane.wake),
      wakeQueues(options),
    ),
    idleCalls.pipe(lanes.batches(Lane.idle), mergeAll(), called(logger)),
  )
}

const called = (logger: Logger): OperatorFunction<() => void, never> => stage(logger, () => (call) => call())
