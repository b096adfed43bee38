/** How the actors of a machine job find what runs it: those of child jobs, and durable promises. */
import type { AnyActorRef } from 'xstate'
import type { EnqueueOptions } from '../core/call-options.ts'
import type { Random, Timer } from '../core/clock.ts'
import type { JobDefinition } from '../core/definition.ts'
import type { JobchartError } from '../core/errors.ts'
import type { Steps } from '../core/steps.ts'
import { parentOf } from './xstate-internals.ts'

/** What the run of a machine does for the actors of jobs in it. */
export interface JobActorServices {
  /** Enqueues the actor's job, or finds it again, and tells the actor of its end. */
  begun(actor: AnyActorRef, job: JobDefinition, input: unknown, options: EnqueueOptions, checkins: boolean): void
  /** The actor was stopped before its job has ended. */
  stopped(jobId: string): void
}

/** What the run of a machine does for durable promises in it. */
export interface AttemptServices {
  readonly random: Random
  /** A timer of this process: it is gone after a crash. */
  readonly after: (delayMs: number, run: () => void) => Timer
  /** Begins an attempt when the checkpoint that has led to it is written. */
  readonly begin: (begin: () => void) => void
  /** Keeps a line with the job. */
  readonly log: (message: string) => void
  /** Is a durable timer of this id set for the actor? */
  readonly isTimerSet: (actor: AnyActorRef, id: string) => boolean
  /** The steps of an attempt. @param over why the attempt may begin and keep no more steps, if so */
  readonly steps: (actor: AnyActorRef, attempt: string, over: () => JobchartError | null) => Steps
}

/** What the logic of the root carries. */
export interface RunnerRef {
  readonly jobs: JobActorServices
  readonly attempts: AttemptServices
  /** A `Plan`, which imports what finds this. */
  readonly plan: object
}

/** What runs the machine that an actor belongs to; null in an actor system of the user's own. */
export function runnerOf(actor: AnyActorRef): RunnerRef | null {
  let root = actor
  for (let above = parentOf(actor); above !== undefined; above = parentOf(above)) root = above
  const { logic } = root as { readonly logic?: { readonly hosting?: RunnerRef } }
  return logic?.hosting ?? null
}
