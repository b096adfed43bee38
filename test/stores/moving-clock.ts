/** A clock whose wall time stands still until it is moved by hand; its turns and timers are the system's. */
import { systemClock, type Clock } from '../../src/core/clock.ts'

export function movingClock(from = systemClock.now()): Clock & { advance(ms: number): Promise<void> } {
  let time = from
  return {
    ...systemClock,
    now: () => time,
    async advance(ms) {
      time += ms
    },
  }
}
