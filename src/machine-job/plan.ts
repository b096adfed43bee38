/**
 * Plan, then commit, then execute: the machines of a job make their transitions as usual, but effects outside of them
 * (actions, work of actors, emitted events) are pending until the checkpoint is written. Effects among machines (events
 * sent and raised, timers, stops) happen at once and are part of the checkpoint.
 *
 * It uses the public `ActorLogic` contract: the logic of a machine is called with a scope that collects effects.
 */
import type { AnyActorRef, AnyActorScope, AnyStateMachine, EventObject, Snapshot } from 'xstate'
import type { ActionFunction, ActionName, MachineActions } from './actions.ts'
import { factsOf } from './actor-facts.ts'
import type { ActorAddresses } from './addresses.ts'
import { JobchartError } from '../core/errors.ts'
import { isDurable, isReportedSnapshot } from './durable.ts'
import { namelessSpawn, refusal } from './machines.ts'
import { isSnapshotOnly, doesWork } from './actor-kinds.ts'
import type { HeatRecorder } from './heat-recorder.ts'
import { countActorIds, parentOf, watchMicrosteps } from './xstate-internals.ts'

export interface PendingAction {
  readonly kind: 'action'
  /** The machine that planned the action; after a restart perhaps a stopped stand-in. */
  readonly actor: AnyActorRef
  readonly act: ActionFunction
  readonly name: ActionName
  readonly params: unknown
  readonly context: unknown
  readonly event: EventObject
}

/** An effect that waits for the commit. */
export type PendingEffect =
  | PendingAction
  | { readonly kind: 'emit'; readonly event: EventObject }
  /** An event for an actor that does work. */
  | { readonly kind: 'send'; readonly actor: AnyActorRef; readonly event: EventObject }
  /** A child job is cancelled: its actor was stopped. */
  | { readonly kind: 'cancelChild'; readonly job: string }
  /** An actor starts its work. */
  | { readonly kind: 'start'; readonly actor: AnyActorRef }
  /** An actor is stopped, after the events that were sent to it before. */
  | { readonly kind: 'stop'; readonly actor: AnyActorRef }
  /** A durable promise begins its next attempt. */
  | { readonly kind: 'attempt'; readonly begin: () => void }
  | { readonly kind: 'log'; readonly run: () => void }

type ExecutableAction = Parameters<AnyActorScope['actionExecutor']>[0]
/** The params of XState's `sendTo` when it is executed. */
interface Sent {
  readonly to: AnyActorRef
  readonly event: EventObject
  readonly delay: number | undefined
}

interface Spawned {
  readonly id: unknown
  readonly actorRef: AnyActorRef | undefined
}

/** A machine of a job, with its actions. */
interface PlannedMachine {
  readonly machine: AnyStateMachine
  readonly actions: MachineActions
}

type Children = Readonly<Record<string, AnyActorRef | undefined>>

interface PlanHost {
  /** An effect was added. */
  changed(): void
  /** Writes a line of the job's log. */
  log(line: string): void
}

export class Plan {
  /** In the order of execution. */
  pending: PendingEffect[] = []
  readonly addresses: ActorAddresses
  /** Why the machine cannot run as a job; null until a problem shows while it runs. */
  refused: Error | null = null
  /** Number of ids generated so far for actors without one. */
  nextActorNumber: number
  /** Number of actors registered so far: tells whether one was added. */
  actorsAdded = 0
  private readonly host: PlanHost
  private readonly heat: HeatRecorder
  /** Actors that may be at work, with the scopes that can stop them. */
  private readonly working = new Map<AnyActorRef, AnyActorScope>()
  /** Snapshots that were restored from the checkpoint; null if there is none. */
  private restoredSnapshots: WeakSet<object> | null = null
  /** Wraps the calls that XState defers while a built-in action executes; null otherwise. */
  private planning: ((run: () => void) => () => void) | null = null

