/**
 * How a checkpoint names an action, so that it is found again in another process: by its name, or, if it stands inline in the
 * chart, by its place.
 */
import type { AnyActorRef, AnyStateMachine, AnyStateNode, EventObject } from 'xstate'
import { isBuiltIn, isMachine, nodesOf } from './machines.ts'

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
  /** Its name; of an inline action its place: `order.paid#entry[0]`. */
  readonly type: string
  /** Of an inline action: what stands in its list. Another list may have another action in its place. */
  readonly list?: string
}

interface InlineAction extends Required<ActionName> {
  readonly act: ActionFunction
}

/** The actions of a machine. */
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

  /** By what it is found again; null if it has neither a name nor a place: it was made while the chart ran. */
  nameOf(type: string, act: unknown): ActionName | null {
    if (this.named[type] === act) return { type }
    const inline = this.inline.get(act)
    return inline === undefined ? null : { type: inline.type, list: inline.list }
  }

  /** undefined if it is gone, or another action may stand in its place */
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
      // One function may stand in several places: it does the same in each.
      if (!this.inline.has(act)) this.inline.set(act, inline)
    }
  }
}

/** The actions of the child machine that was made by these names, one in the other. */
export function machineAt(machine: AnyStateMachine, sources: readonly string[]): AnyStateMachine | null {
  let at: AnyStateMachine | null = machine
  for (const source of sources) {
    const logic: unknown = at?.implementations.actors[source as never]
    at = isMachine(logic) ? logic : null
  }
  return at
}

/** Lists of actions, by what is written of them. The delay of an `after` may change: it is known by its index. */
function* listsOf(node: AnyStateNode): Iterable<readonly [place: string, actions: readonly unknown[]]> {
  // Delayed transitions set their timers by actions that XState adds after those that are written.
  yield ['entry', node.entry.slice(0, lengthOf(node.config.entry))]
  yield ['exit', node.exit.slice(0, lengthOf(node.config.exit))]
  const delays = Object.keys(node.config.after ?? {}).map((delay) => {
    const ms = Number(delay)
    return `xstate.after.${Number.isNaN(ms) ? delay : ms}.${node.id}`
  })
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
