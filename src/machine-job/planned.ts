/**
 * The actor logic of a machine in a job: one for all jobs of a definition. It finds the plan of a job through the root
 * actor.
 */
import type { AnyActorRef, AnyActorScope, AnyStateMachine, EventObject, Snapshot } from 'xstate'
import { kindOfActor, type PlannedLogic } from './actor-kinds.ts'
import { prepareBuiltIns } from './built-ins.ts'
import { runnerOf } from './machine-run-services.ts'
import { isFullyStorable, storable } from './action-args.ts'
import { isMachine, namedActors } from './machines.ts'
import { MachineActions } from './actions.ts'
import { Plan } from './plan.ts'
import { delayPlaces } from './timers.ts'

export function plannedLogic(machine: AnyStateMachine): PlannedLogic {
  const planned = machine.provide({
    actors: Object.fromEntries(
      namedActors(machine).map(([name, logic]) => [name, isMachine(logic) ? plannedLogic(logic) : logic]),
    ),
  })
  planned.options = machine.options
  const builtIns = prepareBuiltIns(planned)
  const target = { machine: planned, actions: new MachineActions(planned) }
  const published = <S extends Snapshot<unknown>>(snapshot: S): S => {
    const { children } = snapshot as { readonly children?: object }
    if (children !== undefined) builtIns.publish(children)
    return snapshot
  }
  return {
    ...target,
    delays: delayPlaces(planned),
    config: planned.config,
    transition: (snapshot: Snapshot<unknown>, event: EventObject, scope: AnyActorScope) => {
      const plan = planOf(scope)
      if (plan.isRestoreEcho(event)) return snapshot
      const next = planned.transition(snapshot as never, event, plan.scopeOf(scope, target))
      return plan.registerChildren(published(next), scope)
    },
    getInitialSnapshot: (scope: AnyActorScope, input: unknown) => {
      const plan = planOf(scope)
      plan.addresses.of(scope.self)
      return plan.registerChildren(published(planned.getInitialSnapshot(plan.scopeOf(scope, target), input)), scope)
    },
    restoreSnapshot: (snapshot: Snapshot<unknown>, scope: AnyActorScope) => {
      const plan = planOf(scope)
      plan.addresses.restored(scope.self)
      return plan.registerRestored(planned.restoreSnapshot(snapshot, plan.scopeOf(scope, target)))
    },
    getPersistedSnapshot: (snapshot: Snapshot<unknown>) => persist(planned, snapshot),
    start: (snapshot: Snapshot<unknown>, scope: AnyActorScope) => {
      planOf(scope).machineStarted(snapshot, scope)
    },
  }
}

function persist(machine: AnyStateMachine, snapshot: Snapshot<unknown>): Snapshot<unknown> {
  // XState would replace actors in the context by their ids; the codec stores their addresses.
  const kept = machine.getPersistedSnapshot({ ...snapshot, context: undefined } as never) as PersistedChildren
  const { children } = snapshot as { readonly children?: Readonly<Record<string, AnyActorRef>> }
  const persisted = Object.entries(kept.children).map(([id, child]) => {
    const actor = children?.[id]
    if (actor === undefined) return [id, child] as const
    const kind = kindOfActor(actor)
    const isOver = kind === 'work' && actor.getSnapshot().status !== 'active'
    return [id, { ...child, kind, ...(isOver && { snapshot: finalState(child.snapshot) }) }] as const
  })
  const whole: object = { ...kept, context: contextOf(snapshot), children: Object.fromEntries(persisted) }
  return whole as Snapshot<unknown>
}

type PersistedChildren = Snapshot<unknown> & {
  readonly children: Readonly<Record<string, { readonly snapshot: Snapshot<unknown> }>>
}

/** An ended actor is stored without its input, and without an output that JSON cannot represent. */
function finalState({ status, output, error }: Snapshot<unknown>): Snapshot<unknown> {
  return { status, error, output: isFullyStorable(storable(output)) ? output : undefined } as Snapshot<unknown>
}

const contextOf = (snapshot: Snapshot<unknown>): unknown => (snapshot as { readonly context?: unknown }).context

function planOf({ self }: AnyActorScope): Plan {
  const plan = runnerOf(self)?.plan
  if (!(plan instanceof Plan)) throw new TypeError('the logic of a machine job is used outside of a job')
  return plan
}
