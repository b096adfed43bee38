/** The clock of leases: never slower than time, hardly faster, whatever the clocks below it do. */
import { seededRandom } from 'jobchart/testing'
import { expect, test } from 'vitest'
import type { Clock } from '../../src/core/clock.ts'
import { LeaseClock } from '../../src/worker/lease-clock.ts'

/** A machine whose clocks show true time in steps of their own, and whose wall clock can be set. */
function machine({
  bootMs = 10,
  ...resolution
}: { readonly monotonicMs?: number; readonly wallMs?: number; readonly bootMs?: number } = {}) {
  let awakeMs = 0
  let sleptMs = 12_345.67
  let wallMs = 1_750_000_000_000
  const inSteps = (ms: number, stepMs = 0): number => (stepMs === 0 ? ms : Math.floor(ms / stepMs) * stepMs)
  const unused = (): never => {
    throw new Error('a lease clock only reads')
  }
  const clock: Clock = {
    now: () => inSteps(wallMs, resolution.wallMs),
    monotonic: () => inSteps(awakeMs, resolution.monotonicMs),
    boot: () => inSteps(awakeMs + sleptMs, bootMs),
    timer: unused,
    nextTurn: unused,
  }
  return {
    lease: new LeaseClock(clock),
    pass: (ms: number) => {
      awakeMs += ms
      wallMs += ms
    },
    sleep: (ms: number) => {
      sleptMs += ms
      wallMs += ms
    },
    setWall: (byMs: number) => void (wallMs += byMs),
  }
}

test.each([
  ['a wall clock of whole milliseconds', { wallMs: 1 }],
  ['a monotonic clock of whole milliseconds', { monotonicMs: 1 }],
  ['clocks of 1 and 16 ms', { wallMs: 16, monotonicMs: 1 }],
  ['a coarse monotonic clock', { monotonicMs: 16, wallMs: 1 }],
])('readings close together count no time twice: %s', (_, resolution) => {
  const { lease, pass } = machine(resolution)
  for (let n = 0; n < 50_000; n++) {
    pass(0.02)
    lease.read()
  }
  expect(lease.read()).toBeGreaterThan(980)
  expect(lease.read()).toBeLessThan(1_020)
})

/** Boot time in steps of so many ms, and by how much a sleep may be counted as longer than it was. */
const bootClocks = [
  [10, 40],
  [1_000, 2_000],
] as const

test.each(bootClocks)(
  'a sleep of the machine counts, though the monotonic clock stands still; boot time in steps of %i ms',
  (bootMs, moreMs) => {
    for (const sleptMs of [60_000, 999, 500, 60]) {
      const { lease, pass, sleep } = machine({ bootMs })
      pass(1_000)
      lease.read()
      sleep(sleptMs)
      const woken = lease.read()
      expect(woken).toBeGreaterThanOrEqual(1_000 + sleptMs)
      expect(woken).toBeLessThan(1_000 + sleptMs + moreMs)
      pass(1_000)
      expect(lease.read()).toBeCloseTo(woken + 1_000)
    }
  },
)

test('a sleep counts also where the wall clock is set back as far meanwhile', () => {
  const { lease, pass, sleep, setWall } = machine()
  lease.read()
  sleep(60_000)
  setWall(-60_000)
  pass(500)
  expect(lease.read()).toBeGreaterThanOrEqual(60_500)
})

test.each(bootClocks)(
  'a wall clock that is set forward or back adds less than a step of boot time: steps of %i ms',
  (bootMs) => {
    for (const jumpMs of [3_600_000, -3_600_000, 400, 86_400_000]) {
      const { lease, pass, setWall } = machine({ bootMs })
      pass(1_000)
      lease.read()
      setWall(jumpMs)
      pass(1_000)
      const read = lease.read()
      expect(read).toBeGreaterThanOrEqual(2_000)
      expect(read).toBeLessThanOrEqual(2_000 + Math.max(bootMs, 16))
    }
  },
)

test('a wall clock that is set back takes nothing away, and hides no sleep that follows', () => {
  const { lease, pass, setWall, sleep } = machine()
  pass(1_000)
  setWall(-3_600_000)
  expect(lease.read()).toBeCloseTo(1_000)
  pass(500)
  expect(lease.read()).toBeCloseTo(1_500)
  sleep(10_000)
  expect(lease.read()).toBeGreaterThanOrEqual(11_500)
  expect(lease.read()).toBeLessThan(11_600)
})

test('a wall clock that is corrected little by little, fast or slow, is followed', () => {
  for (const drift of [0.0005, -0.0005]) {
    const { lease, pass, setWall } = machine({ wallMs: 1 })
    for (let n = 0; n < 100_000; n++) {
      pass(10)
      setWall(10 * drift)
      lease.read()
    }
    const passedMs = 1_000_000
    expect(lease.read()).toBeGreaterThanOrEqual(passedMs - 1)
    expect(lease.read()).toBeLessThan(passedMs * 1.001)
  }
})

test('it never goes back, and is never behind awake time by more than the clocks are coarse', () => {
  const seed = 20_260_114
  const random = seededRandom(seed)
  const { lease, pass, sleep, setWall } = machine({ wallMs: 1 })
  let awakeMs = 0
  let last = 0
  for (let n = 0; n < 20_000; n++) {
    const ms = random() * 3
    pass(ms)
    awakeMs += ms
    if (random() < 0.01) setWall((random() - 0.5) * 200)
    if (random() < 0.005) sleep(random() * 1_000)
    const now = lease.read()
    expect(now, `seed ${seed}, reading ${n}`).toBeGreaterThanOrEqual(last)
    expect(now, `seed ${seed}, reading ${n}`).toBeGreaterThanOrEqual(awakeMs - 0.001)
    last = now
  }
})
