/** What a machine's host does beside it: enqueues the jobs of its actors, hears how those were that had ended before, cancels. */
import type { AnyActorRef } from 'xstate'
import type { EnqueueOptions } from '../core/call-options.ts'
import type { JobDefinition, MachineRunContext } from '../core/definition.ts'
import { JobchartError, type ErrorCode } from '../core/errors.ts'
import { notifyActor } from './from-job.ts'
import type { JobActorServices } from './job-actors.ts'
import type { MachineState } from './state.ts'

export interface ChildJobsOptions {
  readonly attempt: MachineRunContext
  /** The actor of a job was stopped: when that is written, the job is to be left. */
  readonly stopped: (job: string) => void
  readonly changed: () => void
  readonly failed: (error: unknown) => void
}

export class ChildJobs implements JobActorServices {
  private readonly options: ChildJobsOptions
  private underWay = 0
  private over = false
  private unreported = false
  /** Jobs that were left. */
  private readonly cancelled = new Set<string>()

  /** Jobs that are in the store: their ends come as messages. */
  private readonly known: Set<string>

  constructor(options: ChildJobsOptions, known: MachineState['jobs'] | undefined) {
    this.options = options
    this.known = new Set(known?.generation === options.attempt.generation ? known.ids : [])
  }

  /** Those of these jobs that need not be enqueued again. */
  jobs(ids: readonly string[]): MachineState['jobs'] {
    this.unreported = false
    return { generation: this.options.attempt.generation, ids: ids.filter((id) => this.known.has(id)) }
  }

  /** Is more known than `jobs` has told? No reason to write, but worth writing with the next. */
  get unreportedEnds(): boolean {
    return this.unreported
  }

  get busy(): boolean {
    return this.underWay > 0
  }

  /** A machine that is stopped from outside keeps its jobs: it goes on elsewhere, or its cancel takes them along. */
  end(): void {
    this.over = true
  }

  begun(actor: AnyActorRef, job: JobDefinition, input: unknown, options: EnqueueOptions, checkins: boolean): void {
    const { attempt } = this.options
    const { id = '' } = options
    if (this.known.has(id)) return
    this.run(async () => {
      const end = await attempt.enqueueChild(job, input, options, checkins).catch((error: unknown) => {
        // A job that is refused at the door is the machine's to deal with; a store that is away is not.
        if (!isRefusal(error)) throw error
        if (!this.over) actor.send({ type: 'jobchart.failed', error })
        return null
      })
      if (end === null) {
        this.known.add(id)
        this.unreported = true
      }
      if (this.cancelled.has(id)) await attempt.cancelChild(id)
      else if (end !== null && !this.over) notifyActor(actor, { kind: 'ended', ...end })
    })
  }

  stopped(job: string): void {
    if (!this.over) this.options.stopped(job)
  }

  /** Cancels a job, also if it is only on its way to the store. */
  cancelChild(job: string): Promise<unknown> {
    this.cancelled.add(job)
    return this.options.attempt.cancelChild(job)
  }

  run(go: () => Promise<unknown>): void {
    const { changed, failed } = this.options
    this.underWay++
    go().then(() => {
      this.underWay--
      changed()
    }, failed)
  }
}

const notTheMachines = new Set<ErrorCode>(['STORE_UNAVAILABLE', 'STOPPED', 'UNKNOWN_TYPE', 'INVALID_OPTION'])

/** Nothing that a chart could deal with: a store that is away, a runtime that stops, a mistake in the wiring. */
const isRefusal = (error: unknown): boolean => error instanceof JobchartError && !notTheMachines.has(error.code)
