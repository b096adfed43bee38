/**
 * Checks claimed jobs right before user code is called: another process may have cancelled the job or paused its queue
 * since the claim, and its call has resolved. Only stores that answer synchronously are asked.
 */
import { JobCancelledError, JobchartError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import type { Standing, Store } from '../store.ts'
import { leaseLost } from './heartbeat.ts'
import type { LeaseClock } from './lease-clock.ts'
import type { Run } from './attempt.ts'

/** An answer of the store about a run is relied on for this long; documented in docs/guarantees.md. */
const confirmedMs = 1

interface ConfirmerOptions {
  readonly store: Store
  readonly time: LeaseClock
  readonly logger: Logger
}

export class Confirmer {
  private readonly options: ConfirmerOptions

  constructor(options: ConfirmerOptions) {
    this.options = options
  }

  /** Is the store's last answer about this run too old? */
  isDue({ lease }: Run, now = this.options.time.read()): boolean {
    return now >= lease.confirmedAt + confirmedMs && this.options.store.confirm !== undefined
  }

  /** Aborts the runs that must not start. If the store throws, it aborts all of them and returns false. */
  confirm(runs: readonly Run[]): boolean {
    const now = this.options.time.read()
    const standings = this.queryStore(runs)
    for (let i = 0; i < runs.length; i++) {
      const run = runs[i] as Run
      run.lease = { confirmedAt: now, fenceAt: run.lease.fenceAt }
      const refusal = refusalOf(run, standings?.[i])
      if (refusal !== null) run.abort(refusal)
    }
    return standings !== null
  }

  /** null if the store throws. */
  private queryStore(runs: readonly Run[]): readonly Standing[] | null {
    const { store, logger } = this.options
    try {
      return store.confirm?.(runs.map(({ claimed }) => claimed)) ?? null
    } catch (error) {
      logger.warn('claimed jobs could not be checked before their start; they are released', {
        error,
        jobs: runs.length,
      })
      return null
    }
  }
}

function refusalOf(run: Run, standing: Standing | undefined): JobchartError | null {
  const { id, type } = run.claimed
  switch (standing?.outcome) {
    case 'leased':
      return null
    case 'cancelling':
      return new JobCancelledError(id, standing.reason)
    case 'lost':
      return leaseLost(run)
    case 'paused':
      return new JobchartError('STOPPED', `queue ${type} was paused before job ${id} started`)
    case undefined:
      return new JobchartError('STOPPED', `the store could not confirm that job ${id} may start`)
  }
}
