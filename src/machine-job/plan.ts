/**
 * Plan, then commit, then execute: the machines of a hosted tree make their transitions as ever, but what would reach the
 * world outside (actions, actors that do work, emitted events) is held back until the checkpoint that follows from it is
 * written. What stays among machines (events sent and raised, timers, stops) happens at once: it is part of the plan.
 *
 * It works through the public `ActorLogic` contract: a machine's logic is asked with a scope of ours.
 */
import type { AnyActorRef, AnyActorScope, AnyStateMachine, EventObject, Snapshot } from 'xstate'
import { namelessSpawn, refusal } from './machines.ts'
import { isItsSnapshot, worksOutside } from './planned.ts'
import { pathOf } from './timers.ts'

/** An action of a machine that waits to be executed. */
export interface HeldAction {
  readonly kind: 'action'
  /** Its own, or, of one that is gone since, the nearest above it that is there. */
  readonly actor: AnyActorRef
  readonly act: ActionFunction
  readonly type: string
  readonly params: unknown
  readonly context: unknown
  readonly event: EventObject
}

/**
 * What waits for the commit: an action, an emitted event, an event sent to an actor that does work, a job that is left and
 * to be cancelled. All else follows from the checkpoint by itself.
 */
export type Held =
  | HeldAction
  | { readonly kind: 'emit'; readonly event: EventObject }
  | { readonly kind: 'send'; readonly actor: AnyActorRef; readonly event: EventObject }
  | { readonly kind: 'leave'; readonly job: string }
  | { readonly kind: 'other'; readonly run: () => void }

export type ActionFunction = (
  args: {
    readonly context: unknown
    readonly event: EventObject
    readonly self: AnyActorRef
    readonly system: AnyActorRef['system']
  },
  params: unknown,
) => unknown

type ExecutableAction = Parameters<AnyActorScope['actionExecutor']>[0]
/** The params of XState's own `sendTo`, once it is sent. */
interface Sent {
  readonly to: AnyActorRef
  readonly event: EventObject
  readonly delay: number | undefined
}

type Children = Readonly<Record<string, AnyActorRef | undefined>>

export class Plan {
  /** In the order in which it is to be done. */
  held: Held[] = []
  /** How often each actor was begun, by path: the number names one beginning, and with it what the actor does. */
  readonly beginnings: Map<string, number>
  /** Why the machine cannot be hosted, if it has shown that it cannot. */
  refused: Error | null = null
  /** Actors that were given an id by number so far. */
  booked: number
  private readonly jobId: string
  /** Called when something is held. */
  private readonly changed: () => void
  private readonly scopes = new WeakMap<AnyActorScope, AnyActorScope>()
  /** Actors that were begun. */
  private readonly named = new WeakSet<AnyActorRef>()
  /** Those that may still be active, with the scopes that can stop them. */
  private readonly actors = new Map<AnyActorRef, AnyActorScope>()
  /** Snapshots with which machines, and actors in them, go on. */
  private readonly goneOn = new WeakSet<object>()
  /** If what is deferred now is part of the plan: how it is done. */
  private planning: ((run: () => void) => () => void) | null = null

  constructor(
    jobId: string,
    from: { readonly beginnings: Readonly<Record<string, number>>; readonly booked: number } | null,
    changed: () => void,
  ) {
    this.jobId = jobId
    this.booked = from?.booked ?? 0
    this.beginnings = new Map(Object.entries(from?.beginnings ?? {}))
    this.changed = changed
  }

  hold(held: Held): void {
    this.held.push(held)
    this.changed()
  }

  /** If a machine goes on with this snapshot: so do its actors, those that do work when it is time. */
  goOn(snapshot: Snapshot<unknown>, { self }: AnyActorScope): void {
    if (!this.goneOn.has(snapshot)) return
    for (const actor of childrenOf(snapshot)) {
      if (actor.getSnapshot().status !== 'active') continue
      if (isItsSnapshot(actor)) actor.start()
      else
        this.held.push({
          kind: 'other',
          run: () => void (childrenOf(self.getSnapshot()).includes(actor) && actor.start()),
        })
    }
  }

