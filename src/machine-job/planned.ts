/** The logic of a machine as it is hosted: made once for a definition; each job's plan is found through its actor system. */
import type { AnyActorLogic, AnyActorRef, AnyActorScope, AnyStateMachine, EventObject, Snapshot } from 'xstate'
import { jobOf } from './from-job.ts'
import { hostingOf } from './job-actors.ts'
import { isMachine, namedActors } from './machines.ts'
import type { Plan } from './plan.ts'

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
  planned.options = machine.options
  return {
    machine: planned,
    config: planned.config,
    transition: (snapshot: Snapshot<unknown>, event: EventObject, scope: AnyActorScope) => {
      const plan = planOf(scope)
      if (plan.isOldNews(event)) return snapshot
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
    // The actors of a machine that begins do so when its first checkpoint is written, as all that come later.
    start: (snapshot: Snapshot<unknown>, scope: AnyActorScope) => {
      planOf(scope).goOn(snapshot, scope)
    },
  }
}

/** Is it a hosted machine? */
export const isPlanned = (actor: AnyActorRef): boolean =>
  'logic' in actor && typeof actor.logic === 'object' && actor.logic !== null && 'machine' in actor.logic

/** Machines, and what only makes transitions, are wholly in their snapshots. */
export const isItsSnapshot = (actor: AnyActorRef): boolean =>
  isPlanned(actor) || ('logic' in actor && (actor.logic as AnyActorLogic).start === undefined)

/** Does it do something that no snapshot holds? Of a job, its own does. */
export const worksOutside = (actor: AnyActorRef): boolean => !isItsSnapshot(actor) && jobOf(actor) === null

function planOf({ self }: AnyActorScope): Plan {
  const hosting = hostingOf(self)
  if (hosting === null) throw new TypeError('a planned machine is outside of its host')
  return hosting.plan
}
