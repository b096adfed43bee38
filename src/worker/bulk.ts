/** Goes on with bulk operations whose process has died: a rescue of the store finds them. */
import { BulkDriver, type DriverOptions } from '../client/bulk-driver.ts'

interface BulkTakeoverOptions extends DriverOptions {
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
    const { goesOn } = this.options
    for (const id of ids) if (goesOn()) await new BulkDriver(this.options).advanceInBackground(id, goesOn)
    this.isAtWork = false
  }
}
