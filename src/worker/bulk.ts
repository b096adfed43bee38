/** Goes on with bulk operations whose process has died: a rescue of the store finds them. */
import type { Clock } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import { BulkDriver } from '../client/bulk-driver.ts'
import type { EventHub } from '../client/event-hub.ts'
import type { Store } from '../store.ts'

interface BulkTakeoverOptions {
  readonly store: Store
  readonly hub: EventHub
  readonly clock: Clock
  readonly logger: Logger
  readonly goesOn: () => boolean
}

export class BulkTakeover {
  private readonly options: BulkTakeoverOptions
  private isAtWork = false

  constructor(options: BulkTakeoverOptions) {
    this.options = options
  }

  /** Carries out operations that nobody else does, one after the other. Those found meanwhile are found again. */
  async take(ids: readonly string[]): Promise<void> {
    if (this.isAtWork) return
    this.isAtWork = true
    for (const id of ids) if (this.options.goesOn()) await this.finish(id)
    this.isAtWork = false
  }

  private async finish(id: string): Promise<void> {
    const { logger, goesOn } = this.options
    try {
      await new BulkDriver(this.options).advance(id, goesOn)
    } catch (error) {
      if (goesOn()) logger.warn('a bulk operation was interrupted', { id, error })
    }
  }
}
