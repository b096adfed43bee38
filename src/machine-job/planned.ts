/** The logic of a machine as it is hosted: made once for a definition; each job's plan is found through its actor system. */
import type { AnyActorLogic, AnyActorRef, AnyActorScope, AnyStateMachine, EventObject, Snapshot } from 'xstate'
import { hostingIn } from './job-actors.ts'
import { isMachine, namedActors } from './machines.ts'
import type { Plan } from './plan.ts'

/** Microsteps of one macrostep at most, where the machine sets no bound of its own: a chart that runs in circles never rests. */
const iterationsMax = 10_000

export type PlannedLogic = AnyActorLogic & {
  /** The machine, its named machines planned as well. */
  readonly machine: AnyStateMachine
}

export function plannedLogic(machine: AnyStateMachine): PlannedLogic {
  const planned = machine.provide({
    actors: Object.fromEntries(
      namedActors(machine).map(([name, logic]) => [name, isMachine(logic) ? plannedLogic(logic) : logic]),
    ),
  })
  if (planned.options.maxIterations === Infinity) {
    planned.options = { ...planned.options, maxIterations: iterationsMax }
  }
  return {
    machine: planned,
    config: planned.config,
    transition: (snapshot: Snapshot<unknown>, event: EventObject, scope: AnyActorScope) => {
      const plan = planOf(scope)
      return plan.known(planned.transition(snapshot as never, event as never, plan.scopeOf(scope, planned)), scope)
    },
    getInitialSnapshot: (scope: AnyActorScope, input: unknown) => {
      const plan = planOf(scope)
      return plan.known(planned.getInitialSnapshot(plan.scopeOf(scope, planned), input), scope)
    },
    restoreSnapshot: (snapshot: Snapshot<unknown>, scope: AnyActorScope) => {
      const plan = planOf(scope)
      return plan.restored(planned.restoreSnapshot(snapshot, plan.scopeOf(scope, planned)), scope)
    },
    getPersistedSnapshot: (snapshot: Snapshot<unknown>) => planned.getPersistedSnapshot(snapshot as never),
    start: (snapshot: Snapshot<unknown>) => planned.start(snapshot as never),
  }
}

/** Is it a hosted machine? */
export const isPlanned = (actor: AnyActorRef): boolean =>
  'logic' in actor && typeof actor.logic === 'object' && actor.logic !== null && 'machine' in actor.logic

function planOf({ system }: AnyActorScope): Plan {
  const hosting = hostingIn(system)
  if (hosting === null) throw new TypeError('a planned machine is outside of its host')
  return hosting.plan
}
