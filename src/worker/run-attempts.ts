/**
 * Attempts: starts runs, one by one, as long as no cancel goes first, and gives out those that have ended. A run that
 * must not start ends at once.
 */
import type { OperatorFunction } from 'rxjs'
import { counted } from '../core/counted.ts'
import { JobchartError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import type { Run } from './attempt.ts'
import type { Claims } from './claims.ts'
import type { Confirmer } from './confirm.ts'
import { leaseLost } from './heartbeat.ts'
import type { Turn } from './lanes.ts'
import type { LeaseClock } from './lease-clock.ts'
import type { Permits } from './permits.ts'
import type { Runs } from './runs.ts'
import { stage } from './stage.ts'
import type { UnsupportedVersions } from './unsupported-versions.ts'

export interface RunAttemptsOptions {
  readonly claims: Pick<Claims, 'begun' | 'backOff'>
  readonly confirmer: Pick<Confirmer, 'isDue' | 'confirm'>
  readonly permits: Pick<Permits, 'taken' | 'slots' | 'give'>
  readonly runs: Pick<Runs, 'remove'>
  readonly unsupported: Pick<UnsupportedVersions, 'note'>
  readonly time: Pick<LeaseClock, 'read'>
  /** Why no job may start now; null if jobs may. */
  readonly halted: () => JobchartError | null
  readonly logger: Logger
}

export function runAttempts(options: RunAttemptsOptions): OperatorFunction<Turn<Run>, Run> {
  const { claims, confirmer, permits, runs, unsupported, time, halted, logger } = options
  return stage(logger, (out) => {
    const ended = (run: Run): void => {
      if (run.machineResult?.kind === 'unsupported') unsupported.note(run.claimed, run.machineResult)
      runs.remove(run)
      permits.give(1)
      out.next(run)
    }
    return (turn) => {
      for (let run = turn.next(); run !== null; run = turn.next()) {
        const now = time.read()
        if (confirmer.isDue(run, now) && !confirmer.confirm([run, ...turn.rest])) claims.backOff()
        claims.begun()
        const refusal = run.abortReason ?? halted() ?? slotTaken(permits, turn) ?? tooLate(run, now)
        if (refusal === null) run.start(ended)
        else run.skip(refusal, ended)
      }
    }
  })
}

/**
 * The reason to release a job if the slots were reduced since the claim. The jobs behind it were claimed after it, and
 * are released first.
 */
const slotTaken = ({ taken, slots }: Pick<Permits, 'taken' | 'slots'>, turn: Turn<Run>): JobchartError | null =>
  taken > slots && taken - turn.rest.length > slots
    ? new JobchartError('STOPPED', `the runtime has ${counted(slots, 'slot')} now`)
    : null

/** The reason to release a job whose lease may have expired before its start. */
const tooLate = (run: Run, now: number): JobchartError | null => (now >= run.lease.fenceAt ? leaseLost(run) : null)
