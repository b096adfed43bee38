/**
 * Which machine wrote a checkpoint, and whether another machine can resume from it. XState restores any snapshot
 * without an error: a missing state, a renamed actor or a state that has become compound would leave the job stuck.
 */
import type { AnyActorLogic, AnyStateMachine, AnyStateNode } from 'xstate'
import { digestOf } from '../core/platform.ts'
import { isJobLogic } from './from-job.ts'
import { activeNodes, isMachine, namedActors, nodesOf } from './machines.ts'

export interface MachineVersion {
  readonly id: string
  readonly version: string
  /** Hash of the structure, child machines included: states and their kinds, events, actors and their kinds. */
  readonly hash: string
}

/**
 * The name of a machine by which processes compare what they know: its id, its version and the hash of its structure.
 */
export const nameOf = ({ id, version, hash }: MachineVersion): string => `${id} ${version} ${hash}`

/**
 * Kinds of actors, by what a snapshot of one holds: a machine, the state of a transition function, the id of a child
 * job, or the input of work in this process (a promise, a callback, an observable), which begins again.
 */
export type ActorKind = 'machine' | 'transition' | 'job' | 'work'

interface PersistedActor {
  readonly src: unknown
  readonly snapshot: unknown
  /** Of the actor that wrote it. Left out by `migrate`: the snapshot tells. */
  readonly kind?: ActorKind | undefined
}

/** A snapshot as XState persists it, with the kinds of actors: the members that are read here. */
export interface PersistedMachine {
  readonly context?: unknown
  readonly output?: unknown
  readonly error?: unknown
  readonly value: StateValue
  readonly status: string
  readonly children: Readonly<Record<string, PersistedActor>>
  readonly historyValue?: Readonly<Record<string, readonly { readonly id: string }[]>>
}

/** The same as it is stored: without what is the default. */
export type LeanMachine = Omit<PersistedMachine, 'status' | 'children' | 'historyValue'> & {
  readonly status?: string | undefined
  readonly children?: Readonly<Record<string, LeanActor>> | undefined
  readonly historyValue?: PersistedMachine['historyValue'] | undefined
}

/** `kind` is left out for work, `snapshot` for work that goes on and has no input. */
export type LeanActor = Omit<PersistedActor, 'snapshot'> & {
  readonly snapshot?: unknown
  readonly syncSnapshot?: true | undefined
  readonly systemId?: string | undefined
}

type StateValue = string | { readonly [key: string]: StateValue }

export function structureHash(machine: AnyStateMachine): string {
  const actors = namedActors(machine)
    .map(([name, logic]) => [name, isMachine(logic) ? structureHash(logic) : kindOf(logic)])
    .toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1))
  return hashOf([structureOf(machine), actors])
}

const structureOf = (machine: AnyStateMachine): unknown[] =>
  nodesOf(machine).map((node) => [
    node.id,
    node.type,
    node.events.toSorted((a, b) => (a < b ? -1 : 1)),
    node.invoke.map(({ id, src }) => {
      const logic = actorLogic(machine, src)
      // The place of an inline actor is that of its state.
      const isNamed = typeof src === 'string' && !src.startsWith('xstate.invoke.')
      return [id, isNamed || logic === null ? src : kindOf(logic)]
    }),
  ])

const hashOf = (structure: unknown): string => digestOf(JSON.stringify(structure)).slice(0, 22)

/** Why the machine cannot resume from this snapshot; empty if it can. */
export function incompatibilities(machine: AnyStateMachine, persisted: PersistedMachine, path = ''): string[] {
  // An ended machine makes no more transitions: any definition fits.
  if (persisted.status !== 'active') return []
  const found = [...badStates(machine.root, persisted.value, persisted.children)]
  const invoked = new Set(
    activeNodes(machine.root, persisted.value).flatMap(({ invoke }) => invoke.map(({ id }) => id)),
  )
  for (const [id, child] of Object.entries(persisted.children)) {
    const { src, snapshot } = child
    const logic = actorLogic(machine, src)
    const change = logic === null ? null : changeOfKind(child, kindOf(logic))
    if (logic === null) found.push(`actor ${id}: there is no actor logic ${String(src)} any more`)
    else if (change !== null) found.push(`actor ${id} was ${change}`)
    else if (!invoked.has(id) && !hasEnded(snapshot) && isIdOfInvoke(machine, id))
      found.push(`no active state invokes the actor ${id} any more`)
    else if (isMachine(logic)) found.push(...incompatibilities(logic, snapshot as PersistedMachine, `${path}${id}/`))
  }
  found.push(...lostHistories(machine, persisted))
  return path === '' ? found : found.map((what) => `${path}: ${what}`)
}

