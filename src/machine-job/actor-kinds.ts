/** What kind of logic an actor of a machine job has: the planned logic of a machine, a job, or work that no snapshot holds. */
import type { AnyActorLogic, AnyActorRef, AnyStateMachine } from 'xstate'
import type { MachineActions } from './actions.ts'
import { jobOf } from './from-job.ts'
import type { DelayPlace } from './timers.ts'

/** The logic of a machine as it is run in a job. */
export type PlannedLogic = AnyActorLogic & {
  readonly actions: MachineActions
  /** The machine, its named machines planned as well. */
  readonly machine: AnyStateMachine
  /** Its delayed transitions, by the types of their events. */
  readonly delays: ReadonlyMap<string, DelayPlace>
}

export const isPlannedLogic = (logic: unknown): logic is PlannedLogic =>
  typeof logic === 'object' && logic !== null && 'machine' in logic

/** The logic of a hosted machine; null of any other actor. */
export function plannedLogicOf(actor: AnyActorRef): PlannedLogic | null {
  const { logic } = actor as { readonly logic?: unknown }
  return isPlannedLogic(logic) ? logic : null
}

/** Is it a hosted machine? */
export const isPlanned = (actor: AnyActorRef): boolean => plannedLogicOf(actor) !== null

/** Machines, and what only makes transitions, are wholly in their snapshots. */
export const isItsSnapshot = (actor: AnyActorRef): boolean =>
  isPlanned(actor) || ('logic' in actor && (actor.logic as AnyActorLogic).start === undefined)

/** Does it do something that no snapshot holds? Of a job, its own does. */
export const worksOutside = (actor: AnyActorRef): boolean => !isItsSnapshot(actor) && jobOf(actor) === null
