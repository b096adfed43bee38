/**
 * Plan, then commit, then execute: the machines of a hosted tree make their transitions as ever, but what would reach the
 * world outside (actions, actors that do work, emitted events) is held back until the checkpoint that follows from it is
 * written. What stays among machines (events sent and raised, timers, stops) happens at once: it is part of the plan.
 *
 * It works through the public `ActorLogic` contract: a machine's logic is asked with a scope of ours.
 */
import type { AnyActorRef, AnyActorScope, AnyStateMachine, EventObject, Snapshot } from 'xstate'
import { refusal } from './machines.ts'
import { isPlanned } from './planned.ts'
import { pathOf } from './timers.ts'

/** An action of a machine that waits to be executed. */
export interface HeldAction {
  readonly kind: 'action'
  readonly actor: AnyActorRef
  readonly type: string
  readonly params: unknown
  readonly context: unknown
  readonly event: EventObject
}

/** What waits for the commit. All but actions and emitted events follow from the checkpoint by themselves. */
export type Held =
  | HeldAction
  | { readonly kind: 'emit'; readonly event: EventObject }
  | { readonly kind: 'other'; readonly run: () => void }

type ExecutableAction = Parameters<AnyActorScope['actionExecutor']>[0]
type Children = Readonly<Record<string, AnyActorRef | undefined>>

export class Plan {
  /** In the order in which it is to be done. */
  held: Held[] = []
  /** How often each actor was begun, by path: the number names one beginning, and with it what the actor does. */
  readonly beginnings: Map<string, number>
  /** Why the machine cannot be hosted, if it has shown that it cannot. */
  refused: Error | null = null
  private readonly jobId: string
  private readonly scopes = new WeakMap<AnyActorScope, AnyActorScope>()
  /** Actors that were begun, with the scopes that can stop them. */
  private readonly actors = new Map<AnyActorRef, AnyActorScope>()
  /** Is what is deferred now part of the plan? */
  private planning = false

  constructor(jobId: string, beginnings: Readonly<Record<string, number>>) {
    this.jobId = jobId
    this.beginnings = new Map(Object.entries(beginnings))
  }

  /** Stops every actor that was begun, whatever has become of the machine that began it. */
  stopAll(): void {
    for (const [actor, scope] of this.actors) scope.stopChild(actor)
    this.actors.clear()
    this.held = []
  }

  /** The scope in which a machine of this job makes its transitions. */
  scopeOf(scope: AnyActorScope, machine: AnyStateMachine): AnyActorScope {
    let planned = this.scopes.get(scope)
    if (planned === undefined) {
      planned = {
        ...scope,
        defer: (run) => (this.planning ? scope.defer(run) : void this.held.push({ kind: 'other', run })),
        actionExecutor: (action) => this.execute(action, scope, machine),
      }
      this.scopes.set(scope, planned)
    }
    return planned
  }

  private execute(action: ExecutableAction, scope: AnyActorScope, machine: AnyStateMachine): void {
    const { type, exec, info, params } = action
    if (exec === undefined) return
    if (type === 'xstate.spawnChild') return this.spawn(action)
    if (type === 'xstate.emit') {
      this.held.push({ kind: 'emit', event: (params as { readonly event: EventObject }).event })
    } else if (type === 'xstate.log') {
      this.held.push({ kind: 'other', run: () => exec(info, params) })
    } else if (type.startsWith('xstate.')) {
      this.plan(() => exec(info, params))
    } else if (machine.implementations.actions[type as never] !== exec) {
      this.refused = refusal(
        machine,
        `the inline action ${type}`,
        'Name it: setup({ actions: { … } }). An action without a name cannot be found again after a crash.',
      )
      throw this.refused
    } else {
      const { context, event } = info
      this.held.push({ kind: 'action', actor: scope.self, type, params, context, event })
    }
  }

  /** Machines begin at once; actors that do work begin when it is known that they should. */
  private spawn({ exec, info, params }: ExecutableAction): void {
    const { actorRef } = params as { readonly actorRef: AnyActorRef | undefined }
    if (actorRef !== undefined && isPlanned(actorRef)) this.plan(() => exec?.(info, params))
    else exec?.(info, params)
  }

  private plan(act: () => void): void {
    this.planning = true
    try {
      act()
    } finally {
      this.planning = false
    }
  }

  /** Gives the actors that have come to be the name of this beginning. */
  known<S extends Snapshot<unknown>>(snapshot: S, scope: AnyActorScope): S {
    for (const actor of newActors(snapshot, this.actors)) {
      const path = pathOf(actor)
      this.beginnings.set(path, (this.beginnings.get(path) ?? 0) + 1)
      this.name(actor, path, scope)
    }
    return snapshot
  }

  /** Those that were there before keep theirs. */
  restored<S extends Snapshot<unknown>>(snapshot: S, scope: AnyActorScope): S {
    for (const actor of newActors(snapshot, this.actors)) this.name(actor, pathOf(actor), scope)
    return snapshot
  }

  private name(actor: AnyActorRef, path: string, scope: AnyActorScope): void {
    actor.sessionId = `${this.jobId}/${path}/${this.beginnings.get(path) ?? 1}`
    this.actors.set(actor, scope)
  }
}

function newActors(snapshot: Snapshot<unknown>, known: ReadonlyMap<AnyActorRef, unknown>): AnyActorRef[] {
  const { children } = snapshot as { readonly children?: Children }
  return Object.values(children ?? {}).filter((actor): actor is AnyActorRef => actor !== undefined && !known.has(actor))
}

/** What an action is called with. */
export const argumentsOf = ({ actor, context, event }: HeldAction) => ({
  context,
  event,
  self: actor,
  system: actor.system,
})
