/** What a handler sees of its run: `ctx`. Functions are made when asked for, bound, so that they may be destructured. */
import type { ContextValues, JobDefinition, RunContext } from '../core/definition.ts'
import { JobchartError } from '../core/errors.ts'
import type { JobHandle } from '../core/handle.ts'
import type { JobRecord } from '../core/record.ts'
import type { EnqueueOptions } from '../core/call-options.ts'
import type { Json } from '../core/payload.ts'
import { RunEnqueue } from './run-enqueue.ts'
import type { Run } from './run.ts'
import { StepResults, Steps } from '../core/steps.ts'

export interface ContextServices {
  /** Why the run may begin no more work, if so: it has ended, was asked to end, or its lease may have run out. */
  readonly refusal: (run: Run) => JobchartError | null
  /** Keeps the result of a step with the job. @throws JobchartError LEASE_LOST, STORE_UNAVAILABLE */
  readonly saveStep: (run: Run, name: string, result: Json) => Promise<void>
  /** @throws JobchartError INVALID_OUTPUT if the value is not strict JSON */
  readonly checkin: (run: Run, value: unknown) => void
  readonly log: (run: Run, message: string, fields?: Record<string, unknown>) => void
  readonly enqueue: <I, O>(job: JobDefinition<I, O>, input: unknown, options: EnqueueOptions) => Promise<JobHandle<O>>
}

export const contextOf = (run: Run): RunContext => new Context(run)

class Context implements RunContext {
  private readonly run: Run
  private own: ContextValues | null = null

  constructor(run: Run) {
    this.run = run
  }

  get id(): string {
    return this.run.claimed.id
  }

  get type(): string {
    return this.run.claimed.type
  }

  get attempt(): number {
    return this.run.claimed.attempt
  }

  get maxAttempts(): number {
    return this.run.claimed.maxAttempts
  }

  get signal(): AbortSignal {
    return this.run.signal
  }

  get deadline(): number | null {
    const { job, claimed } = this.run
    return job.timeoutMs === null ? null : claimed.startedAt + job.timeoutMs
  }

  get job(): JobRecord {
    return this.run.claimed.record()
  }

  get values(): ContextValues {
    // Its members are the application's: to declare, and for its middleware to set.
    return (this.own ??= {} as ContextValues)
  }

  get checkin(): RunContext['checkin'] {
    return (value) => this.run.services.checkin(this.run, value)
  }

  get log(): RunContext['log'] {
    return (message, fields) => this.run.services.log(this.run, message, fields)
  }

  get step(): RunContext['step'] {
    const { run } = this
    return (name, work) => (run.steps ??= stepsOf(run)).once(name, work)
  }

  get enqueue(): RunContext['enqueue'] {
    const { run } = this
    return async (job, ...[input, options = {}]) => {
      if (run.ending !== null) throw runIsOver(run)
      const enqueue = (run.enqueue ??= new RunEnqueue(run.claimed))
      return run.services.enqueue(job, input, enqueue.options(job?.type, input, options))
    }
  }
}

function stepsOf(run: Run): Steps {
  const { id, attempt, steps } = run.claimed
  return new Steps({
    results: new StepResults(id, steps),
    attempt: `attempt ${attempt} of job ${id}`,
    refusal: () => run.services.refusal(run),
    save: (name, result) => run.services.saveStep(run, name, result),
  })
}

export const runIsOver = ({ claimed: { id } }: Run): JobchartError =>
  new JobchartError('NOT_ACCEPTED', `the run of job ${id} is over: it begins no more work`, {
    hint: 'Await ctx.step and ctx.enqueue within the handler; what comes later belongs to the runtime.',
  })
