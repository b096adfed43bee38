/** A clock that stands still until it is moved by hand. It has no timers: stores need none. */
import type { Clock } from '../../src/core/clock.ts'

export function handClock(start = 1_700_000_000_000): Clock & { advance(ms: number): Promise<void> } {
  let time = start
  return {
    now: () => time,
    monotonic: () => time,
    timer: () => {
      throw new Error('no store needs a timer')
    },
    nextTurn: () => {
      throw new Error('no store waits for a turn')
    },
    async advance(ms) {
      time += ms
    },
  }
}
