/**
 * Confirm: between the claim of a job and the call of user code another process may have cancelled it or paused its queue, and
 * was told so. A store that can say how jobs stand without a wait is asked right before.
 */
import { JobCancelledError, JobchartError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import type { Standing, Store } from '../store.ts'
import { leaseLost } from './heartbeat.ts'
import type { LeaseClock } from './lease-clock.ts'
import type { Run } from './attempt.ts'

/** What the store has said of a run, with its claim or since, is relied on for this long. It is a part of the promise. */
const confirmedMs = 1

export interface ConfirmerOptions {
  readonly store: Store
  readonly time: LeaseClock
  readonly logger: Logger
}

export class Confirmer {
  private readonly options: ConfirmerOptions

  constructor(options: ConfirmerOptions) {
    this.options = options
  }

  /** Was it so long ago that the store said how this run stands that it is to be asked again? */
  isDue({ confirmedAt }: Run, now = this.options.time.read()): boolean {
    return now >= confirmedAt + confirmedMs && this.options.store.confirm !== undefined
  }

  /**
   * Aborts those of these runs that must not start any more: all of them if the store cannot say, and then it gives false.
   */
  confirm(runs: readonly Run[]): boolean {
    const now = this.options.time.read()
    const standings = this.ask(runs)
    for (let i = 0; i < runs.length; i++) {
      const run = runs[i] as Run
      run.confirmedAt = now
      const refusal = refusalOf(run, standings?.[i])
      if (refusal !== null) run.abort(refusal)
    }
    return standings !== null
  }

  /** null: the store cannot say. */
  private ask(runs: readonly Run[]): readonly Standing[] | null {
    const { store, logger } = this.options
    try {
      return store.confirm?.(runs.map(({ claimed }) => claimed)) ?? null
    } catch (error) {
      logger.warn('the store cannot say how claimed jobs stand; they are released', { error, jobs: runs.length })
      return null
    }
  }
}

function refusalOf(run: Run, standing: Standing | undefined): JobchartError | null {
  const { id, type } = run.claimed
  switch (standing?.outcome) {
    case 'held':
      return null
    case 'cancelling':
      return new JobCancelledError(id, standing.reason)
    case 'lost':
      return leaseLost(run)
    case 'paused':
      return new JobchartError('STOPPED', `queue ${type} was paused before job ${id} started`)
    case undefined:
      return new JobchartError('STOPPED', `the store could not say whether job ${id} may start`)
  }
}
