/** Removes dead jobs of types that keep no more than so many (`keepDead`), those that died first. */
import type { JobDefinition } from '../core/definition.ts'
import type { Store } from '../store.ts'

const batchMax = 500
/** Where other processes may wait for the result of a job, they must have had the time to see how it ended, ms. */
const sharedAgeMs = 10_000

export class DeadLimits {
  private readonly store: Store
  private readonly types: readonly (readonly [type: string, keep: number])[]

  constructor(store: Store, jobs: ReadonlyMap<string, JobDefinition>) {
    this.store = store
    this.types = [...jobs.values()].flatMap(({ type, keepDead }) =>
      keepDead === null ? [] : [[type, keepDead] as const],
    )
  }

  /** @param goesOn is asked before each call */
  async apply(goesOn: () => boolean): Promise<void> {
    for (const [type, keep] of this.types) {
      let more = true
      while (more && goesOn()) more = await this.applyTo(type, keep)
    }
  }

  /** Is there more to remove? */
  private async applyTo(type: string, keep: number): Promise<boolean> {
    const { store } = this
    const { counts } = await store.queue(type)
    const excess = counts.dead - keep
    if (excess <= 0) return false
    const old = store.capabilities.shared ? { finishedBefore: store.now() - sharedAgeMs } : {}
    const limit = Math.min(excess, batchMax)
    const page = await store.list({ type, state: 'dead', orderBy: 'finished', fields: ['id'], limit, ...old })
    if (page.length === 0) return false
    await store.discard({ ids: page.map(({ id }) => id) })
    return page.length < excess
  }
}
