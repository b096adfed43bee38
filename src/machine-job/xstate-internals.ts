/**
 * What is used of XState beyond its documented API. `test/machine-job/xstate-contract.test.ts` holds it: look at both before
 * an upgrade.
 */
import type { AnyActorRef, AnyEventObject } from 'xstate'

type System = AnyActorRef['system']
type Relay = (source: AnyActorRef | undefined, target: AnyActorRef, event: AnyEventObject) => void

/** Its parent; undefined of a root. */
// oxlint-disable-next-line no-underscore-dangle -- typed and documented by XState, which has no other word for it
export const parentOf = (actor: AnyActorRef): AnyActorRef | undefined => actor._parent

/** Gives the ids of actors that the chart does not name. */
export function countActorIds(system: System, next: () => string): void {
  Object.assign(system, { _bookId: next })
}

/**
 * Lets `wrap` decide whether and when an event is delivered: every event between actors of the system, and to them, goes
 * through it. An event from outside has no source.
 */
export function wrapRelays(
  system: System,
  wrap: (source: AnyActorRef | undefined, target: AnyActorRef, deliver: () => void) => void,
): void {
  const relay = Reflect.get(system, '_relay') as Relay
  const wrapped: Relay = (source, target, event) => wrap(source, target, () => relay(source, target, event))
  Object.assign(system, { _relay: wrapped })
}
