/**
 * Sends ends of runs and claims together. A worker claims in the turn in which it settles: then both go in one call, in
 * which the server carries out the ends before it claims. A call costs more than what it does for a job.
 */

/** Ends that wait for a claim of the same turn. */
interface Waiting<Ends, Ended> {
  readonly ends: Ends
  readonly answer: PromiseWithResolvers<Ended>
}

export abstract class Exchange<Ends, Demand, Ended, Claimed> {
  private waiting: Waiting<Ends, Ended> | null = null

  /** Calls the server with ends, a claim, or both: one of them is there. What is answered to none is ignored. */
  protected abstract send(ends: Ends | null, demand: Demand | null): Promise<readonly [Ended, Claimed]>

  /** What the next claim of this turn goes with; null: it goes alone. */
  get ends(): Ends | null {
    return this.waiting?.ends ?? null
  }

  end(ends: Ends): Promise<Ended> {
    this.sendWaiting()
    const waiting = { ends, answer: Promise.withResolvers<Ended>() }
    this.waiting = waiting
    queueMicrotask(() => {
      if (this.waiting === waiting) this.sendWaiting()
    })
    return waiting.answer.promise
  }

  async claim(demand: Demand): Promise<Claimed> {
    const { waiting } = this
    this.waiting = null
    const both = this.send(waiting?.ends ?? null, demand)
    waiting?.answer.resolve(both.then(([ended]) => ended))
    return (await both)[1]
  }

  private sendWaiting(): void {
    const { waiting } = this
    if (waiting === null) return
    this.waiting = null
    waiting.answer.resolve(this.send(waiting.ends, null).then(([ended]) => ended))
  }
}
