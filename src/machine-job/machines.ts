/** Charts as they are read: their nodes, transitions, actions and actors. */
import type { AnyActorLogic, AnyMachineSnapshot, AnyStateMachine, AnyStateNode, EventObject, StateValue } from 'xstate'
import { JobchartError } from '../core/errors.ts'

export const isMachine = (logic: unknown): logic is AnyStateMachine =>
  typeof logic === 'object' && logic !== null && 'root' in logic && 'implementations' in logic && 'provide' in logic

export const refusal = (machine: { readonly id: string }, what: string, hint: string): JobchartError =>
  new JobchartError('NOT_DURABLE', `machine ${machine.id}: ${what} cannot be durable`, { hint })

/** The actors that a machine names. */
export const namedActors = (machine: AnyStateMachine): [name: string, logic: AnyActorLogic][] =>
  Object.entries(machine.implementations.actors as Readonly<Record<string, AnyActorLogic>>)

/** The nodes of a chart, the root first. */
export function nodesOf(machine: AnyStateMachine): AnyStateNode[] {
  const nodes: AnyStateNode[] = [machine.root]
  for (const node of nodes) nodes.push(...Object.values(node.states))
  return nodes
}

/** Is the event named by the state that a machine stands in? A wildcard does not name it. */
export function isNamed(snapshot: AnyMachineSnapshot, event: EventObject): boolean {
  const transitions = (snapshot.machine as AnyStateMachine).getTransitionData(snapshot as never, event)
  return transitions.some(
    ({ eventType, target, actions }) => eventType === event.type && (target !== undefined || actions.length > 0),
  )
}

/** The nodes that are active where a machine has this state value, the given node first. */
export function* activeNodes(node: AnyStateNode, value: StateValue): Iterable<AnyStateNode> {
  yield node
  const inner = typeof value === 'string' ? { [value]: {} } : value
  for (const [key, below] of Object.entries(inner)) {
    const child = node.states[key]
    if (child !== undefined && below !== undefined) yield* activeNodes(child, below)
  }
}

/** What is written of an invoke. */
export interface Invoke {
  readonly src: unknown
  readonly id?: string
}

export const invokesOf = ({ config: { invoke } }: AnyStateNode): readonly Invoke[] =>
  invoke === undefined ? [] : [invoke].flat()

/** A list of actions in a chart. */
export interface ActionSite {
  /** For messages: `order.review, on APPROVE`. */
  readonly place: string
  readonly actions: readonly unknown[]
  /** Only for a machine that nobody else has. */
  readonly replace: (actions: unknown[]) => void
}

/** Every list of actions of a machine: of its states, their transitions, and the built-in actions that it names. */
export function* actionSites(machine: AnyStateMachine): Iterable<ActionSite> {
  for (const node of nodesOf(machine)) {
    yield { place: `${node.id}, entry`, actions: node.entry, replace: (actions) => (node.entry = actions as never) }
    yield { place: `${node.id}, exit`, actions: node.exit, replace: (actions) => (node.exit = actions as never) }
    for (const { place, transition } of transitionsOf(node)) {
      yield { place, actions: transition.actions, replace: (actions) => (transition.actions = actions as never) }
    }
  }
  const { actions } = machine.implementations as { actions: Record<string, unknown> }
  for (const [name, action] of Object.entries(actions)) {
    if (!isBuiltIn(action)) continue
    yield { place: `${machine.id}, actions.${name}`, actions: [action], replace: ([own]) => (actions[name] = own) }
  }
}

export type Transition = AnyStateNode['initial'] | NonNullable<AnyStateNode['always']>[number]

/** The transitions of a node, those to its initial state included. */
export function* transitionsOf(node: AnyStateNode): Iterable<{ readonly place: string; transition: Transition }> {
  for (const [descriptor, transitions] of node.transitions) {
    const place = `${node.id}, ${labelOf(descriptor, node.id)}`
    for (const transition of transitions) yield { place, transition }
  }
  for (const transition of node.always ?? []) yield { place: `${node.id}, always`, transition }
  if (node.config.initial !== undefined) yield { place: `${node.id}, initial`, transition: node.initial }
}

/** What the author has written to come to a transition by this descriptor. */
function labelOf(descriptor: string, nodeId: string): string {
  const own = `.${nodeId}`
  if (descriptor.startsWith('xstate.after.') && descriptor.endsWith(own)) {
    return `after ${descriptor.slice('xstate.after.'.length, -own.length)}`
  }
  if (descriptor.startsWith('xstate.done.state.')) return 'onDone'
  const actor = /^xstate\.(done|error)\.actor\.(.*)/.exec(descriptor)
  if (actor !== null) return `${actor[1] === 'done' ? 'onDone' : 'onError'} of actor ${actor[2]}`
  const snapshot = /^xstate\.snapshot\.(.*)/.exec(descriptor)
  return snapshot === null ? `on ${descriptor}` : `onSnapshot of actor ${snapshot[1]}`
}

/** One of XState's own actions, as `raise(…)` and the like make it; what it was given is on it. */
export interface BuiltIn {
  readonly type: string
  readonly id?: unknown
  readonly delay?: unknown
  readonly src?: unknown
}

/** XState's own actions are functions that are resolved. */
export const isBuiltIn = (action: unknown): action is BuiltIn & (() => void) =>
  typeof action === 'function' && 'resolve' in action

/** XState keeps all of them in one place: only the last could be found again. */
export const namelessSpawn = (machine: AnyStateMachine): JobchartError =>
  refusal(machine, 'a child spawned without an id', "Give it one: spawnChild('child', { id: 'child-1' }).")
