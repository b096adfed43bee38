/** A clock whose wall time stands still until it is moved by hand; its turns and timers are the system's. */
import { systemClock, type Clock } from '../../src/core/clock.ts'

export function movingClock(): Clock & { advance(ms: number): Promise<void> } {
  let time = systemClock.now()
  return {
    ...systemClock,
    now: () => time,
    async advance(ms) {
      time += ms
    },
  }
}