  /**
   * @param heat told of each step of the root machine
   * @param nextActorNumber number of ids generated so far for actors without one
   */
  constructor(host: PlanHost, addresses: ActorAddresses, heat: HeatRecorder, nextActorNumber: number) {
    this.host = host
    this.addresses = addresses
    this.heat = heat
    this.nextActorNumber = nextActorNumber
  }

  hold(effect: PendingEffect): void {
    this.pending.push(effect)
    this.host.changed()
  }

  /** A machine starts or resumes: its actors start before its own actions, as in XState. */
  machineStarted(snapshot: Snapshot<unknown>, scope: AnyActorScope): void {
    factsOf(scope.self).isStarted = true
    for (const actor of childrenOf(snapshot)) {
      if (actor.getSnapshot().status === 'active') this.startChild(actor, scope)
    }
  }

  /** Executes the start of an actor that does work. */
  startWork(actor: AnyActorRef): void {
    if (!factsOf(actor).isStopped) actor.start()
  }

  /** Executes the stop of an actor that does work. */
  stopWork(actor: AnyActorRef): void {
    this.working.get(actor)?.stopChild(actor)
  }

  /** The pending event of an actor is delivered now: until its stop, events that it sends in answer are accepted. */
  delivered(actor: AnyActorRef): void {
    factsOf(actor).isStopPending = false
  }

  /** Does the actor only wait for pending events and its stop? Events that it sends by itself are dropped. */
  isStopPending(actor: AnyActorRef): boolean {
    return factsOf(actor).isStopPending
  }

  /** An actor has ended. */
  ended(actor: AnyActorRef): void {
    this.working.delete(actor)
  }

  /**
   * Is it the `onSnapshot` event that an actor sends when it is restored? Its machine has handled that snapshot before.
   */
  isRestoreEcho({ type, snapshot }: EventObject & { readonly snapshot?: unknown }): boolean {
    return type.startsWith('xstate.snapshot.') && this.restoredSnapshots?.has(snapshot as object) === true
  }

  /** Stops every actor that may be at work, also if the machine that started it has ended. */
  stopAll(): void {
    for (const [actor, scope] of this.working) scope.stopChild(actor)
    this.working.clear()
    this.pending = []
  }

