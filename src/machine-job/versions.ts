/**
 * Which machine a checkpoint was made by, and whether this one can go on from it. XState restores whatever it is given: a
 * state that is gone, an actor that was renamed or a state that has got children would leave the job stuck without a word.
 */
import { createHash } from 'node:crypto'
import type { AnyActorLogic, AnyStateMachine, AnyStateNode } from 'xstate'
import { isMachine, namedActors, nodesOf } from './machines.ts'

export interface MachineVersion {
  readonly id: string
  readonly version: string
  /** Of its structure, and that of its child machines: states and their kinds, events, actors. */
  readonly hash: string
}

/** A snapshot as XState persists it, as far as it is looked at. */
export interface PersistedMachine {
  readonly context?: unknown
  readonly value: StateValue
  readonly status: string
  readonly children: Readonly<Record<string, { readonly src: unknown; readonly snapshot: unknown }>>
  readonly historyValue?: Readonly<Record<string, readonly { readonly id: string }[]>>
}

type StateValue = string | { readonly [key: string]: StateValue }

export function structureHash(machine: AnyStateMachine): string {
  const children = namedActors(machine).flatMap(([name, logic]) =>
    isMachine(logic) ? [[name, structureHash(logic)]] : [],
  )
  return hashOf(children.length === 0 ? structureOf(machine) : [structureOf(machine), children])
}

/** The hash that earlier releases gave: of the machine without its child machines. */
export const ownStructureHash = (machine: AnyStateMachine): string => hashOf(structureOf(machine))

const structureOf = (machine: AnyStateMachine): unknown[] =>
  nodesOf(machine).map((node) => [
    node.id,
    node.type,
    node.events.toSorted((a, b) => (a < b ? -1 : 1)),
    node.invoke.map(({ id, src }) => [id, typeof src === 'string' ? src : 'inline']),
  ])

const hashOf = (structure: unknown): string =>
  createHash('sha256').update(JSON.stringify(structure)).digest('base64url').slice(0, 22)

/** Why the machine cannot go on from this snapshot; empty if it can. */
export function misfits(machine: AnyStateMachine, persisted: PersistedMachine, path = ''): string[] {
  // One that has ended goes nowhere any more.
  if (persisted.status !== 'active') return []
  const found = [...badStates(machine.root, persisted.value, persisted.children)]
  for (const [id, { src, snapshot }] of Object.entries(persisted.children)) {
    const logic = actorLogic(machine, src)
    if (logic === null) found.push(`actor ${id}: there is no ${String(src)} any more`)
    else if (isMachine(logic)) found.push(...misfits(logic, snapshot as PersistedMachine, `${path}${id}/`))
    else if (isMachineState(snapshot)) found.push(`actor ${id} was a machine`)
  }
  return path === '' ? found : found.map((what) => `${path}: ${what}`)
}

function* badStates(node: AnyStateNode, value: StateValue, actors: PersistedMachine['children']): Iterable<string> {
  // An actor that has ended stays until its state is left: one that is missing was never begun.
  for (const { id } of node.invoke) if (!(id in actors)) yield `actor ${id} of ${node.id} is new`
  const kinds = typeof value === 'string' ? { [value]: {} } : value
  for (const [key, inner] of Object.entries(kinds)) {
    const child = node.states[key]
    if (child === undefined) yield `state ${node.id}.${key} is gone`
    else if (Object.keys(inner).length === 0 && (child.type === 'compound' || child.type === 'parallel')) {
      yield `state ${child.id} has got states of its own`
    } else yield* badStates(child, inner, actors)
  }
  if (node.type === 'parallel') {
    for (const key of Object.keys(node.states)) if (!(key in kinds)) yield `region ${node.id}.${key} is new`
  }
}

/** The logic of a name, or of an inline invoke, which XState names by its place. */
export function actorLogic(machine: AnyStateMachine, src: unknown): AnyActorLogic | null {
  if (typeof src !== 'string') return null
  const inline = /^xstate\.invoke\.(\d+)\.(.*)/.exec(src)
  if (inline === null) return (machine.implementations.actors[src as never] as AnyActorLogic | undefined) ?? null
  const node = nodesOf(machine).find(({ id }) => id === inline[2])
  const invokes: { readonly src: unknown }[] = node?.config.invoke === undefined ? [] : [node.config.invoke].flat()
  const logic = invokes[Number(inline[1])]?.src
  return typeof logic === 'object' && logic !== null ? (logic as AnyActorLogic) : null
}

export const isMachineState = (snapshot: unknown): snapshot is PersistedMachine =>
  typeof snapshot === 'object' && snapshot !== null && 'historyValue' in snapshot
