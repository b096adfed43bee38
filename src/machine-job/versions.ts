/**
 * Which machine wrote a checkpoint, and whether another machine can resume from it. XState restores any snapshot without an
 * error: a missing state, a renamed actor or a state that has become compound would leave the job stuck.
 */
import { createHash } from 'node:crypto'
import type { AnyActorLogic, AnyStateMachine, AnyStateNode } from 'xstate'
import { isMachine, namedActors, nodesOf } from './machines.ts'

export interface MachineVersion {
  readonly id: string
  readonly version: string
  /** Hash of the structure, child machines included: states and their kinds, events, actors. */
  readonly hash: string
}

/** A snapshot as XState persists it: the members that are read here. */
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

/** The hash that earlier releases computed: without child machines. */
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

/** Why the machine cannot resume from this snapshot; empty if it can. */
export function incompatibilities(machine: AnyStateMachine, persisted: PersistedMachine, path = ''): string[] {
  // An ended machine makes no more transitions: any definition fits.
  if (persisted.status !== 'active') return []
  const found = [...badStates(machine.root, persisted.value, persisted.children)]
  for (const [id, { src, snapshot }] of Object.entries(persisted.children)) {
    const logic = actorLogic(machine, src)
    if (logic === null) found.push(`actor ${id}: there is no actor logic ${String(src)} any more`)
    else if (isMachine(logic)) found.push(...incompatibilities(logic, snapshot as PersistedMachine, `${path}${id}/`))
    else if (isMachineState(snapshot)) found.push(`actor ${id} was a machine`)
  }
  return path === '' ? found : found.map((what) => `${path}: ${what}`)
}

function* badStates(node: AnyStateNode, value: StateValue, actors: PersistedMachine['children']): Iterable<string> {
  // An ended actor stays in the snapshot until its state is left: a missing one was never started.
  for (const { id } of node.invoke) if (!(id in actors)) yield `actor ${id} of ${node.id} is new`
  const kinds = typeof value === 'string' ? { [value]: {} } : value
  for (const [key, inner] of Object.entries(kinds)) {
    const child = node.states[key]
    if (child === undefined) yield `state ${node.id}.${key} is gone`
    else if (Object.keys(inner).length === 0 && (child.type === 'compound' || child.type === 'parallel')) {
      yield `state ${child.id} has child states now`
    } else yield* badStates(child, inner, actors)
  }
  if (node.type === 'parallel') {
    for (const key of Object.keys(node.states)) if (!(key in kinds)) yield `region ${node.id}.${key} is new`
  }
}

/** The actor logic of a name. XState names an inline invoke by its place: `xstate.invoke.<index>.<node id>`. */
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
