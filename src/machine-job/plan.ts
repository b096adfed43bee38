/**
 * Plan, then commit, then execute: the machines of a hosted tree make their transitions as ever, but what would reach the
 * world outside (actions, actors that do work, emitted events) is held back until the checkpoint that follows from it is
 * written. What stays among machines (events sent and raised, timers, stops) happens at once: it is part of the plan.
 *
 * It works through the public `ActorLogic` contract: a machine's logic is asked with a scope of ours.
 */
import type { AnyActorRef, AnyActorScope, AnyStateMachine, EventObject, Snapshot } from 'xstate'
import type { ActionFunction, ActionName, MachineActions } from './actions.ts'
import type { ActorAddresses } from './addresses.ts'
import { JobchartError } from '../core/errors.ts'
import { isDurable, isToldSnapshot } from './durable.ts'
import { namelessSpawn, refusal } from './machines.ts'
import { isItsSnapshot, worksOutside } from './actor-kinds.ts'
import { countActorIds } from './xstate-internals.ts'

/** An action of a machine that waits to be executed. */
export interface PendingAction {
  readonly kind: 'action'
  /** Its own; of one that is gone since a restart a stand-in. */
  readonly actor: AnyActorRef
  readonly act: ActionFunction
  readonly name: ActionName
  readonly params: unknown
  readonly context: unknown
  readonly event: EventObject
}

/**
 * What waits for the commit: an action, an emitted event, an event sent to an actor that does work, a job that is left and
 * to be cancelled. All else follows from the checkpoint by itself.
 */
export type PendingEffect =
  | PendingAction
  | { readonly kind: 'emit'; readonly event: EventObject }
  | { readonly kind: 'send'; readonly actor: AnyActorRef; readonly event: EventObject }
  | { readonly kind: 'leave'; readonly job: string }
  /** An actor starts its work. */
  | { readonly kind: 'start'; readonly actor: AnyActorRef }
  /** An actor is stopped when it has been told what was sent to it before. */
  | { readonly kind: 'stop'; readonly actor: AnyActorRef }
  /** An actor that has started begins its next attempt. */
  | { readonly kind: 'attempt'; readonly begin: () => void }
  | { readonly kind: 'log'; readonly run: () => void }

type ExecutableAction = Parameters<AnyActorScope['actionExecutor']>[0]
/** The params of XState's own `sendTo`, once it is sent. */
interface Sent {
  readonly to: AnyActorRef
  readonly event: EventObject
  readonly delay: number | undefined
}

interface Spawned {
  readonly id: unknown
  readonly actorRef: AnyActorRef | undefined
}

/** A machine that is hosted, with its actions. */
export interface PlannedMachine {
  readonly machine: AnyStateMachine
  readonly actions: MachineActions
}

type Children = Readonly<Record<string, AnyActorRef | undefined>>

export interface PlanOptions {
  readonly addresses: ActorAddresses
  /** Actors that were given an id by number so far. */
  readonly nextActorNumber: number
  /** Called when something is held. */
  readonly changed: () => void
}

export class Plan {
  /** In the order in which it is to be done. */
  pending: PendingEffect[] = []
  readonly addresses: ActorAddresses
  /** Why the machine cannot be hosted, if it has shown that it cannot. */
  refused: Error | null = null
  /** Actors that were given an id by number so far. */
  nextActorNumber: number
  /** How many actors it has come to know: while it is the same, none has been added. */
  actorsSeen = 0
  private readonly knownChildren = new WeakMap<AnyActorRef, Children>()
  private readonly changed: () => void
  private readonly scopes = new WeakMap<AnyActorScope, AnyActorScope>()
  /** Machines that have started: what others do waits until they start. */
  private readonly started = new WeakSet<AnyActorRef>()
  /** Actors whose start is planned. */
  private readonly starting = new WeakSet<AnyActorRef>()
  /** Actors that were stopped: XState would start one again. */
  private readonly stopped = new WeakSet<AnyActorRef>()
  /** Actors that do work and were sent something. */
  private readonly sentTo = new WeakSet<AnyActorRef>()
  /** Those whose stop is held. */
  private readonly leaving = new WeakSet<AnyActorRef>()
  /** Actors that may be at work, with the scopes that can stop them. */
  private readonly working = new Map<AnyActorRef, AnyActorScope>()
  /** Snapshots with which machines, and actors in them, go on. */
  private readonly continued = new WeakSet<object>()
  /** If what is deferred now is part of the plan: how it is done. */
  private planning: ((run: () => void) => () => void) | null = null

