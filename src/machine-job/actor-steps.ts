/**
 * The steps of the durable promises of a machine. Each is a step of the job, stored under the address of its actor and its
 * name: `kid/1/charge/2/capture`. When the actor is gone, the next checkpoint forgets them.
 */
import { JobchartError, type ErrorCode } from '../core/errors.ts'
import { StepResults, Steps } from '../core/steps.ts'
import type { MachineRunContext } from '../core/definition.ts'
import { nameInAddress } from './addresses.ts'

export interface ActorStepsOptions {
  readonly context: Pick<MachineRunContext, 'id' | 'steps' | 'saveStep' | 'refusal'>
  /** A result could not be kept: the machine may not go on, because its job may be another process's. */
  readonly failed: (error: unknown) => void
}

export class ActorSteps {
  private readonly options: ActorStepsOptions
  private readonly results: StepResults
  /** Keys of finished steps by the address of their actor. */
  private readonly byActor = new Map<string, Set<string>>()

  constructor(options: ActorStepsOptions) {
    const { id, steps } = options.context
    this.options = options
    this.results = new StepResults(id, steps)
    for (const key of this.results.names) this.keep(key.slice(0, Math.max(0, key.lastIndexOf('/'))), key)
  }

  /**
   * The steps of one attempt.
   * @param attempt for messages
   * @param over why the attempt may begin and keep no more steps, if so
   */
  of(address: string, attempt: string, over: () => JobchartError | null): Steps {
    const { context } = this.options
    return new Steps({
      results: this.results,
      attempt: `${attempt} in job ${context.id}`,
      key: (name) => `${address}/${nameInAddress(name)}`,
      refusal: () => over() ?? context.refusal(),
      save: async (key, result) => {
        const refused = over()
        if (refused !== null) throw refused
        await context.saveStep(key, result).catch((error: unknown) => {
          if (isOfTheStore(error)) this.options.failed(error)
          throw error
        })
        this.keep(address, key)
      },
    })
  }

  /** Takes the steps of actors that are gone, so that a checkpoint forgets them. */
  takeGone(isActive: (address: string) => boolean): string[] {
    const gone: string[] = []
    for (const [address, keys] of this.byActor) {
      if (isActive(address)) continue
      gone.push(...keys)
      this.byActor.delete(address)
    }
    for (const key of gone) this.results.forget(key)
    return gone
  }

  private keep(address: string, key: string): void {
    const keys = this.byActor.get(address)
    if (keys === undefined) this.byActor.set(address, new Set([key]))
    else keys.add(key)
  }
}

const ofTheStore = new Set<ErrorCode>(['LEASE_LOST', 'STORE_UNAVAILABLE'])

/** No failure of the attempt: whether the result was kept is not known. */
const isOfTheStore = (error: unknown): boolean => error instanceof JobchartError && ofTheStore.has(error.code)
