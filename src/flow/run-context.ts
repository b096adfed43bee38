/** What a handler sees of its run: `ctx`. Functions are made when asked for, bound, so that they may be destructured. */
import type { ContextValues, JobDefinition, RunContext } from '../define-job.ts'
import { JobchartError } from '../errors.ts'
import type { JobHandle } from '../handle.ts'
import type { JobRecord } from '../job/job.ts'
import { copyPayload, toPayload, type Json } from '../job/payload.ts'
import type { EnqueueArguments } from '../call-options.ts'
import { payloadLimits } from '../limits.ts'
import type { Run } from './run.ts'

export interface ContextHost {
  /** @throws JobchartError INVALID_OUTPUT if the value is not strict JSON */
  readonly checkin: (run: Run, value: unknown) => void
  readonly log: (run: Run, message: string, fields?: Record<string, unknown>) => void
  /** Keeps the result of a step with the job. @throws JobchartError LEASE_LOST */
  readonly saveStep: (run: Run, name: string, value: Json) => Promise<void>
  readonly enqueue: <I, O>(job: JobDefinition<I, O>, ...args: EnqueueArguments<NoInfer<I>>) => Promise<JobHandle<O>>
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
    return (value) => this.run.host.checkin(this.run, value)
  }

  get log(): RunContext['log'] {
    return (message, fields) => this.run.host.log(this.run, message, fields)
  }

  get step(): RunContext['step'] {
    return (name, work) => stepOnce(this.run, name, work)
  }

  get enqueue(): RunContext['enqueue'] {
    const { run } = this
    return (job, ...args) => (run.ending === null ? run.host.enqueue(job, ...args) : Promise.reject(runIsOver(run)))
  }
}

const runIsOver = ({ claimed: { id } }: Run): JobchartError =>
  new JobchartError('NOT_ACCEPTED', `the run of job ${id} is over: it enqueues no more`, {
    hint: 'Await ctx.enqueue within the handler, or enqueue through the runtime.',
  })

/** A step that is stored is not run; one that is under way in this attempt is joined, not run beside itself. */
function stepOnce<T>(run: Run, name: string, work: () => T | PromiseLike<T>): Promise<T> {
  const steps = (run.steps ??= new Map<string, Promise<Json | undefined>>())
  let result: Promise<Json | undefined> | undefined = steps.get(name)
  if (result === undefined) {
    result = firstTime(run, name, work)
    steps.set(name, result)
    // A failed step may be tried again within the attempt.
    result.catch(() => steps.delete(name))
  }
  return result.then((value) => copyPayload(value) as T)
}

async function firstTime(run: Run, name: string, work: () => unknown): Promise<Json | undefined> {
  const stored = run.claimed.steps
  if (stored !== null && Object.hasOwn(stored, name)) return fromStored(stored[name] as Json)
  const value = await work()
  const kept = toStored(value)
  await run.host.saveStep(run, name, kept)
  return fromStored(kept)
}

/** JSON has no undefined, and many steps return none: it is kept as an empty list, any other value in a list of one. */
const toStored = (value: unknown): Json =>
  value === undefined ? [] : [toPayload(value, 'INVALID_OUTPUT', payloadLimits)]
const fromStored = (stored: Json): Json | undefined => (stored as Json[])[0]
