/** The claims of a type, or of a key, within a sliding window of time. */
export class RateWindow {
  private times: number[] = []
  private oldest = 0

  /** How many claims are free now. */
  free(rate: { readonly limit: number; readonly perMs: number }, now: number): number {
    // A clock that was set back would block the type until it has caught up: claims at later times count as claims now.
    for (let i = this.times.length - 1; i >= this.oldest && (this.times[i] as number) > now; i--) this.times[i] = now
    while (this.oldest < this.times.length && (this.times[this.oldest] as number) <= now - rate.perMs) this.oldest++
    if (this.oldest > 1_000 && this.oldest * 2 > this.times.length) {
      this.times = this.times.slice(this.oldest)
      this.oldest = 0
    }
    return Math.max(0, rate.limit - (this.times.length - this.oldest))
  }

  spend(now: number): void {
    this.times.push(now)
  }

  /** When the next claim will be free, if none is. */
  freeAt(rate: { readonly limit: number; readonly perMs: number }, now: number): number {
    const leaving = this.times[this.times.length - rate.limit]
    return leaving === undefined ? now + rate.perMs : leaving + rate.perMs
  }
}