const hasEnded = (snapshot: unknown): boolean =>
  ((snapshot as { readonly status?: string } | undefined)?.status ?? 'active') !== 'active'

/** Is it the id that XState gives to an invoke without one, `<index>.<state>`? Any other may be of a spawned actor. */
function isIdOfInvoke(machine: AnyStateMachine, id: string): boolean {
  const node = /^\d+\.(.+)/s.exec(id)?.[1]
  if (node === undefined) return false
  return node.startsWith(`${machine.root.id}.`) || nodesOf(machine).some((each) => each.id === node)
}

/** States that a history remembers and that are gone. XState would take the default of the history instead. */
function lostHistories(machine: AnyStateMachine, { historyValue = {} }: PersistedMachine): string[] {
  const ids = new Set(nodesOf(machine).map(({ id }) => id))
  return Object.entries(historyValue).flatMap(([history, states]) =>
    ids.has(history)
      ? states
          .filter(({ id }) => !ids.has(id))
          .map(({ id }) => `the history ${history} remembers the state ${id}, which is gone`)
      : [],
  )
}

function* badStates(node: AnyStateNode, value: StateValue, actors: PersistedMachine['children']): Iterable<string> {
  // An ended actor stays in the snapshot until its state is left: a missing one was never started.
  for (const { id } of node.invoke) if (!(id in actors)) yield `actor ${id} of ${node.id} is new`
  const kinds = typeof value === 'string' ? { [value]: {} } : value
  const { length } = Object.keys(kinds)
  if (node.type === 'compound' && length !== 1) yield `state ${node.id} has ${length} active child states, not one`
  for (const [key, inner] of Object.entries(kinds)) {
    const child = node.states[key]
    if (child === undefined) yield `state ${node.id}.${key} is gone`
    else if (child.type === 'final' && node.parent === undefined && node.type === 'compound') {
      yield `state ${child.id} is final, and the machine is not done`
    } else if (Object.keys(inner).length === 0 && (child.type === 'compound' || child.type === 'parallel')) {
      yield `state ${child.id} has child states now`
    } else yield* badStates(child, inner, actors)
  }
  if (node.type === 'parallel') {
    for (const key of Object.keys(node.states)) if (!(key in kinds)) yield `region ${node.id}.${key} is new`
  }
}

/** How the kind of a persisted actor differs from that of its logic, for messages; null if it does not. */
function changeOfKind({ kind, snapshot }: PersistedActor, now: ActorKind): string | null {
  const { status, invokes } = snapshot as { readonly status?: string; readonly invokes?: unknown }
  const was = isMachineState(snapshot) ? 'machine' : invokes !== undefined ? 'job' : kind
  // `migrate` may leave the kind out. XState does not restore a machine without a state, nor a job without an id.
  const fits = was === undefined ? now === 'work' || now === 'transition' : was === now
  if (fits) return null
  const ended = status === 'active' || status === undefined ? '' : ' that has ended'
  return `${described[was ?? 'work']}${ended}, and is ${described[now]} now`
}

const described: Readonly<Record<ActorKind, string>> = {
  machine: 'a machine',
  transition: 'a transition function',
  job: 'a job',
  work: 'work (a promise, a callback or an observable)',
}

export function kindOf(logic: AnyActorLogic): ActorKind {
  if (isMachine(logic)) return 'machine'
  if (isJobLogic(logic)) return 'job'
  return logic.start === undefined ? 'transition' : 'work'
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