  /** Is it what an actor tells of itself because it has started to go on? Its machine has heard that long ago. */
  isOldNews({ type, snapshot }: EventObject & { readonly snapshot?: unknown }): boolean {
    return type.startsWith('xstate.snapshot.') && this.goneOn.has(snapshot as object)
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
      // Ids that XState gives by number begin anew in each process: those of this job go on.
      Object.assign(scope.system, { _bookId: () => `x:${++this.booked}` })
      planned = {
        ...scope,
        defer: (run) => (this.planning === null ? this.hold({ kind: 'other', run }) : scope.defer(this.planning(run))),
        actionExecutor: (action) => this.execute(action, scope, machine),
      }
      this.scopes.set(scope, planned)
    }
    return planned
  }

  private execute(action: ExecutableAction, scope: AnyActorScope, machine: AnyStateMachine): void {
    const { type, exec, info, params } = action
    if (exec === undefined) return
    if (type === 'xstate.spawnChild') {
      if ((params as { readonly id: unknown }).id === undefined) this.refuse(namelessSpawn(machine))
      exec(info, params)
    } else if (type === 'xstate.emit') {
      // As in XState, an event is emitted after all actions of its macrostep.
      const { event } = params as { readonly event: EventObject }
      this.plan(
        () => exec(info, params),
        () => () => this.hold({ kind: 'emit', event }),
      )
    } else if (type === 'xstate.log') {
      this.hold({ kind: 'other', run: () => exec(info, params) })
    } else if (type === 'xstate.sendTo') {
      // Whom it goes to may be known only when it is sent.
      this.plan(
        () => exec(info, params),
        (run) => () => this.send(params as Sent, run),
      )
    } else if (type.startsWith('xstate.')) {
      this.plan(() => exec(info, params))
    } else if (actionOf(machine, type) !== exec) {
      const hint = 'Name it: setup({ actions: { … } }). An action without a name cannot be found again after a crash.'
      this.refuse(refusal(machine, `the inline action ${type}`, hint))
    } else {
      const { context, event } = info
      this.hold({ kind: 'action', actor: scope.self, act: exec as ActionFunction, type, params, context, event })
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
    if (delay === undefined && worksOutside(actor)) this.hold({ kind: 'send', actor, event })
    else run()
  }

  /**
   * Gives the actors that have come to be the name of this beginning. What is its snapshot begins at once, so that the checkpoint holds
   * what it was sent; actors that do work begin when it is known that they should.
   */
  known<S extends Snapshot<unknown>>(snapshot: S, scope: AnyActorScope): S {
    for (const [actor] of this.actors) if (actor.getSnapshot().status !== 'active') this.actors.delete(actor)
    for (const actor of newActors(snapshot, this.named)) {
      if (typeof actor.src !== 'string') this.refuse(inlineSpawn(scope, actor))
      const path = pathOf(actor)
      this.beginnings.set(path, (this.beginnings.get(path) ?? 0) + 1)
      this.name(actor, path, scope)
      if (isItsSnapshot(actor)) scope.defer(() => actor.start())
    }
    return snapshot
  }

  /** Those that were there before keep theirs. */
  restored<S extends Snapshot<unknown>>(snapshot: S, scope: AnyActorScope): S {
    for (const actor of newActors(snapshot, this.named)) {
      this.name(actor, pathOf(actor), scope)
      if (!worksOutside(actor)) this.goneOn.add(actor.getSnapshot() as object)
    }
    this.goneOn.add(snapshot)
    return snapshot
  }

  private name(actor: AnyActorRef, path: string, scope: AnyActorScope): void {
    actor.sessionId = `${this.jobId}/${path}/${this.beginnings.get(path) ?? 1}`
    this.named.add(actor)
    this.actors.set(actor, scope)
  }
}

const newActors = (snapshot: Snapshot<unknown>, known: WeakSet<AnyActorRef>): AnyActorRef[] =>
  childrenOf(snapshot).filter((actor) => !known.has(actor))

function childrenOf(snapshot: Snapshot<unknown>): AnyActorRef[] {
  const { children } = snapshot as { readonly children?: Children }
  return Object.values(children ?? {}).filter((actor) => actor !== undefined)
}

/** What a machine does by this name. */
export const actionOf = (machine: AnyStateMachine, name: string): ActionFunction | undefined =>
  machine.implementations.actions[name as never] as ActionFunction | undefined

const inlineSpawn = ({ self }: AnyActorScope, { id }: AnyActorRef): Error =>
  refusal(
    self,
    `the actor ${id}, spawned from inline logic,`,
    'Name it: setup({ actors: { … } }), and spawn it by its name.',
  )
