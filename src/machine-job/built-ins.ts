/**
 * XState's own actions (`raise`, `spawnChild`, `enqueueActions`, …) as a hosted machine runs them: their delays are checked,
 * and a machine that spawns many actors in one step does not copy all its children for each of them.
 */
import type { AnyActorRef, AnyStateMachine } from 'xstate'
import { checkedDelays, delayMs } from './delays.ts'
import { actionSites, isBuiltIn, type BuiltIn } from './machines.ts'

type Resolve = (
  scope: unknown,
  snapshot: Snapshot,
  args: { readonly event: object },
  ...rest: unknown[]
) => readonly [Snapshot, unknown, (unknown[] | undefined)?]

type Children = Record<string, AnyActorRef | undefined>

interface Snapshot {
  children: Children
}

/** Prepares the built-in actions of a machine that nobody else has. */
export function prepareBuiltIns(machine: AnyStateMachine): BuiltIns {
  const builtIns = new BuiltIns()
  const { implementations } = machine as unknown as { implementations: { delays: Record<string, unknown> } }
  implementations.delays = checkedDelays(machine.id, implementations.delays)
  for (const { place, actions, replace } of actionSites(machine)) {
    if (actions.some(isBuiltIn)) replace(actions.map((action) => builtIns.prepared(action, place)))
  }
  return builtIns
}

export class BuiltIns {
  /** Children that were copied while an event was taken, by the copy: no snapshot that others see has it yet. */
  private readonly copies = new WeakMap<Children, object>()

  /** A step is over: its snapshot is seen by others now. */
  publish(children: object): void {
    this.copies.delete(children as Children)
  }

  prepared(action: unknown, place: string): unknown {
    if (!isBuiltIn(action)) return action
    const { type, delay } = action
    if (type === 'xstate.spawnChild') return copyOf(action, { resolve: this.spawning(resolveOf(action)) })
    if (type === 'xstate.enqueueActions') return copyOf(action, { resolve: this.enqueuing(resolveOf(action), place) })
    if (delay === undefined || typeof delay === 'string') return action
    const checked = (...args: unknown[]): number =>
      delayMs(typeof delay === 'function' ? (delay(...args) as unknown) : delay, place)
    return copyOf(action, { delay: checked })
  }

  /** What is enqueued is made while the machine runs. */
  private enqueuing(resolve: Resolve, place: string): Resolve {
    return (...args) => {
      const [snapshot, params, actions] = resolve(...args)
      return [snapshot, params, actions?.map((action) => this.prepared(action, `${place}, enqueueActions`))]
    }
  }

  /** XState copies all children of a machine for each that it spawns: here the first of a step makes the copy for all. */
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

const resolveOf = (action: BuiltIn): Resolve => (action as unknown as { readonly resolve: Resolve }).resolve

/** What XState looks at is on the function, which is never called. */
const copyOf = (action: BuiltIn, changes: object): unknown => Object.assign((): void => {}, action, changes)
