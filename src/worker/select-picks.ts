/**
 * Selection: whenever picks may be made, picks jobs by the weights of their queues, as many as there are free slots.
 * The demand of a pick has the limits of its type; the store keeps them when it claims.
 */
import type { OperatorFunction } from 'rxjs'
import type { JobchartError } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import type { Claim, Claims } from './claims.ts'
import type { WakeCommand } from './commands.ts'
import type { Permits } from './permits.ts'
import type { Selector } from './selector.ts'
import { stage } from './stage.ts'

export interface SelectPicksOptions {
  readonly selector: Pick<Selector, 'idle' | 'pick' | 'wake' | 'expect'>
  readonly permits: Pick<Permits, 'free'>
  readonly claims: Pick<Claims, 'mayBegin' | 'jobsMax' | 'begin'>
  /** Why no job may start now; null if jobs may. */
  readonly halted: () => JobchartError | null
  readonly logger: Logger
}

/** From moments at which picks may be made to claims that hold their permits. */
export const selectPicks = ({
  selector,
  permits,
  claims,
  halted,
  logger,
}: SelectPicksOptions): OperatorFunction<void, Claim> =>
  stage(logger, (out) => () => {
    if (permits.free === 0 || selector.idle || !claims.mayBegin || halted() !== null) return
    const picks = selector.pick(claims.jobsMax)
    if (picks !== null) out.next(claims.begin(picks))
  })

/** Queues that may have work take part in the selection. */
export const wakeQueues = ({
  selector,
  logger,
}: Pick<SelectPicksOptions, 'selector' | 'logger'>): OperatorFunction<readonly WakeCommand[], never> =>
  stage(logger, () => (wakes) => {
    for (const { type, atMost, isExpected = false } of wakes) {
      if (isExpected) selector.expect(type, atMost)
      else selector.wake(type, atMost)
    }
  })
