/** Calls a function again and again while that is wanted, one call at a time. */
import { systemClock, type Timer } from '../core/clock.ts'

export class Repeat {
  private readonly call: () => Promise<number>
  private isWanted = false
  private isCalling = false
  private timer: Timer | null = null

  /** @param call resolves with the delay until the next call, ms; it never rejects */
  constructor(call: () => Promise<number>) {
    this.call = call
  }

  /** @param delayMs until the first call, unless one is running */
  start(delayMs: number): void {
    if (this.isWanted) return
    this.isWanted = true
    // A call that runs since before the stop goes on: a second one beside it would never end.
    if (!this.isCalling) this.wait(delayMs)
  }

  stop(): void {
    this.isWanted = false
    this.timer?.cancel()
  }

  private wait(delayMs: number): void {
    this.timer = systemClock.timer(() => void this.run(), delayMs, { keepAlive: false })
  }

  private async run(): Promise<void> {
    this.isCalling = true
    const delayMs = await this.call()
    this.isCalling = false
    if (this.isWanted) this.wait(delayMs)
  }
}
