/**
 * What kind of logic an actor of a machine job has: a machine, a transition function, a child job, or work in this
 * process.
 */
import type { AnyActorLogic, AnyActorRef, AnyStateMachine } from 'xstate'
import type { MachineActions } from './actions.ts'
import type { DelayPlace } from './timers.ts'
import { kindOf, type ActorKind } from './versions.ts'
import { logicOf } from './xstate-internals.ts'

/** The logic of a machine in a job; `planned.ts` makes it. */
export type PlannedLogic = AnyActorLogic & {
  readonly actions: MachineActions
  /** The machine; the machines among its actors are planned, too. */
  readonly machine: AnyStateMachine
  /** The events that the chart names. */
  readonly events: ReadonlySet<string>
  /** The delayed transitions of the machine, by event type. */
  readonly delays: ReadonlyMap<string, DelayPlace>
}

export const isPlannedLogic = (logic: unknown): logic is PlannedLogic =>
  typeof logic === 'object' && logic !== null && 'machine' in logic

/** The logic of a machine actor; null for any other actor. */
export function plannedLogicOf(actor: AnyActorRef): PlannedLogic | null {
  const logic = logicOf(actor)
  return isPlannedLogic(logic) ? logic : null
}

export const isMachineActor = (actor: AnyActorRef): boolean => plannedLogicOf(actor) !== null

/** The kind of an actor. One without logic, such as a reference to an actor elsewhere, does work. */
export function kindOfActor(actor: AnyActorRef): ActorKind {
  const logic = logicOf(actor)
  if (logic === undefined) return 'work'
  return isPlannedLogic(logic) ? 'machine' : kindOf(logic)
}

/**
 * Is the actor's snapshot all of its state? True for machines and transition functions: they run nothing between
 * events.
 */
export function isSnapshotOnly(actor: AnyActorRef): boolean {
  const kind = kindOfActor(actor)
  return kind === 'machine' || kind === 'transition'
}

/** Does the actor run work in this process that a crash cuts off? A child job survives the crash. */
export const doesWork = (actor: AnyActorRef): boolean => kindOfActor(actor) === 'work'
