/** The logic of a machine as it is hosted: made once for a definition; each job's plan is found through its actor system. */
import type { AnyActorRef, AnyActorScope, AnyStateMachine, EventObject, Snapshot } from 'xstate'
import { worksOutside, type PlannedLogic } from './actor-kinds.ts'
import { prepareBuiltIns } from './built-ins.ts'
import { runnerOf } from './job-actors.ts'
import { isWhole, keepable } from './kept-args.ts'
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

function planOf({ self }: AnyActorScope): Plan {
  const plan = runnerOf(self)?.plan
  if (!(plan instanceof Plan)) throw new TypeError('the logic of a machine job is used outside of a job')
  return plan
}
