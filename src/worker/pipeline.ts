/**
 * The work of a worker as one pipeline over its commands:
 *
 *   commands ─▶ by urgency ─▶ weighted selection under permits ─▶ claim ─▶ attempts
 *      ▲                                                                      │
 *      └── ends of attempts, cancels, stops, inserts, hints of the store ◀────┘
 *
 * A selection is made only when every lane is empty, so that all earlier commands have taken effect. The answer of a
 * claim returns as a command of its own lane, so that cancels and stops given meanwhile are handled before an attempt
 * starts.
 */
import { Observable, type OperatorFunction } from 'rxjs'
import type { Clock } from '../core/clock.ts'
import type { PendingClaim, StartCommand, WorkerCommand } from './commands.ts'
import { dispatch } from './dispatch.ts'
import { Lane, laneCount } from './lanes.ts'
import { TurnBudget } from '../core/turn-budget.ts'

interface PipelineOptions {
  readonly clock: Clock
  /** Handles all commands of one lane; `waits` tells whether another lane has commands. */
  readonly handle: (lane: number, batch: readonly WorkerCommand[], waits: (lane: number) => boolean) => void
  /** Selects what to claim now, by weight and within the free permits, and takes the permits; null for nothing. */
  readonly select: () => PendingClaim | null
  /** Claims what was selected, and calls back when the store has answered. */
  readonly claim: (claim: PendingClaim, answered: (claimed: StartCommand['claimed']) => void) => void
  readonly failed: (error: unknown) => void
}

/** From commands to the attempts that may start. */
export const pipeline =
  ({ clock, handle, select, claim, failed }: PipelineOptions): OperatorFunction<WorkerCommand, StartCommand> =>
  (commands) =>
    commands.pipe(
      dispatch({ lanes: laneCount, budget: new TurnBudget(clock), handle, pick: select, failed }),
      claimed(claim),
    )

/** Sends each claim; the answer, which may be synchronous, becomes a command to start the claimed jobs. */
const claimed =
  (send: PipelineOptions['claim']): OperatorFunction<PendingClaim, StartCommand> =>
  (claims) =>
    new Observable((answers) =>
      claims.subscribe({
        next: (claim) => send(claim, (jobs) => answers.next({ lane: Lane.start, claimed: jobs })),
        error: (error: unknown) => answers.error(error),
        complete: () => answers.complete(),
      }),
    )
