/**
 * What a run of a machine knows of each of its actors. It is kept on the actor and goes with it: an actor belongs to
 * one run, and a weak map of each run, or several, would cost the garbage collector far more than what it holds.
 */
import type { AnyActorRef, AnyActorScope } from 'xstate'

class ActorFacts {
  /** null until it is assigned. */
  address: string | null = null
  /** The last snapshot that was noticed. */
  lastSnapshot: unknown = undefined
  /** Of a machine: has it started? Actions of other machines are deferred until their start. */
  isStarted = false
  /** Is its start planned? */
  isStarting = false
  /** Was it stopped? A start that was planned before must be skipped. */
  isStopped = false
  /** Of a promise: when its attempt began in this process, ms since the epoch; null if it has not. */
  beganAt: number | null = null
  /** Does it do work, and was a `send` to it planned? */
  isSentTo = false
  isStopPending = false
  /** Of a machine: the scope that collects its effects. */
  scope: AnyActorScope | null = null
  /** Of a machine: its children when they were last registered. */
  children: object | null = null
}

const key = Symbol('jobchart')

type Known = AnyActorRef & { [key]?: ActorFacts }

export const factsOf = (actor: Known): ActorFacts => (actor[key] ??= new ActorFacts())
