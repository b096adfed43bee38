/** Goes on with bulk operations that nobody carries out: a rescue or a hint of the store names them. */
import { BulkDriver, type DriverOptions } from '../client/bulk-driver.ts'

interface BulkTakeoverOptions extends DriverOptions {
  readonly goesOn: () => boolean
}

export class BulkTakeover {
  private readonly options: BulkTakeoverOptions
  private readonly waiting = new Set<string>()
  private isAtWork = false

  constructor(options: BulkTakeoverOptions) {
    this.options = options
  }

  /**
   * Carries out operations without a live lease, one after the other, and those that are named meanwhile after them.
   */
  async take(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.waiting.add(id)
    if (this.isAtWork) return
    this.isAtWork = true
    const { goesOn } = this.options
    // A set visits what is added while it is visited.
    for (const id of this.waiting) {
      this.waiting.delete(id)
      if (goesOn()) await new BulkDriver(this.options).advanceInBackground(id, goesOn)
    }
    this.isAtWork = false
  }
}
