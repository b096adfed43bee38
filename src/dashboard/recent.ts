import { systemClock } from '../core/clock.ts'

/** An answer that is made again when it is asked for and older than `ms`; who asks meanwhile shares it. */
export class Recent<Answer> {
  private readonly make: () => Promise<Answer>
  private readonly ms: number
  private made: Promise<Answer> | null = null
  private madeAt = -Infinity

  constructor(make: () => Promise<Answer>, ms: number) {
    this.make = make
    this.ms = ms
  }

  get(): Promise<Answer> {
    const now = systemClock.monotonic()
    if (this.made !== null && now - this.madeAt < this.ms) return this.made
    this.madeAt = now
    const made = this.make()
    // A failure is told to who has asked, and not kept.
    made.catch(() => (this.made = this.made === made ? null : this.made))
    return (this.made = made)
  }
}
