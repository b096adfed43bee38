/** What a life is like, drawn from its seed. */
import type { Faults } from 'jobchart/testing'
import type { Dice } from './dice.ts'

export interface Plan {
  /** Several machines with a store they share, or one process with a store of its own? */
  readonly fleet: boolean
  /** Processes at once (of a fleet), or runtimes in the one process. */
  readonly size: number
  /** Must calls go a way on which they can fail? */
  readonly far: boolean
  /** Do machines sleep, or do their clocks go wrong? A clock that is set back in its sleep deceives everybody. */
  readonly sleepy: boolean
  /** Does the store's clock go right? Then a history is kept, which is judged by its times. */
  readonly steady: boolean
  readonly faults: Faults
  /** How many of the hints get lost, 0…1. */
  readonly hintLoss: number
}

export function drawPlan(dice: Dice): Plan {
  const fleet = dice.chance(0.7)
  const rate = (): number => 0.01 + dice.random() * 0.2
  return {
    fleet,
    size: 1 + dice.below(fleet ? 3 : 2),
    far: fleet || dice.chance(0.6),
    sleepy: dice.chance(0.5),
    steady: dice.chance(0.3),
    faults: {
      before: rate(),
      lostReply: rate(),
      late: rate(),
      lateBy: 50 + dice.below(dice.pick([200, 1_000, 6_000])),
    },
    hintLoss: dice.random() * 0.5,
  }
}