  /** The scope for the transitions of a machine: it collects effects. */
  scopeOf(scope: AnyActorScope, machine: PlannedMachine): AnyActorScope {
    const facts = factsOf(scope.self)
    let planned = facts.scope
    if (planned === null) {
      // XState numbers generated ids per process: in a job the numbers continue after a restart.
      countActorIds(scope.system, () => `x:${++this.nextActorNumber}`)
      if (parentOf(scope.self) === undefined) {
        watchMicrosteps(scope.system, scope.self, (step) => this.heat.step(step))
      }
      planned = {
        ...scope,
        // Outside of an action XState defers only starts of actors that `assign` has spawned: `registerChildren` starts
        // them.
        defer: (run) => void (this.planning !== null && scope.defer(this.planning(run))),
        // Actions of a machine that is stopped before its start are dropped.
        actionExecutor: (action) => {
          if (facts.isStarted) this.execute(action, scope, machine)
          else scope.defer(() => this.execute(action, scope, machine))
        },
        stopChild: (child) => {
          const ofChild = factsOf(child)
          ofChild.isStopped = true
          if (ofChild.isSentTo && this.working.has(child)) {
            ofChild.isStopPending = true
            this.hold({ kind: 'stop', actor: child })
          } else {
            scope.stopChild(child)
            // XState does not cancel the timers of an actor that was restored and has not started.
            if (isDurable(child)) scope.system.scheduler.cancelAll(child)
          }
        },
      }
      facts.scope = planned
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
      // XState resolves the target when the action executes.
      this.plan(
        () => exec(info, params),
        (run) => () => this.send(params as Sent, run),
      )
    } else if (type.startsWith('xstate.')) {
      this.plan(() => exec(info, params))
    } else {
      const name = actions.nameOf(type, exec)
      if (name === null) this.refuse(unnamedAction(machine, type))
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
    if (delay === undefined && doesWork(actor)) {
      factsOf(actor).isSentTo = true
      this.hold({ kind: 'send', actor, event })
    } else run()
  }

  /**
   * Assigns addresses to new actors and plans their starts. Machines and transition functions start at once, so that
   * the checkpoint holds their state; actors that do work start after the checkpoint.
   */
  registerChildren<S extends Snapshot<unknown>>(snapshot: S, scope: AnyActorScope): S {
    const { children } = snapshot as { readonly children?: Children }
    // XState replaces `children` only when an actor was added or removed.
    const facts = factsOf(scope.self)
    if (children === undefined || facts.children === children) return snapshot
    const before = facts.children as Children | null
    facts.children = children
    for (const id of Object.keys(children)) {
      const actor = children[id]
      if (actor === undefined || factsOf(actor).isStarting) continue
      this.warnReplaced(before?.[actor.id], actor)
      if (typeof actor.src !== 'string') this.refuse(inlineSpawn(scope, actor))
      this.actorsAdded++
      this.addresses.of(actor)
      scope.defer(() => this.startChild(actor, scope))
    }
    return snapshot
  }

  /**
   * XState lets an actor take the id of another one that is active: the machine has lost that one, and so has its next
   * checkpoint.
   */
  private warnReplaced(before: AnyActorRef | undefined, actor: AnyActorRef): void {
    if (before === undefined || before === actor) return
    if (factsOf(before).isStopped || before.getSnapshot().status !== 'active') return
    this.host.log(
      `the actor ${actor.id} was started while another actor of this id is active: after a restart only the later one goes on`,
    )
  }

  private startChild(actor: AnyActorRef, scope: AnyActorScope): void {
    const facts = factsOf(actor)
    if (facts.isStarting || facts.isStopped) return
    facts.isStarting = true
    if (isSnapshotOnly(actor)) {
      actor.start()
      return
    }
    this.working.set(actor, scope)
    // Not through `hold`: the start needs no checkpoint, it follows from the snapshot. A checkpoint by each attempt
    // that restores the actor would also reset the count of attempts, which starts at the last checkpoint.
    this.pending.push({ kind: 'start', actor })
  }

  /** Registers a restored machine and its actors, under the addresses of the checkpoint. */
  registerRestored<S extends Snapshot<unknown>>(snapshot: S): S {
    for (const actor of childrenOf(snapshot)) {
      this.actorsAdded++
      this.addresses.restored(actor)
      if (actor.getSnapshot().status !== 'active') factsOf(actor).isStarting = true
      if (doesWork(actor) && !isReportedSnapshot(actor)) continue
      this.restoredSnapshots ??= new WeakSet()
      this.restoredSnapshots.add(actor.getSnapshot() as object)
    }
    return snapshot
  }
}

function childrenOf(snapshot: Snapshot<unknown>): AnyActorRef[] {
  const { children } = snapshot as { readonly children?: Children }
  return Object.values(children ?? {}).filter((actor) => actor !== undefined)
}

/** `checkMachine` finds unknown names in the chart. This one was computed while the chart ran. */
const unknownAction = (machine: AnyStateMachine, name: string): JobchartError =>
  new JobchartError('INVALID_OPTION', `machine ${machine.id}: the action ${name} is not implemented`, {
    hint: 'Implement it: setup({ actions: { … } }).',
  })

/** `enqueueActions` makes its inline actions at each call: no checkpoint can name them. */
const unnamedAction = (machine: AnyStateMachine, type: string): JobchartError =>
  refusal(
    machine,
    `the inline action ${type}, made while the chart ran,`,
    'Name it: setup({ actions: { … } }), and enqueue it by its name. Only a name can be found again after a crash.',
  )

const inlineSpawn = ({ self }: AnyActorScope, { id }: AnyActorRef): Error =>
  refusal(
    self,
    `the actor ${id}, spawned from inline logic,`,
    'Name it: setup({ actors: { … } }), and spawn it by its name.',
  )
