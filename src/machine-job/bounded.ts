/** The copy of a machine that is run: what it does before it rests has a bound, and its built-in actions are prepared. */
import type { AnyStateMachine } from 'xstate'
import { prepareBuiltIns } from './built-ins.ts'
import { isMachine, namedActors } from './machines.ts'

/** Microsteps of one macrostep at most, where the machine sets no bound of its own: a chart that runs in circles never rests. */
const iterationsMax = 10_000

/** The machine, and the machines that it names, with a bound on what they do before they rest. */
export function bounded(machine: AnyStateMachine): AnyStateMachine {
  const machines = namedActors(machine).flatMap(([name, logic]) => (isMachine(logic) ? [[name, bounded(logic)]] : []))
  const copy = machine.provide({ actors: Object.fromEntries(machines) as Record<string, AnyStateMachine> })
  if (copy.options.maxIterations === Infinity) copy.options = { ...copy.options, maxIterations: iterationsMax }
  prepareBuiltIns(copy)
  return copy
}
