/**
 * The child jobs of a machine: enqueues them, cancels them, and reports to their actors those that had already ended.
 */
import type { AnyActorRef } from 'xstate'
import type { ChildEnd, MachineRunContext } from '../core/definition.ts'
import { JobchartError, type ErrorCode } from '../core/errors.ts'
import { notifyActor } from './from-job.ts'
import type { ChildJob, JobActorServices } from './machine-run-services.ts'
import type { MachineState } from './state.ts'

/** The run that the jobs are children of. */
interface ParentRun {
  /** The actor of a job was stopped: after the checkpoint that says so, the job is to be cancelled. */
  childStopped(job: string): void
  /** A call to the store has ended. */
  wake(): void
  fail(error: unknown): void
}

export class ChildJobs implements JobActorServices {
  private readonly attempt: MachineRunContext
  private readonly parent: ParentRun
  private inFlight = 0
  private ended = false
  private storedChanged = false
  private readonly cancelled = new Set<string>()

  /** Jobs that are in the store as children of this job: their ends arrive as messages. */
  private readonly stored: Set<string>

  constructor(attempt: MachineRunContext, parent: ParentRun, known: MachineState['jobs'] | undefined) {
    this.attempt = attempt
    this.parent = parent
    this.stored = new Set(known?.generation === attempt.generation ? known.ids : [])
  }

  /**
   * Which of the jobs that `list` gives are known to be in the store, for the checkpoint: they need not be enqueued
   * again.
   */
  storedAmong(list: () => readonly string[]): MachineState['jobs'] {
    this.storedChanged = false
    const ids = this.stored.size === 0 ? [] : list().filter((id) => this.stored.has(id))
    return { generation: this.attempt.generation, ids }
  }

  /** Are there stored jobs that no checkpoint holds yet? That alone does not require a checkpoint. */
  get hasUnsavedIds(): boolean {
    return this.storedChanged
  }

  get busy(): boolean {
    return this.inFlight > 0
  }

  /** The run ends. Actors that stop from here on do not cancel their jobs: another run resumes the machine. */
  end(): void {
    this.ended = true
  }

  actorStarted(actor: AnyActorRef, { id, job, input, options, checkins }: ChildJob): void {
    const { attempt } = this
    if (this.stored.has(id)) return
    this.track(async () => {
      const end = await this.enqueued(actor, () => attempt.enqueueChild(job, input, options(), checkins))
      if (end === null) {
        this.stored.add(id)
        this.storedChanged = true
      }
      if (this.cancelled.has(id)) await attempt.cancelChild(id)
      else if (end !== null && !this.ended) notifyActor(actor, { kind: 'ended', ...end })
    })
  }

  /** The machine handles the refusal of a job. Any other error ends the run. */
  private async enqueued(actor: AnyActorRef, enqueue: () => Promise<ChildEnd | null>): Promise<ChildEnd | null> {
    try {
      return await enqueue()
    } catch (error) {
      if (!isRefusal(error)) throw error
      if (!this.ended) actor.send({ type: 'jobchart.failed', error })
      return null
    }
  }

  actorStopped(job: string): void {
    if (!this.ended) this.parent.childStopped(job)
  }

  /** Cancels a job; one that is still being enqueued is cancelled when it is stored. */
  cancelChild(job: string): Promise<unknown> {
    this.cancelled.add(job)
    return this.attempt.cancelChild(job)
  }

  private track(call: () => Promise<unknown>): void {
    this.inFlight++
    call().then(
      () => {
        this.inFlight--
        this.parent.wake()
      },
      (error: unknown) => this.parent.fail(error),
    )
  }
}

const infrastructureCodes = new Set<ErrorCode>([
  'STORE_UNAVAILABLE',
  'STOPPED',
  'UNKNOWN_TYPE',
  'INVALID_OPTION',
  'ENQUEUE_REFUSED',
  'INVALID_MIDDLEWARE',
])

/** A chart cannot handle an unavailable store, a stopping runtime, a wrong definition or middleware that refuses it. */
const isRefusal = (error: unknown): boolean => error instanceof JobchartError && !infrastructureCodes.has(error.code)
