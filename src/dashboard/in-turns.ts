import { systemClock } from '../core/clock.ts'
import { TurnBudget } from '../core/turn-budget.ts'

/** Lets the process do its other work first: calls of a store in memory are answered in the same turn. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => systemClock.nextTurn(resolve))

/** Maps values that may be large, in as many turns of the event loop as it takes. */
export async function inTurns<Value, Made>(
  values: readonly Value[],
  make: (value: Value) => Made,
): Promise<readonly Made[]> {
  const budget = new TurnBudget(systemClock)
  const made: Made[] = []
  for (const value of values) {
    if (budget.spent) await new Promise<void>((resolve) => budget.nextTurn(resolve))
    made.push(make(value))
  }
  return made
}
