/**
 * Steps: work whose result is stored under a name. A completed step is not run again: later attempts get its stored
 * result. Names are unique within an attempt. A step does not start in an attempt that was aborted or may have lost its
 * lease.
 */
import { describe, invalidOption, JobchartError } from './errors.ts'
import { limits, payloadLimits } from './limits.ts'
import type { OpenTransaction } from './open-transaction.ts'
import { copyPayload, toPayload, type Json } from './payload.ts'

/** What tells of the transaction that has the result of a step. */
export interface StepTransaction {
  /** When it has ended: has it committed? */
  readonly committed: () => Promise<boolean>
  /** Is it known by now that it was rolled back, or its savepoint? */
  readonly isRolledBack: () => Promise<boolean>
}

/** The results of the completed steps of a job, and their size. */
export class StepResults {
  private readonly jobId: string
  private readonly results = new Map<string, { readonly result: Json; readonly chars: number }>()
  /** Of results whose transactions may be open, or were rolled back. */
  private readonly transactions = new Map<string, { decided: Promise<void>; isRolledBack: () => Promise<boolean> }>()
  /** Characters of all results as JSON. */
  private chars = 0

  /** @param finished the stored results, by name */
  constructor(jobId: string, finished: Readonly<Record<string, Json>> | null) {
    this.jobId = jobId
    for (const [name, result] of Object.entries(finished ?? {})) this.add(name, result)
  }

  get names(): Iterable<string> {
    return this.results.keys()
  }

  /** A copy of the result; undefined if the step is not completed. */
  find(name: string): Json | undefined {
    const found = this.results.get(name)
    return found === undefined ? undefined : copyPayload(found.result)
  }

  add(name: string, result: Json): void {
    this.forget(name)
    const { length: chars } = JSON.stringify(result)
    this.results.set(name, { result, chars })
    this.chars += chars
  }

  /** Adds a result when its transaction has committed. */
  addIf(name: string, result: Json, { committed, isRolledBack }: StepTransaction): void {
    const decided = committed().then((isKept) => {
      if (!isKept) return
      this.transactions.delete(name)
      this.add(name, result)
    })
    // Who asks for the step again gets the error.
    decided.catch(() => {})
    this.transactions.set(name, { decided, isRolledBack })
  }

  /** Was the result rolled back with its transaction? Then the step may be run again, by the first one that asks. */
  async takeRolledBack(name: string): Promise<boolean> {
    const kept = this.transactions.get(name)
    if (kept === undefined || !(await kept.isRolledBack())) return false
    return this.transactions.get(name) === kept && this.transactions.delete(name)
  }

  /** Resolves when it is known whether the transaction of a result has committed; undefined if there is none. */
  undecided(name: string): Promise<void> | undefined {
    return this.transactions.get(name)?.decided
  }

  forget(name: string): void {
    this.chars -= this.results.get(name)?.chars ?? 0
    this.results.delete(name)
  }

  /** @throws JobchartError TOO_MANY_STEPS */
  checkRoom(name: string): void {
    const { stepsMax, stepsCharsMax } = limits
    const { size } = this.results
    if (size < stepsMax && this.chars < stepsCharsMax) return
    const reached = size < stepsMax ? `${stepsCharsMax} characters of results` : `${stepsMax} steps`
    throw new JobchartError(
      'TOO_MANY_STEPS',
      `step ${describe(name)} of job ${this.jobId} was not started: the job has reached ${reached}`,
      { hint: 'Put several items into one step, return references instead of data, or enqueue a job per item.' },
    )
  }
}

interface StepsOptions {
  readonly results: StepResults
  /** For messages: `attempt 2 of job 7`. */
  readonly attempt: string
  /** The name under which a step is stored. */
  readonly key?: (name: string) => string
  /**
   * The error if no step may start: the attempt has ended, was aborted, or its lease may have run out; otherwise null.
   */
  readonly refusal: () => JobchartError | null
  /**
   * Keeps the result of a step with the job.
   * @returns null if it is kept; in a transaction, what tells of it
   * @throws JobchartError LEASE_LOST, STORE_UNAVAILABLE
   */
  readonly save: (key: string, result: Json, tx: OpenTransaction | null) => Promise<StepTransaction | null>
}

/** The steps of one attempt. */
export class Steps {
  private readonly options: StepsOptions
  /** Names that this attempt has used. The name of a step that failed, or was rolled back, is free again. */
  private readonly used = new Set<string>()

  constructor(options: StepsOptions) {
    this.options = options
  }

  /** Returns the stored result of a step, or runs its work and stores the result. */
  async once<T>(name: string, work: () => T | PromiseLike<T>, tx: OpenTransaction | null = null): Promise<T> {
    checkName(name)
    if (this.used.has(name)) await this.free(name)
    this.used.add(name)
    const { results, key = sameKey, refusal, save } = this.options
    try {
      const undecided = results.undecided(key(name))
      if (undecided !== undefined) await undecided
      const stored = results.find(key(name))
      if (stored !== undefined && tx === null) return fromStored(stored) as T
      const refused = refusal()
      if (refused !== null) throw refused
      if (stored === undefined) results.checkRoom(name)
      // In a transaction also what is stored is written again: that tells whether the transaction is being repeated.
      const result = stored ?? toStored(await work(), name)
      const committed = await save(key(name), result, tx)
      if (committed === null) results.add(key(name), result)
      else results.addIf(key(name), result, committed)
      return fromStored(copyPayload(result)) as T
    } catch (error) {
      this.used.delete(name)
      throw error
    }
  }

  /**
   * Resolves when it is known whether the transactions of its steps have committed; null if there are none. Once the
   * next attempt has opened another one on the same connection, nobody could tell.
   */
  decided(): Promise<unknown> | null {
    const { results, key = sameKey } = this.options
    const undecided = [...this.used].flatMap((name) => results.undecided(key(name)) ?? [])
    return undecided.length === 0 ? null : Promise.allSettled(undecided)
  }

  /** A handler repeats a transaction that was rolled back: the step in it, too. @throws JobchartError DUPLICATE_STEP */
  private async free(name: string): Promise<void> {
    const { results, key = sameKey, attempt } = this.options
    if (await results.takeRolledBack(key(name))) return
    throw new JobchartError('DUPLICATE_STEP', `${attempt} has used the step name ${describe(name)} before`, {
      hint: 'Give every step of an attempt its own name; in a loop one per item, such as `charge:${order.id}`.',
    })
  }
}

/** @throws JobchartError INVALID_OPTION */
function checkName(name: unknown): void {
  const max = limits.stepNameCharsMax
  if (typeof name === 'string' && name.length <= max && name.isWellFormed()) return
  throw invalidOption('name of a step', `text of ${max} characters at most`, name)
}

const sameKey = (name: string): string => name

/** JSON has no undefined, and many steps return none: it is kept as an empty list, any other value in a list of one. */
const toStored = (value: unknown, name: string): Json =>
  value === undefined ? [] : [toPayload(value, 'INVALID_OUTPUT', payloadLimits, 'result of step', name)]
const fromStored = (stored: Json): Json | undefined => (stored as Json[])[0]
