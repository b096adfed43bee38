/**
 * The services that a machine's run offers to the actors in it, and how an actor finds them: through the logic of its
 * root.
 */
import type { AnyActorRef } from 'xstate'
import type { EnqueueOptions } from '../core/call-options.ts'
import type { Random, Timer } from '../core/clock.ts'
import type { JobDefinition } from '../core/definition.ts'
import type { JobchartError } from '../core/errors.ts'
import type { Steps } from '../core/steps.ts'
import { logicOf, parentOf } from './xstate-internals.ts'

/** The job of a started actor. */
export interface ChildJob {
  readonly id: string
  readonly job: JobDefinition
  readonly input: unknown
  /**
   * Makes the options of the enqueue, with the id: called only if the job is not in the store.
   * @throws what the user's function throws
   */
  readonly options: () => EnqueueOptions
  /** Is the actor to be told of the job's check-ins? */
  readonly checkins: boolean
}

/** Services for the actors of child jobs. */
export interface JobActorServices {
  /** Enqueues the job of a started actor, unless it is in the store, and sends the end of the job to the actor. */
  actorStarted(actor: AnyActorRef, child: ChildJob): void
  /** An actor was stopped before the end of its job. */
  actorStopped(jobId: string): void
}

/** Services for durable promises. */
export interface AttemptServices {
  readonly random: Random
  /** A timer in memory: a crash loses it. */
  after(delayMs: number, run: () => void): Timer
  /** Calls `begin` once the checkpoint that holds the attempt's number is written. */
  begin(begin: () => void): void
  /** Adds a line to the job's log. */
  log(message: string): void
  /** Calls the work of an attempt or of a step, so that telemetry sees it. */
  traced<T>(kind: 'actor' | 'step', name: string, work: () => T): T
  /** Is a durable timer with this id set for the actor? */
  isTimerSet(actor: AnyActorRef, id: string): boolean
  /** The steps of an attempt. @param refusal why the attempt may begin or store no more steps; null while it may */
  steps(actor: AnyActorRef, attempt: string, refusal: () => JobchartError | null): Steps
}

/** Held by the logic of a job's root actor, as `runServices`. */
export interface MachineRunServices {
  readonly jobs: JobActorServices
  readonly attempts: AttemptServices
  /** A `Plan`. Its type would make a circle of imports. */
  readonly plan: object
}

/** The services of the run that an actor belongs to; null in an actor system of the user. */
export function runnerOf(actor: AnyActorRef): MachineRunServices | null {
  let root = actor
  for (let parent = parentOf(actor); parent !== undefined; parent = parentOf(parent)) root = parent
  const logic = logicOf(root) as { readonly runServices?: MachineRunServices } | undefined
  return logic?.runServices ?? null
}
