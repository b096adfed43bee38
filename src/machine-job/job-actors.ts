/** How the actors of jobs in a hosted machine find its host. */
import type { AnyActorRef } from 'xstate'
import type { EnqueueOptions } from '../core/call-options.ts'
import type { JobDefinition } from '../core/definition.ts'
import type { Plan } from './plan.ts'
import { parentOf } from './xstate-internals.ts'

/** What the host of a machine does for the actors of jobs in it. */
export interface JobActorHost {
  /** Enqueues the actor's job, or finds it again, and tells the actor of its end. */
  begun(actor: AnyActorRef, job: JobDefinition, input: unknown, options: EnqueueOptions, checkins: boolean): void
  /** The actor was stopped before its job has ended. */
  stopped(jobId: string): void
}

/** What the logic of a hosted root carries. */
export interface Hosting {
  readonly jobs: JobActorHost
  readonly plan: Plan
}

/** The host of the machine that an actor belongs to; null in an actor system of the user's own. */
export function hostingOf(actor: AnyActorRef): Hosting | null {
  let root = actor
  for (let above = parentOf(actor); above !== undefined; above = parentOf(above)) root = above
  const { logic } = root as { readonly logic?: { readonly hosting?: Hosting } }
  return logic?.hosting ?? null
}