  constructor({ addresses, nextActorNumber: booked, changed }: PlanOptions) {
    this.addresses = addresses
    this.nextActorNumber = booked
    this.changed = changed
  }

  hold(held: PendingEffect): void {
    this.pending.push(held)
    this.changed()
  }

  /** A machine starts, or goes on: its actors before its own actions, as in XState. */
  start(snapshot: Snapshot<unknown>, scope: AnyActorScope): void {
    this.started.add(scope.self)
    for (const actor of childrenOf(snapshot)) {
      if (actor.getSnapshot().status === 'active') this.startChild(actor, scope)
    }
  }

  /** Executes the start of an actor that does work. */
  startWork(actor: AnyActorRef): void {
    if (!this.stopped.has(actor)) actor.start()
  }

  /** Executes the stop of an actor that does work. */
  stopWork(actor: AnyActorRef): void {
    this.working.get(actor)?.stopChild(actor)
  }

  /** An actor is told what was sent to it: until it is stopped its answers are heard. */
  notified(actor: AnyActorRef): void {
    this.leaving.delete(actor)
  }

  /** Is an actor stopped, but for what it was sent before? Nothing that it sends of itself is heard. */
  isLeaving(actor: AnyActorRef): boolean {
    return this.leaving.has(actor)
  }

  /** An actor has ended. */
  ended(actor: AnyActorRef): void {
    this.working.delete(actor)
  }

  /** Is it what an actor tells of itself because it has started to go on? Its machine has heard that long ago. */
  isOldNews({ type, snapshot }: EventObject & { readonly snapshot?: unknown }): boolean {
    return type.startsWith('xstate.snapshot.') && this.continued.has(snapshot as object)
  }

  /** Stops every actor that was begun, whatever has become of the machine that began it. */
  stopAll(): void {
    for (const [actor, scope] of this.working) scope.stopChild(actor)
    this.working.clear()
    this.pending = []
  }

  /** The scope in which a machine of this job makes its transitions. */
  scopeOf(scope: AnyActorScope, machine: PlannedMachine): AnyActorScope {
    let planned = this.scopes.get(scope)
    if (planned === undefined) {
      // Ids that XState gives by number begin anew in each process: those of this job go on.
      countActorIds(scope.system, () => `x:${++this.nextActorNumber}`)
      planned = {
        ...scope,
        // Outside of an action XState defers only the start of an actor that `assign` has spawned: `known` does that.
        defer: (run) => void (this.planning !== null && scope.defer(this.planning(run))),
        // A machine that is stopped before it starts has done nothing.
        actionExecutor: (action) => {
          if (this.started.has(scope.self)) this.execute(action, scope, machine)
          else scope.defer(() => this.execute(action, scope, machine))
        },
        stopChild: (child) => {
          this.stopped.add(child)
          if (this.sentTo.has(child) && this.working.has(child)) {
            this.leaving.add(child)
            this.hold({ kind: 'stop', actor: child })
          } else {
            scope.stopChild(child)
            // XState leaves the timers of an actor that was restored and has not started yet.
            if (isDurable(child)) scope.system.scheduler.cancelAll(child)
          }
        },
      }
      this.scopes.set(scope, planned)
    }
    return planned
  }

