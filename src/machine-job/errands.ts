/** What a machine's host does beside it: enqueues the jobs of its actors, hears how those were that had ended before, cancels. */
import type { AnyActorRef } from 'xstate'
import type { EnqueueOptions } from '../call-options.ts'
import type { JobDefinition } from '../define-job.ts'
import { JobchartError } from '../errors.ts'
import type { Seat } from '../hosting.ts'
import { tellActor } from './from-job.ts'
import type { JobActorHost } from './job-actors.ts'

export interface ErrandsOptions {
  readonly seat: Seat
  /** The actor of a job was stopped: when that is written, the job is to be left. */
  readonly stopped: (job: string) => void
  readonly changed: () => void
  readonly failed: (error: unknown) => void
}

export class Errands implements JobActorHost {
  private readonly options: ErrandsOptions
  private underWay = 0
  private over = false
  /** Jobs that were left. */
  private readonly left = new Set<string>()

  constructor(options: ErrandsOptions) {
    this.options = options
  }

  get busy(): boolean {
    return this.underWay > 0
  }

  /** A machine that is stopped from outside keeps its jobs: it goes on elsewhere, or its cancel takes them along. */
  end(): void {
    this.over = true
  }

  begun(actor: AnyActorRef, job: JobDefinition, input: unknown, options: EnqueueOptions, checkins: boolean): void {
    const { seat } = this.options
    this.run(async () => {
      const end = await seat.invoke(job, input, options, checkins).catch((error: unknown) => {
        // A job that is refused at the door is the machine's to deal with; a store that is away is not.
        if (!isRefusal(error)) throw error
        if (!this.over) actor.send({ type: 'jobchart.failed', error })
        return null
      })
      const { id = '' } = options
      if (this.left.has(id)) await seat.cancel(id)
      else if (end !== null && !this.over) tellActor(actor, { kind: 'ended', ...end })
    })
  }

  stopped(job: string): void {
    if (!this.over) this.options.stopped(job)
  }

  /** Cancels a job, also if it is only on its way to the store. */
  leave(job: string): Promise<unknown> {
    this.left.add(job)
    return this.options.seat.cancel(job)
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

const isRefusal = (error: unknown): boolean =>
  error instanceof JobchartError && error.code !== 'STORE_UNAVAILABLE' && error.code !== 'STOPPED'
