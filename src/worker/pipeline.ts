/**
 * What a worker does, as one pipeline over its commands:
 *
 *   commands ─▶ by urgency ─▶ weighted selection under permits ─▶ claim ─▶ attempts
 *      ▲                                                                      │
 *      └── ends of attempts, cancels, stops, hints of the store ◀─────────────┘
 *
 * A selection is made only when every lane is empty: what was asked before has had its effect. What a claim hands out comes
 * back as a command of its own lane, so that a cancel or a stop that was asked meanwhile is handled before an attempt starts.
 */
import { Observable, type OperatorFunction } from 'rxjs'
import type { Clock } from '../core/clock.ts'
import type { Demand } from '../store.ts'
import type { StartCommand, WorkerCommand } from './commands.ts'
import { dispatch } from './dispatch.ts'
import { Lane, laneCount } from './lanes.ts'
import { TurnBudget } from './turn-budget.ts'

export interface PipelineOptions {
  readonly clock: Clock
  /** Handles all commands of one lane; asks, between two of them, whether something `waits` in another. */
  readonly handle: (lane: number, batch: readonly WorkerCommand[], waits: (lane: number) => boolean) => void
  /** What to claim now, chosen by weight within the free permits; null for nothing. Takes the permits. */
  readonly select: () => Demand[] | null
  /** Claims what was selected, and calls back if the store has answered. */
  readonly claim: (demand: readonly Demand[], answered: (claimed: StartCommand['claimed']) => void) => void
  readonly failed: (error: unknown) => void
}

/** From commands to the attempts that may start. */
export const pipeline =
  ({ clock, handle, select, claim, failed }: PipelineOptions): OperatorFunction<WorkerCommand, StartCommand> =>
  (commands) =>
    commands.pipe(
      dispatch({ lanes: laneCount, pace: new TurnBudget(clock), handle, pick: select, failed }),
      claimed(claim),
    )

/** Claims each demand; the answer, which may come at once or later, is a command to start what was handed out. */
const claimed =
  (claim: PipelineOptions['claim']): OperatorFunction<Demand[], StartCommand> =>
  (demands) =>
    new Observable((answers) =>
      demands.subscribe({
        next: (demand) => claim(demand, (jobs) => answers.next({ lane: Lane.start, claimed: jobs })),
        error: (error: unknown) => answers.error(error),
        complete: () => answers.complete(),
      }),
    )
