/** The estimate of a server's time between its answers. */
import { expect, test } from 'vitest'
import { ServerClock } from '../../src/stores/remote/server-clock.ts'
import { handClock } from './hand-clock.ts'

const ahead = 1_000_000

/** A clock, and how far its estimate is from the server's time, which is `ahead` of the monotonic one. */
function estimate(): { learn: (sent: number, told: number, received: number) => void; error: () => number } {
  const clock = handClock()
  const server = new ServerClock(clock)
  const start = clock.monotonic()
  return {
    learn: (sent, told, received) => server.learn(start + told + ahead, start + sent, start + received),
    error: () => server.now() - Math.floor(clock.monotonic() + ahead),
  }
}

test('an answer that was held up does not move the estimate', () => {
  const { learn, error } = estimate()
  learn(0, 1, 2)
  expect(error()).toBe(0)
  // The server is asked at once, and reads its clock when the pause is over; or it answers late.
  learn(100, 2_099, 2_100)
  expect(error()).toBe(0)
  learn(3_000, 3_001, 5_000)
  expect(error()).toBe(0)
  // Also when the good measurement is old.
  learn(20_000, 21_999, 22_000)
  learn(40_000, 41_999, 42_000)
  expect(error()).toBe(0)
})

test('what contradicts the estimate moves it, and a better measurement replaces it', () => {
  const { learn, error } = estimate()
  learn(0, 0, 1_000)
  expect(error()).toBe(-500)
  learn(1_000, 1_600, 1_700)
  expect(error()).toBe(250)
  // It took longer than the one before, but cannot be true with that estimate.
  learn(1_700, 1_701, 2_700)
  expect(error()).toBe(1)
  learn(2_000, 2_001, 2_002)
  expect(error()).toBe(0)
})

test('a clock that drifts is followed', () => {
  const { learn, error } = estimate()
  learn(0, 1, 2)
  // It goes 1 ms faster every second; each answer takes 4 ms.
  for (let at = 1_000; at <= 60_000; at += 1_000) learn(at, at + 2 + at / 1_000, at + 4)
  expect(error()).toBeGreaterThanOrEqual(57)
  expect(error()).toBeLessThanOrEqual(63)
})
