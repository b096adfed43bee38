/**
 * The slots of this process. A permit is taken before a job is asked for and comes back when its run has ended, so that
 * the count of running jobs never exceeds the slots. The semaphores of types and keys are the store's, derived from leases.
 */
export class Permits {
  private takenNow = 0
  private slotsNow: number

  constructor(slots: number) {
    this.slotsNow = slots
  }

  get slots(): number {
    return this.slotsNow
  }

  /** Fewer slots than are taken is fine: none is given out until enough have come back. */
  set slots(slots: number) {
    this.slotsNow = slots
  }

  get taken(): number {
    return this.takenNow
  }

  get free(): number {
    return Math.max(0, this.slotsNow - this.takenNow)
  }

  take(count: number): void {
    this.takenNow += count
  }

  give(count: number): void {
    this.takenNow -= count
    if (this.takenNow < 0) throw new RangeError('more permits came back than were taken')
  }
}
