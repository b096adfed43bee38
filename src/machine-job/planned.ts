/** The logic of a machine as it is hosted: made once for a definition; each job's plan is found through its actor system. */
import type { AnyActorLogic, AnyActorRef, AnyActorScope, AnyStateMachine, EventObject, Snapshot } from 'xstate'
import { jobOf } from './from-job.ts'
import { prepareBuiltIns } from './built-ins.ts'
import { runnerOf } from './job-actors.ts'
import { isWhole, keepable } from './kept-args.ts'
import { isMachine, namedActors } from './machines.ts'
import { MachineActions } from './actions.ts'
import type { Plan } from './plan.ts'
import { delayPlaces, type DelayPlace } from './timers.ts'

export type PlannedLogic = AnyActorLogic & {
  readonly actions: MachineActions
  /** The machine, its named machines planned as well. */
  readonly machine: AnyStateMachine
  /** Its delayed transitions, by the types of their events. */
  readonly delays: ReadonlyMap<string, DelayPlace>
}

export function plannedLogic(machine: AnyStateMachine): PlannedLogic {
  const planned = machine.provide({
    actors: Object.fromEntries(
      namedActors(machine).map(([name, logic]) => [name, isMachine(logic) ? plannedLogic(logic) : logic]),
    ),
  })
  planned.options = machine.options
  const builtIns = prepareBuiltIns(planned)
  const hosted = { machine: planned, actions: new MachineActions(planned) }
  const published = <S extends Snapshot<unknown>>(snapshot: S): S => {
    const { children } = snapshot as { readonly children?: object }
    if (children !== undefined) builtIns.publish(children)
    return snapshot
  }
  return {
    ...hosted,
    delays: delayPlaces(planned),
    config: planned.config,
    transition: (snapshot: Snapshot<unknown>, event: EventObject, scope: AnyActorScope) => {
      const plan = planOf(scope)
      if (plan.isOldNews(event)) return snapshot
      const next = planned.transition(snapshot as never, event, plan.scopeOf(scope, hosted))
      return plan.known(published(next), scope)
    },
    getInitialSnapshot: (scope: AnyActorScope, input: unknown) => {
      const plan = planOf(scope)
      plan.addresses.of(scope.self)
      return plan.known(published(planned.getInitialSnapshot(plan.scopeOf(scope, hosted), input)), scope)
    },
    restoreSnapshot: (snapshot: Snapshot<unknown>, scope: AnyActorScope) => {
      const plan = planOf(scope)
      plan.addresses.restored(scope.self)
      return plan.restored(planned.restoreSnapshot(snapshot, plan.scopeOf(scope, hosted)))
    },
    getPersistedSnapshot: (snapshot: Snapshot<unknown>) => persisted(planned, snapshot),
    start: (snapshot: Snapshot<unknown>, scope: AnyActorScope) => {
      planOf(scope).start(snapshot, scope)
    },
  }
}

function persisted(machine: AnyStateMachine, snapshot: Snapshot<unknown>): Snapshot<unknown> {
  // XState would replace actors in the context by their ids.
  const kept = machine.getPersistedSnapshot({ ...snapshot, context: undefined } as never) as PersistedChildren
  const { children } = snapshot as { readonly children?: Readonly<Record<string, AnyActorRef>> }
  const ended = Object.entries(kept.children).map(([id, child]) => {
    const actor = children?.[id]
    return [
      id,
      actor !== undefined && hasWorked(actor) ? { ...child, snapshot: endOf(child.snapshot) } : child,
    ] as const
  })
  const whole: object = { ...kept, context: contextOf(snapshot), children: Object.fromEntries(ended) }
  return whole as Snapshot<unknown>
}

type PersistedChildren = Snapshot<unknown> & {
  readonly children: Readonly<Record<string, { readonly snapshot: Snapshot<unknown> }>>
}

const hasWorked = (actor: AnyActorRef): boolean => actor.getSnapshot().status !== 'active' && worksOutside(actor)

/** An actor that has done its work does not need its input again, and its output only if JSON can carry it: few ask for it later. */
function endOf({ status, output, error }: Snapshot<unknown>): Snapshot<unknown> {
  return { status, error, output: isWhole(keepable(output)) ? output : undefined } as Snapshot<unknown>
}

const contextOf = (snapshot: Snapshot<unknown>): unknown => (snapshot as { readonly context?: unknown }).context

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

function planOf({ self }: AnyActorScope): Plan {
  const hosting = runnerOf(self)
  if (hosting === null) throw new TypeError('a planned machine is outside of its host')
  return hosting.plan
}
