/** What of a chart can be durable: looked at when a job is defined, so that nobody learns it from a crash. */
import type { AnyActorLogic, AnyStateMachine, AnyStateNode } from 'xstate'
import { JobchartError } from '../errors.ts'

export const isMachine = (logic: unknown): logic is AnyStateMachine =>
  typeof logic === 'object' && logic !== null && 'root' in logic && 'implementations' in logic && 'provide' in logic

export const refusal = (machine: { readonly id: string }, what: string, hint: string): JobchartError =>
  new JobchartError('NOT_DURABLE', `machine ${machine.id}: ${what} cannot be durable`, { hint })

/** Microsteps of one macrostep at most, where the machine sets no bound of its own: a chart that runs in circles never rests. */
const iterationsMax = 10_000

/** The machine, and the machines that it names, with a bound on what they do before they rest. */
export function bounded(machine: AnyStateMachine): AnyStateMachine {
  const machines = namedActors(machine).flatMap(([name, logic]) => (isMachine(logic) ? [[name, bounded(logic)]] : []))
  const copy = machine.provide({ actors: Object.fromEntries(machines) as Record<string, AnyStateMachine> })
  if (copy.options.maxIterations === Infinity) copy.options = { ...copy.options, maxIterations: iterationsMax }
  return copy
}

/** The actors that a machine names. */
export const namedActors = (machine: AnyStateMachine): [name: string, logic: AnyActorLogic][] =>
  Object.entries(machine.implementations.actors as Readonly<Record<string, AnyActorLogic>>)

/** The nodes of a chart, the root first. */
export function nodesOf(machine: AnyStateMachine): AnyStateNode[] {
  const nodes: AnyStateNode[] = [machine.root]
  for (const node of nodes) nodes.push(...Object.values(node.states))
  return nodes
}

/** @throws JobchartError NOT_DURABLE for what would be lost or done wrong after a crash */
export function checkDurable(machine: AnyStateMachine, seen = new Set<AnyStateMachine>()): void {
  if (seen.has(machine)) return
  seen.add(machine)
  for (const node of nodesOf(machine)) {
    for (const action of [...node.entry, ...node.exit, ...actionsOf(node)]) checkAction(machine, node, action)
    for (const { src, id } of node.config.invoke === undefined ? [] : ([node.config.invoke].flat() as Invoke[])) {
      if (isMachine(src)) {
        throw refusal(
          machine,
          `the inline machine that ${node.id} invokes (${id ?? src.id})`,
          'Name it: setup({ actors: { … } }).',
        )
      }
    }
  }
  for (const [, logic] of namedActors(machine)) if (isMachine(logic)) checkDurable(logic, seen)
}

interface Invoke {
  readonly src: unknown
  readonly id?: string
}

function* actionsOf(node: AnyStateNode): Iterable<unknown> {
  for (const transitions of node.transitions.values()) for (const { actions } of transitions) yield* actions
  for (const { actions } of node.always ?? []) yield* actions
  if (node.config.initial !== undefined) yield* node.initial.actions
}

/** A plain function as an action has an effect and no name. XState's own actions are functions that are resolved. */
function checkAction(machine: AnyStateMachine, node: AnyStateNode, action: unknown): void {
  if (isSpawn(action) && action.id === undefined) throw namelessSpawn(machine)
  if (typeof action !== 'function' || 'resolve' in action) return
  const name = action.name === '' ? 'an action' : action.name
  throw refusal(
    machine,
    `the inline action ${name} of ${node.id}`,
    'Name it: setup({ actions: { … } }). An action without a name cannot be found again after a crash.',
  )
}

const isSpawn = (action: unknown): action is { readonly id: unknown } =>
  typeof action === 'function' && 'type' in action && action.type === 'xstate.spawnChild'

/** XState keeps all of them in one place: only the last could be found again. */
export const namelessSpawn = (machine: AnyStateMachine): JobchartError =>
  refusal(machine, 'a child spawned without an id', "Give it one: spawnChild('child', { id: 'child-1' }).")
