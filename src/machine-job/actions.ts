/**
 * How a checkpoint names an action, so that another process finds it again: a named action by its name, an inline
 * action by its place in the chart.
 */
import type { AnyActorRef, AnyStateMachine, AnyStateNode, EventObject } from 'xstate'
import { isMachine, nodesOf } from './machines.ts'
import { afterEventType, isBuiltIn } from './xstate-internals.ts'

export type ActionFunction = (
  args: {
    readonly context: unknown
    readonly event: EventObject
    readonly self: AnyActorRef
    readonly system: AnyActorRef['system']
  },
  params: unknown,
) => unknown

export interface ActionName {
  /** The name; for an inline action the place: `order.paid#entry[0]`. */
  readonly type: string
  /**
   * For an inline action: the kinds of all actions in its list. A changed list may hold another action at this place.
   */
  readonly list?: string
}

interface InlineAction extends Required<ActionName> {
  readonly act: ActionFunction
}

/** The actions of a machine, by name and by place. */
export class MachineActions {
  private readonly named: Readonly<Record<string, unknown>>
  private readonly inline = new Map<unknown, InlineAction>()
  private readonly byPlace = new Map<string, InlineAction>()

  constructor(machine: AnyStateMachine) {
    this.named = machine.implementations.actions as Readonly<Record<string, unknown>>
    for (const node of nodesOf(machine)) {
      for (const [place, actions] of listsOf(node)) this.addList(`${node.id}#${place}`, actions)
    }
  }

  /** null for an action without name and place: `enqueueActions` made it while the chart ran. */
  nameOf(type: string, act: unknown): ActionName | null {
    if (this.named[type] === act) return { type }
    const inline = this.inline.get(act)
    return inline === undefined ? null : { type: inline.type, list: inline.list }
  }

  /** undefined if the chart has no such action any more, or if the list around an inline action has changed. */
  find({ type, list }: ActionName): ActionFunction | undefined {
    if (list === undefined) return Object.hasOwn(this.named, type) ? (this.named[type] as ActionFunction) : undefined
    const inline = this.byPlace.get(type)
    return inline?.list === list ? inline.act : undefined
  }

  private addList(place: string, actions: readonly unknown[]): void {
    const list = actions.map(kindOf).join(', ')
    for (const [i, act] of actions.entries()) {
      if (typeof act !== 'function' || isBuiltIn(act)) continue
      const inline = { type: `${place}[${i}]`, list, act: act as ActionFunction }
      this.byPlace.set(inline.type, inline)
      // One function may stand in several places; any of them identifies it.
      if (!this.inline.has(act)) this.inline.set(act, inline)
    }
  }
}

/** The child machine at a path of actor names, from the root machine down; null if there is none. */
export function machineAt(machine: AnyStateMachine, sources: readonly string[]): AnyStateMachine | null {
  let at: AnyStateMachine | null = machine
  for (const source of sources) {
    const logic: unknown = at?.implementations.actors[source as never]
    at = isMachine(logic) ? logic : null
  }
  return at
}

/**
 * The lists of actions written in a node. A list of an `after` is identified by index: a deployment may change the
 * delay.
 */
function* listsOf(node: AnyStateNode): Iterable<readonly [place: string, actions: readonly unknown[]]> {
  // XState appends the actions that set and cancel the timers of `after`: they are cut off.
  yield ['entry', node.entry.slice(0, lengthOf(node.config.entry))]
  yield ['exit', node.exit.slice(0, lengthOf(node.config.exit))]
  const delays = Object.keys(node.config.after ?? {}).map((delay) => afterEventType(delay, node.id))
  for (const [descriptor, transitions] of node.transitions) {
    const delay = delays.indexOf(descriptor)
    const place = delay === -1 ? `on ${descriptor}` : `after[${delay}]`
    for (const [i, { actions }] of transitions.entries()) yield [`${place}[${i}].actions`, actions]
  }
  for (const [i, { actions }] of (node.always ?? []).entries()) yield [`always[${i}].actions`, actions]
  if (node.config.initial !== undefined) yield ['initial.actions', node.initial.actions]
}

const lengthOf = (list: unknown): number => (list === undefined ? 0 : Array.isArray(list) ? list.length : 1)

function kindOf(action: unknown): string {
  if (isBuiltIn(action)) return action.type
  if (typeof action === 'function') return 'inline'
  return typeof action === 'string' ? action : String((action as { readonly type: unknown }).type)
}
