/**
 * The slots of this process. A permit is taken before a job is claimed and given back when its run has ended, so that
 * the number of running jobs never exceeds the slots. Limits of types and keys are enforced by the store, from its
 * leases.
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

  /** May be less than `taken`: then no permit is free until enough have been given back. */
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
    if (this.takenNow < 0) throw new RangeError('more permits were given back than were taken')
  }
}
