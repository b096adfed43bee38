/**
 * The copy of a machine that a job runs: microsteps are limited, and XState's built-in actions (`raise`, `spawnChild`,
 * `enqueueActions`, …) check their delays and spawn many actors in one step without copying all children for each.
 */
import type { AnyActorRef, AnyStateMachine } from 'xstate'
import { checkedDelays, delayMs } from './delays.ts'
import { actionSites, isMachine, namedActors } from './machines.ts'
import { builtInWith, isBuiltIn, replaceDelays, resolveOf, type Resolve } from './xstate-internals.ts'

/**
 * Microsteps per macrostep, for machines that set no `maxIterations`: an endless loop of transitions ends in an error.
 */
const iterationsMax = 10_000

type Children = Record<string, AnyActorRef | undefined>

/** A copy of the machine, and of the machines among its actors, that a job can run. */
export function runnableCopy(machine: AnyStateMachine): AnyStateMachine {
  const machines = namedActors(machine).flatMap(([name, logic]) =>
    isMachine(logic) ? [[name, runnableCopy(logic)]] : [],
  )
  const copy = machine.provide({ actors: Object.fromEntries(machines) as Record<string, AnyStateMachine> })
  if (copy.options.maxIterations === Infinity) copy.options = { ...copy.options, maxIterations: iterationsMax }
  prepareBuiltIns(copy)
  return copy
}

/** Replaces the built-in actions of a machine in place: the caller must be its only user. */
export function prepareBuiltIns(machine: AnyStateMachine): BuiltIns {
  const builtIns = new BuiltIns()
  replaceDelays(machine, (delays) => checkedDelays(machine.id, delays))
  for (const { place, actions, replace } of actionSites(machine)) {
    if (actions.some(isBuiltIn)) replace(actions.map((action) => builtIns.prepared(action, place)))
  }
  return builtIns
}

class BuiltIns {
  /**
   * Copies of `children` made in the current step, with the event of the step. They may be changed in place: no
   * published snapshot holds them.
   */
  private readonly copies = new WeakMap<Children, object>()

  /** To be called at the end of a step: its snapshot is published, and its children may not be changed any more. */
  publish(children: object): void {
    this.copies.delete(children as Children)
  }

  prepared(action: unknown, place: string): unknown {
    if (!isBuiltIn(action)) return action
    const { type, delay } = action
    if (type === 'xstate.spawnChild') return builtInWith(action, { resolve: this.spawning(resolveOf(action)) })
    if (type === 'xstate.enqueueActions')
      return builtInWith(action, { resolve: this.enqueuing(resolveOf(action), place) })
    if (delay === undefined || typeof delay === 'string') return action
    const checked = (...args: unknown[]): number =>
      delayMs(typeof delay === 'function' ? (delay(...args) as unknown) : delay, place)
    return builtInWith(action, { delay: checked })
  }

  /** Prepares enqueued actions as well: `enqueueActions` makes them while the machine runs. */
  private enqueuing(resolve: Resolve, place: string): Resolve {
    return (...args) => {
      const [snapshot, params, actions] = resolve(...args)
      return [snapshot, params, actions?.map((action) => this.prepared(action, `${place}, enqueueActions`))]
    }
  }

  /**
   * XState copies all children of a machine for each spawn. Here the first spawn of a step copies, the others add to
   * the copy.
   */
  private spawning(resolve: Resolve): Resolve {
    return (scope, snapshot, args, ...rest) => {
      const [next, params] = resolve(scope, { ...snapshot, children: {} }, args, ...rest)
      let { children } = snapshot
      if (this.copies.get(children) !== args.event) {
        children = { ...children }
        this.copies.set(children, args.event)
      }
      next.children = Object.assign(children, next.children)
      return [next, params]
    }
  }
}
