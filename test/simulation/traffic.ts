/** Calls that are on their way to a server. */
import { setImmediate as macrotask } from 'node:timers/promises'

export class Traffic {
  private readonly calls = new Set<Promise<unknown>>()

  async counted<T>(call: Promise<T>): Promise<T> {
    this.calls.add(call)
    try {
      return await call
    } finally {
      this.calls.delete(call)
    }
  }

  /** Resolves when nothing is on its way, and no answer has led to another call. */
  async settled(): Promise<void> {
    while (this.calls.size > 0) {
      await Promise.allSettled(this.calls)
      await macrotask()
    }
  }
}
