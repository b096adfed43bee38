/**
 * The actor logic of a machine in a job: one for all jobs of a definition. It finds the plan of a job through the root
 * actor.
 */
import type { AnyActorRef, AnyActorScope, AnyMachineSnapshot, AnyStateMachine, EventObject, Snapshot } from 'xstate'
import { kindOfActor, type PlannedLogic } from './actor-kinds.ts'
import type { Children } from './addresses.ts'
import { prepareBuiltIns } from './built-ins.ts'
import { setMember } from '../core/payload.ts'
import { runnerOf } from './machine-run-services.ts'
import { isStorable, storableError } from './action-args.ts'
import { isMachine, namedActors } from './machines.ts'
import { MachineActions } from './actions.ts'
import { Plan } from './plan.ts'
import { delayPlaces } from './timers.ts'
import type { LeanActor, LeanMachine } from './versions.ts'
import { reportsSnapshots, systemIdOf } from './xstate-internals.ts'

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
    events: new Set(planned.events as readonly string[]),
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
    getPersistedSnapshot: (snapshot: Snapshot<unknown>) =>
      persist(snapshot as AnyMachineSnapshot) as object as Snapshot<unknown>,
    start: (snapshot: Snapshot<unknown>, scope: AnyActorScope) => {
      planOf(scope).machineStarted(snapshot, scope)
    },
  }
}

/**
 * As XState persists it, without what is the default, and with actors in the context as they are: XState would replace
 * them by their ids, the codec stores their addresses.
 */
function persist(snapshot: AnyMachineSnapshot): LeanMachine {
  const { status, value, context, output, error, children, historyValue } = snapshot
  return {
    status: status === 'active' ? undefined : status,
    output,
    error,
    value: value as LeanMachine['value'],
    context,
    children: mapMembers(children as Children, (actor) => (actor === undefined ? undefined : persistedActor(actor))),
    historyValue: mapMembers(historyValue as Histories, (nodes) => nodes.map(({ id }) => ({ id }))),
  }
}

type Histories = Readonly<Record<string, readonly { readonly id: string }[]>>

/** Undefined without members: most machines have no actors and no histories most of the time. */
function mapMembers<From, To>(
  members: Readonly<Record<string, From>>,
  map: (member: From) => To | undefined,
): Record<string, To> | undefined {
  let mapped: Record<string, To> | undefined
  // `for … in` would be compiled anew for nearly each of these objects, which have names of their own.
  const names = Object.keys(members)
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string
    const member = map(members[name] as From)
    if (member !== undefined) setMember((mapped ??= {}), name, member)
  }
  return mapped
}

function persistedActor(actor: AnyActorRef): LeanActor {
  const kind = kindOfActor(actor)
  const persisted = withStorableError(actor.getPersistedSnapshot())
  return {
    snapshot: kind === 'work' ? workState(persisted, actor.getSnapshot().status !== 'active') : persisted,
    src: actor.src,
    systemId: systemIdOf(actor),
    syncSnapshot: reportsSnapshots(actor) || undefined,
    kind: kind === 'work' ? undefined : kind,
  }
}

/** What an actor has failed with need not be JSON: a promise may reject with anything. */
function withStorableError(snapshot: Snapshot<unknown>): Snapshot<unknown> {
  return snapshot.status === 'error' ? { ...snapshot, error: storableError(snapshot.error) } : snapshot
}

/** Ended work is stored without its input, and without an output that JSON cannot represent. */
function workState(snapshot: Snapshot<unknown>, isOver: boolean): unknown {
  const { status, output, error } = snapshot
  if (isOver) return { status, error, output: isStorable(output) ? output : undefined }
  return status === 'active' && !hasMore(snapshot) ? undefined : snapshot
}

/** Does a snapshot say more than its status? */
function hasMore(snapshot: Snapshot<unknown>): boolean {
  for (const name in snapshot) {
    if (name !== 'status' && Object.hasOwn(snapshot, name) && snapshot[name as never] !== undefined) return true
  }
  return false
}

function planOf({ self }: AnyActorScope): Plan {
  const plan = runnerOf(self)?.plan
  if (!(plan instanceof Plan)) throw new TypeError('the logic of a machine job is used outside of a job')
  return plan
}
