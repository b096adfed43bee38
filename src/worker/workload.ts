/** Counts what a worker has in hand: claims in flight, and jobs from their claim until their end is written. */

export class Workload {
  /** Jobs whose end could not be written: their leases decide. */
  lost = 0
  private count = 0
  private readonly changed: () => void
  private readonly waiters: (() => void)[] = []

  /** @param changed called when work has ended, or a cancel has changed what is left */
  constructor(changed: () => void) {
    this.changed = changed
  }

  get busy(): boolean {
    return this.count > 0
  }

  add(count: number): void {
    this.count += count
  }

  done(count: number): void {
    this.count -= count
    if (this.count < 0) throw new RangeError('more work has ended than was begun')
    this.notify()
  }

  /** As `done`, of jobs whose end is not written. */
  lose(count: number): void {
    this.lost += count
    this.done(count)
  }

  notify(): void {
    if (!this.busy) this.close()
    this.changed()
  }

  /** Resolves when nothing is in hand, or after `close`. */
  idle(): Promise<void> {
    return this.busy ? new Promise((resolve) => void this.waiters.push(resolve)) : Promise.resolve()
  }

  /** Ends all waits of `idle`. */
  close(): void {
    for (const resolve of this.waiters.splice(0)) resolve()
  }
}
