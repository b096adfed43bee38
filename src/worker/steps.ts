/**
 * The steps of one run. A step whose result is stored is not run again: the next attempt gets the result. A name stands
 * for one step of the attempt, and no work begins in a run that has been asked to end or may have lost its lease.
 */
import { describe, invalidOption, JobchartError } from '../core/errors.ts'
import { copyPayload, toPayload, type Json } from '../core/payload.ts'
import { limits, payloadLimits } from '../core/limits.ts'
import type { Run } from './run.ts'

export interface StepsHost {
  /** Why the run may begin no more work, if so: it has ended, was asked to end, or its lease may have run out. */
  readonly refusal: (run: Run) => JobchartError | null
  /** Keeps the result of a step with the job. @throws JobchartError LEASE_LOST, STORE_UNAVAILABLE */
  readonly saveStep: (run: Run, name: string, result: Json) => Promise<void>
}

export class Steps {
  private readonly run: Run
  private readonly host: StepsHost
  /** Names that this attempt has used. The name of a step that failed is free again. */
  private readonly used = new Set<string>()
  /** Steps of the generation that are finished, and the characters of their results as JSON. */
  private finished = 0
  private chars = 0

  constructor(run: Run, host: StepsHost) {
    this.run = run
    this.host = host
    for (const result of Object.values(run.claimed.steps ?? {})) this.count(result)
  }

  /** Gives the stored result of a step, or does its work and stores what that gives. */
  async once<T>(name: string, work: () => T | PromiseLike<T>): Promise<T> {
    this.use(name)
    const stored = this.run.claimed.steps
    if (stored !== null && Object.hasOwn(stored, name)) return fromStored(stored[name] as Json) as T
    try {
      this.checkMayBegin(name)
      const result = toStored(await work(), name)
      await this.host.saveStep(this.run, name, result)
      this.count(result)
      return fromStored(copyPayload(result)) as T
    } catch (error) {
      this.used.delete(name)
      throw error
    }
  }

  /** @throws JobchartError INVALID_OPTION, DUPLICATE_STEP */
  private use(name: string): void {
    const max = limits.stepNameCharsMax
    if (typeof name !== 'string' || name.length > max || !name.isWellFormed()) {
      throw invalidOption('name of a step', `text of ${max} characters at most`, name)
    }
    if (this.used.has(name)) {
      const { id, attempt } = this.run.claimed
      throw new JobchartError(
        'DUPLICATE_STEP',
        `attempt ${attempt} of job ${id} has used the step name ${describe(name)} before`,
        { hint: 'Give every step of an attempt its own name; in a loop one per item, such as `charge:${order.id}`.' },
      )
    }
    this.used.add(name)
  }

  private checkMayBegin(name: string): void {
    const refusal = this.host.refusal(this.run)
    if (refusal !== null) throw refusal
    const { stepsMax, stepsCharsMax } = limits
    if (this.finished < stepsMax && this.chars < stepsCharsMax) return
    const reached = this.finished < stepsMax ? `${stepsCharsMax} characters of results` : `${stepsMax} steps`
    throw new JobchartError(
      'TOO_MANY_STEPS',
      `step ${describe(name)} of job ${this.run.claimed.id} was not begun: the job has reached ${reached}`,
      { hint: 'Put several items into one step, return references instead of data, or enqueue a job per item.' },
    )
  }

  private count(result: Json): void {
    this.finished++
    this.chars += JSON.stringify(result).length
  }
}

/** JSON has no undefined, and many steps return none: it is kept as an empty list, any other value in a list of one. */
const toStored = (value: unknown, name: string): Json =>
  value === undefined ? [] : [toPayload(value, 'INVALID_OUTPUT', payloadLimits, 'result of step', name)]
const fromStored = (stored: Json): Json | undefined => (stored as Json[])[0]
