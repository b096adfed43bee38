/** Reads charts: their nodes, transitions, actions, actors and names. */
import type { AnyActorLogic, AnyMachineSnapshot, AnyStateMachine, AnyStateNode, EventObject, StateValue } from 'xstate'
import { JobchartError } from '../core/errors.ts'
import type { MachineStanding } from '../core/machine-tally.ts'
import { isBuiltIn } from './xstate-internals.ts'

export const isMachine = (logic: unknown): logic is AnyStateMachine =>
  typeof logic === 'object' && logic !== null && 'root' in logic && 'implementations' in logic && 'provide' in logic

export const refusal = (machine: { readonly id: string }, what: string, hint: string): JobchartError =>
  new JobchartError('NOT_DURABLE', `machine ${machine.id}: ${what} cannot be durable`, { hint })

/** The actors of `setup({ actors })`. */
export const namedActors = (machine: AnyStateMachine): [name: string, logic: AnyActorLogic][] =>
  Object.entries(machine.implementations.actors as Readonly<Record<string, AnyActorLogic>>)

/** The state names that users pass to `matches` and the like, as paths from the root, and the tags. */
export const namesIn = (machine: AnyStateMachine): string[] =>
  nodesOf(machine).flatMap(({ path, tags }) => [...(path.length === 0 ? [] : [path.join('.')]), ...tags])

/** The events that a chart names and that may be sent from outside, wildcards included. */
export const sendableEvents = (machine: AnyStateMachine): string[] =>
  (machine.events as readonly string[]).filter((type) => !type.startsWith('xstate.') && type !== '')

/** The name with the smallest edit distance, for `Did you mean`. */
export function nearest(name: string, names: Iterable<string>): string {
  let best = ''
  let least = Infinity
  for (const each of names) {
    const distance = editDistance(name, each)
    if (distance < least) [best, least] = [each, distance]
  }
  return best
}

/** Levenshtein's distance. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = a[i - 1] === b[j - 1] ? 0 : 1
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + substitution))
    }
    row = next
  }
  return row[b.length] ?? 0
}

/** The nodes of a chart, the root first. */
export function nodesOf(machine: AnyStateMachine): AnyStateNode[] {
  const nodes: AnyStateNode[] = [machine.root]
  for (const node of nodes) nodes.push(...Object.values(node.states))
  return nodes
}

/** Does the current state handle the event by its name, not by a wildcard? */
export function isNamedByState(snapshot: AnyMachineSnapshot, event: EventObject): boolean {
  const machine = snapshot.machine as AnyStateMachine
  if (!(machine.events as readonly string[]).includes(event.type)) return false
  const transitions = machine.getTransitionData(snapshot as never, event)
  return transitions.some(
    ({ eventType, target, actions }) => eventType === event.type && (target !== undefined || actions.length > 0),
  )
}

/** The active nodes for a state value, the given node first. */
export function activeNodes(node: AnyStateNode, value: StateValue): AnyStateNode[] {
  const nodes = [node]
  addActive(nodes, node, value)
  return nodes
}

function addActive(nodes: AnyStateNode[], { states }: AnyStateNode, value: StateValue): void {
  const inner = typeof value === 'string' ? { [value]: {} } : value
  for (const key of Object.keys(inner)) {
    const child = states[key]
    const below = inner[key]
    if (child === undefined || below === undefined) continue
    nodes.push(child)
    addActive(nodes, child, below)
  }
}

/** Where a machine stands, with the active nodes below the root, in the order of their paths. */
export interface StandingNodes extends MachineStanding {
  readonly nodes: readonly AnyStateNode[]
}

/** Standings of values that are a name. All jobs share them. */
const standings = new WeakMap<AnyStateMachine, Map<string, StandingNodes>>()

/** Paths of the active states for a value, the outer ones first, and their tags. */
export function standingOf(machine: AnyStateMachine, value: StateValue): StandingNodes {
  // Each checkpoint has one: those of the charts without inner states are made once.
  if (typeof value !== 'string') return madeStanding(machine, value)
  let known = standings.get(machine)
  if (known === undefined) standings.set(machine, (known = new Map<string, StandingNodes>()))
  let standing = known.get(value)
  if (standing === undefined) known.set(value, (standing = madeStanding(machine, value)))
  return standing
}

/** Its lists are not frozen: V8 makes an object for each step of an iteration over a frozen one. */
function madeStanding(machine: AnyStateMachine, value: StateValue): StandingNodes {
  const active = activeNodes(machine.root, value)
  const nodes = active.slice(1)
  return { nodes, states: nodes.map(pathOf), tags: [...new Set(active.flatMap(({ tags }) => tags))] }
}

/** The paths of nodes are made once for all jobs. */
const paths = new WeakMap<AnyStateNode, string>()

export function pathOf(node: AnyStateNode): string {
  let path = paths.get(node)
  if (path === undefined) paths.set(node, (path = node.path.join('.')))
  return path
}

/** An invoke as it is written in the config. */
interface Invoke {
  readonly src: unknown
  readonly id?: string
}

export const invokesOf = ({ config: { invoke } }: AnyStateNode): readonly Invoke[] =>
  invoke === undefined ? [] : [invoke].flat()

/** A list of actions in a chart. */
interface ActionSite {
  /** For messages: `order.review, on APPROVE`. */
  readonly place: string
  readonly actions: readonly unknown[]
  /** Changes the machine in place: the caller must be its only user. */
  readonly replace: (actions: unknown[]) => void
}

/** Every list of actions of a machine: those of states and transitions, and the named built-in actions. */
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

type Transition = AnyStateNode['initial'] | NonNullable<AnyStateNode['always']>[number]

/** The transitions of a node, those to its initial state included. */
export function* transitionsOf(node: AnyStateNode): Iterable<{ readonly place: string; transition: Transition }> {
  for (const [descriptor, transitions] of node.transitions) {
    const place = `${node.id}, ${labelOf(descriptor, node.id)}`
    for (const transition of transitions) yield { place, transition }
  }
  for (const transition of node.always ?? []) yield { place: `${node.id}, always`, transition }
  if (node.config.initial !== undefined) yield { place: `${node.id}, initial`, transition: node.initial }
}

/** The config key that led to a transition with this descriptor: `after 5000`, `onDone of actor a`, `on GO`. */
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

/** XState stores all children without an id under the same key: a checkpoint would hold only the last one. */
export const namelessSpawn = (machine: AnyStateMachine): JobchartError =>
  refusal(machine, 'a child spawned without an id', "Give it one: spawnChild('child', { id: 'child-1' }).")
