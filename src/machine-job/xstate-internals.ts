/**
 * Everything that is used of XState beyond its documented API: undocumented members, writes to objects that XState
 * owns, and event types that XState derives. `test/machine-job/xstate-contract.test.ts` checks it: read both before an
 * upgrade.
 */
import type { AnyActorLogic, AnyActorRef, AnyEventObject, AnyStateMachine, AnyStateNode, InspectionEvent } from 'xstate'

type System = AnyActorRef['system']
type Relay = (source: AnyActorRef | undefined, target: AnyActorRef, event: AnyEventObject) => void

/** The parent of an actor; undefined for the root. */
// oxlint-disable-next-line no-underscore-dangle -- typed and documented by XState under this name only
export const parentOf = (actor: AnyActorRef): AnyActorRef | undefined => actor._parent

/** The logic of an actor; undefined for a reference that is no `Actor`. */
export const logicOf = (actor: AnyActorRef): AnyActorLogic | undefined =>
  (actor as { readonly logic?: AnyActorLogic }).logic

/** Does the parent of the actor get its snapshots as events (`onSnapshot`)? */
export const reportsSnapshots = (actor: AnyActorRef): boolean =>
  (actor as { readonly options?: { readonly syncSnapshot?: boolean } }).options?.syncSnapshot === true

/** The name under which an actor is registered in its system; undefined for most. */
export const systemIdOf = (actor: AnyActorRef): string | undefined => (actor as { readonly systemId?: string }).systemId

// ── actor systems ──────────────────────────────────────────────────────────────────────────────────────────────────

/** Replaces the generator of ids for actors that the chart does not name. */
export function countActorIds(system: System, next: () => string): void {
  Object.assign(system, { _bookId: next })
}

/** Replaces the scheduler of all actors of a system. Call it before the root starts. */
export function replaceScheduler(system: System, scheduler: System['scheduler']): void {
  system.scheduler = scheduler
}

/**
 * Lets `wrap` decide whether and when an event is delivered. Every event between actors of the system, and to them,
 * passes through it. An event from outside has no source.
 */
export function wrapRelays(
  system: System,
  wrap: (source: AnyActorRef | undefined, target: AnyActorRef, event: AnyEventObject, deliver: () => void) => void,
): void {
  const relay = Reflect.get(system, '_relay') as Relay
  const wrapped: Relay = (source, target, event) => wrap(source, target, event, () => relay(source, target, event))
  Object.assign(system, { _relay: wrapped })
}

/**
 * Calls back whenever an actor of the system has a snapshot, also the same one again. An inspector would be told of
 * all else, too, with a copy of each event.
 */
export function watchSnapshots(
  system: System,
  listener: (actor: AnyActorRef, snapshot: unknown, event: AnyEventObject) => void,
): void {
  watchInspection(system, (event) => {
    if (event.type === '@xstate.snapshot') listener(event.actorRef as AnyActorRef, event.snapshot, event.event)
  })
}

/** Calls back for all that an inspector of the system would be told of. */
function watchInspection(system: System, listener: (event: InspectionEvent) => void): void {
  const send = Reflect.get(system, '_sendInspectionEvent') as typeof listener
  const watched: typeof listener = (event) => {
    send(event)
    listener(event)
  }
  Object.assign(system, { _sendInspectionEvent: watched })
}

/** A transition that was taken: the object that stands in the chart. */
export interface TakenTransition {
  readonly source: AnyStateNode
  /** Empty for `always`. */
  readonly eventType: string
  readonly target: readonly AnyStateNode[] | undefined
  readonly actions: readonly unknown[]
  readonly reenter: boolean
}

/** One step of a machine: the transitions that were taken together, and the nodes that are active after it. */
export interface Microstep {
  readonly transitions: readonly TakenTransition[]
  readonly nodes: readonly AnyStateNode[]
}

/** Calls back after each step of one machine of the system, also while its actor is made. */
export function watchMicrosteps(system: System, machine: AnyActorRef, listener: (step: Microstep) => void): void {
  watchInspection(system, (event) => {
    if (event.type !== '@xstate.microstep' || event.actorRef !== machine) return
    const { snapshot, _transitions: transitions } = event as unknown as {
      readonly snapshot: { readonly _nodes: readonly AnyStateNode[] }
      readonly _transitions: readonly TakenTransition[]
    }
    // oxlint-disable-next-line no-underscore-dangle -- named so by XState
    listener({ transitions, nodes: snapshot._nodes })
  })
}

/**
 * Takes what an actor does after a step from the front of its list without moving the rest: a step that starts 10,000
 * actors would move them 10,000 times.
 */
export function takeInPlace(actor: AnyActorRef): void {
  const deferred = Reflect.get(actor, '_deferred') as (() => void)[]
  let next = 0
  const shift = (): (() => void) | undefined => {
    if (next < deferred.length) return deferred[next++]
    deferred.length = next = 0
    return undefined
  }
  Object.assign(deferred, { shift })
}

// ── snapshots ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** Overwrites members of an actor's current snapshot. */
export const patchSnapshot = (snapshot: object, members: object): void => void Object.assign(snapshot, members)

/** Removes an actor from the children of a machine's current snapshot. */
export const dropChild = (children: object, id: string): void => void Reflect.deleteProperty(children, id)

// ── built-in actions ───────────────────────────────────────────────────────────────────────────────────────────────

/** An action made by `raise(…)`, `spawnChild(…)` and the like: a function whose members are its options. */
interface BuiltIn {
  readonly type: string
  readonly id?: unknown
  readonly delay?: unknown
  readonly src?: unknown
}

/** XState recognizes its own actions by `resolve`. */
export const isBuiltIn = (action: unknown): action is BuiltIn & (() => void) =>
  typeof action === 'function' && 'resolve' in action

interface ResolvedSnapshot {
  children: Record<string, AnyActorRef | undefined>
}

export type Resolve = (
  scope: unknown,
  snapshot: ResolvedSnapshot,
  args: { readonly event: object },
  ...rest: unknown[]
) => readonly [ResolvedSnapshot, unknown, (unknown[] | undefined)?]

export const resolveOf = (action: BuiltIn): Resolve => (action as unknown as { readonly resolve: Resolve }).resolve

/** A copy of a built-in action with other options. XState reads the members and never calls the function. */
export const builtInWith = (action: BuiltIn, options: object): unknown => Object.assign((): void => {}, action, options)

/** Replaces the named delays of a machine. */
export function replaceDelays(machine: AnyStateMachine, replace: (delays: Delays) => Delays): void {
  const implementations = machine.implementations as unknown as { delays: Delays }
  implementations.delays = replace(implementations.delays)
}

type Delays = Record<string, unknown>

// ── event types ────────────────────────────────────────────────────────────────────────────────────────────────────

/** The type of the event of a delayed transition. @param delay as it stands in `after`: milliseconds or a name */
export const afterEventType = (delay: string, nodeId: string): string =>
  `xstate.after.${Number.isNaN(Number(delay)) ? delay : Number(delay)}.${nodeId}`