  private execute(action: ExecutableAction, scope: AnyActorScope, { machine, actions }: PlannedMachine): void {
    const { type, exec, info, params } = action
    if (exec === undefined) this.refuse(unknownAction(machine, type))
    if (type === 'xstate.spawnChild') {
      const { id, actorRef } = params as Spawned
      if (id === undefined) this.refuse(namelessSpawn(machine))
      if (actorRef !== undefined) scope.defer(() => this.startChild(actorRef, scope))
    } else if (type === 'xstate.emit') {
      // As in XState, an event is emitted after all actions of its macrostep.
      const { event } = params as { readonly event: EventObject }
      this.plan(
        () => exec(info, params),
        () => () => this.hold({ kind: 'emit', event }),
      )
    } else if (type === 'xstate.log') {
      this.hold({ kind: 'log', run: () => exec(info, params) })
    } else if (type === 'xstate.sendTo') {
      // Whom it goes to may be known only when it is sent.
      this.plan(
        () => exec(info, params),
        (run) => () => this.send(params as Sent, run),
      )
    } else if (type.startsWith('xstate.')) {
      this.plan(() => exec(info, params))
    } else {
      const name = actions.nameOf(type, exec)
      if (name === null) this.refuse(placeless(machine, type))
      const { context, event } = info
      this.hold({ kind: 'action', actor: scope.self, act: exec as ActionFunction, name, params, context, event })
    }
  }

  private refuse(error: Error): never {
    this.refused = error
    throw error
  }

  private plan(act: () => void, how = (run: () => void) => run): void {
    this.planning = how
    try {
      act()
    } finally {
      this.planning = null
    }
  }

  private send({ to: actor, event, delay }: Sent, run: () => void): void {
    if (delay === undefined && worksOutside(actor)) {
      this.sentTo.add(actor)
      this.hold({ kind: 'send', actor, event })
    } else run()
  }

  /**
   * Gives the actors that have come to be their addresses. Machines, and what only makes transitions, start at once, so that
   * the checkpoint holds what they were sent; actors that do work start when it is written that they should.
   */
  known<S extends Snapshot<unknown>>(snapshot: S, scope: AnyActorScope): S {
    const { children } = snapshot as { readonly children?: Children }
    // Another object only when an actor has come or gone.
    if (children === undefined || this.knownChildren.get(scope.self) === children) return snapshot
    this.knownChildren.set(scope.self, children)
    for (const actor of childrenOf(snapshot)) {
      if (this.starting.has(actor)) continue
      if (typeof actor.src !== 'string') this.refuse(inlineSpawn(scope, actor))
      this.actorsSeen++
      this.addresses.of(actor)
      scope.defer(() => this.startChild(actor, scope))
    }
    return snapshot
  }

  private startChild(actor: AnyActorRef, scope: AnyActorScope): void {
    if (this.starting.has(actor) || this.stopped.has(actor)) return
    this.starting.add(actor)
    if (isItsSnapshot(actor)) {
      actor.start()
      return
    }
    this.working.set(actor, scope)
    // No news to write: it follows from the snapshot that holds the actor. Else each attempt that restores it would write a
    // checkpoint, and attempts are counted from the last one.
    this.pending.push({ kind: 'start', actor })
  }

  /** Those that were there before keep their addresses. */
  restored<S extends Snapshot<unknown>>(snapshot: S): S {
    for (const actor of childrenOf(snapshot)) {
      this.actorsSeen++
      this.addresses.restored(actor)
      if (actor.getSnapshot().status !== 'active') this.starting.add(actor)
      if (!worksOutside(actor) || isToldSnapshot(actor)) this.continued.add(actor.getSnapshot() as object)
    }
    this.continued.add(snapshot)
    return snapshot
  }
}

function childrenOf(snapshot: Snapshot<unknown>): AnyActorRef[] {
  const { children } = snapshot as { readonly children?: Children }
  return Object.values(children ?? {}).filter((actor) => actor !== undefined)
}

/** Those that a chart names are looked at when its job is defined: this one was named when it ran. */
const unknownAction = (machine: AnyStateMachine, name: string): JobchartError =>
  new JobchartError('INVALID_OPTION', `machine ${machine.id}: the action ${name} is not implemented`, {
    hint: 'Implement it: setup({ actions: { … } }).',
  })

/** Each call of `enqueueActions` makes its actions anew. */
const placeless = (machine: AnyStateMachine, type: string): JobchartError =>
  refusal(
    machine,
    `the inline action ${type}, made while the chart ran,`,
    'Name it: setup({ actions: { … } }), and enqueue it by its name: it has no place in the chart where it could be found again.',
  )

const inlineSpawn = ({ self }: AnyActorScope, { id }: AnyActorRef): Error =>
  refusal(
    self,
    `the actor ${id}, spawned from inline logic,`,
    'Name it: setup({ actors: { … } }), and spawn it by its name.',
  )
