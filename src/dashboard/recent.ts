import { systemClock } from '../core/clock.ts'

/**
 * An answer that is made again when it is asked for and older than `ms`; who asks meanwhile shares it, also while it is
 * made.
 */
export class Recent<Answer> {
  private readonly make: () => Promise<Answer>
  private readonly ms: number
  private made: Promise<Answer> | null = null
  private madeAt = -Infinity

  constructor(make: () => Promise<Answer>, ms: number) {
    this.make = make
    this.ms = ms
  }

  /** Makes the answer anew for who asks from now on. */
  forget(): void {
    this.made = null
  }

  get(): Promise<Answer> {
    if (this.made !== null && systemClock.monotonic() - this.madeAt < this.ms) return this.made
    this.madeAt = Infinity
    const made = this.make()
    const isLast = (): boolean => this.made === made
    made.then(
      () => isLast() && (this.madeAt = systemClock.monotonic()),
      // A failure is told to who has asked, and not kept.
      () => isLast() && this.forget(),
    )
    return (this.made = made)
  }
}
