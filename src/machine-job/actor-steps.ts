/**
 * The steps of the durable promises in a machine. Each is stored as a step of the job, under the actor's address and
 * the step's name: `kid/1/charge/2/capture`. The first checkpoint after the end of the actor deletes them.
 */
import { JobchartError, type ErrorCode } from '../core/errors.ts'
import { StepResults, Steps } from '../core/steps.ts'
import type { MachineRunContext } from '../core/definition.ts'
import { nameInAddress } from './addresses.ts'

type Context = Pick<MachineRunContext, 'id' | 'steps' | 'saveStep' | 'refusal'>

export class ActorSteps {
  private readonly context: Context
  private readonly failed: (error: unknown) => void
  private readonly results: StepResults
  /** Keys of finished steps, by the address of the actor. */
  private readonly byActor = new Map<string, Set<string>>()

  /**
   * @param failed called if the store did not confirm a result: the run must end, another process may have claimed the
   *   job
   */
  constructor(context: Context, failed: (error: unknown) => void) {
    this.context = context
    this.failed = failed
    this.results = new StepResults(context.id, context.steps)
    for (const key of this.results.names) this.keep(key.slice(0, Math.max(0, key.lastIndexOf('/'))), key)
  }

  /**
   * The steps of one attempt.
   * @param attempt for messages
   * @param refusal why the attempt may begin or store no more steps; null while it may
   */
  of(address: string, attempt: string, refusal: () => JobchartError | null): Steps {
    const { context } = this
    return new Steps({
      results: this.results,
      attempt: `${attempt} in job ${context.id}`,
      key: (name) => `${address}/${nameInAddress(name)}`,
      refusal: () => refusal() ?? context.refusal(),
      save: async (key, result, tx) => {
        const refused = refusal()
        if (refused !== null) throw refused
        const committed = await context.saveStep(key, result, tx).catch((error: unknown) => {
          if (isStoreError(error)) this.failed(error)
          throw error
        })
        this.keep(address, key)
        return committed
      },
    })
  }

  /** Removes the steps of actors that have ended, and returns their keys for the checkpoint to delete. */
  takeStale(isActive: (address: string) => boolean): string[] {
    const stale: string[] = []
    for (const [address, keys] of this.byActor) {
      if (isActive(address)) continue
      stale.push(...keys)
      this.byActor.delete(address)
    }
    for (const key of stale) this.results.forget(key)
    return stale
  }

  private keep(address: string, key: string): void {
    const keys = this.byActor.get(address)
    if (keys === undefined) this.byActor.set(address, new Set([key]))
    else keys.add(key)
  }
}

const storeErrorCodes = new Set<ErrorCode>(['LEASE_LOST', 'STORE_UNAVAILABLE'])

/** Such an error does not fail the attempt: whether the result was stored is unknown. */
const isStoreError = (error: unknown): boolean => error instanceof JobchartError && storeErrorCodes.has(error.code)
