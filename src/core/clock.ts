/**
 * Time and random numbers, as parameters: the only file that reads the clock of the computer, sets timers or calls
 * Math.random. A runtime gets all three as options, so that tests can run it in virtual time.
 */
import { fn, withMethods } from './checks.ts'
import { nodeModule, unrefTimer } from './platform.ts'

export interface Timer {
  cancel(): void
}

export interface TimerOptions {
  /** Does this timer keep the process alive? */
  readonly keepAlive: boolean
}

/** The longest delay of a timer, ms: a platform fires a longer one at once. */
export const timerMsMax = 2 ** 31 - 1

export interface Clock {
  /** Does time pass only when a test advances it? Then `runtime.run` is refused in a handler of the same type. */
  readonly isVirtual?: boolean
  /** Wall time, in ms since the epoch. It may jump. */
  now(): number
  /** Monotonic time, in ms since some fixed point. It never goes back. */
  monotonic(): number
  /**
   * Boot time, in ms since some fixed point, in steps of a second or finer: as monotonic time, and it goes on while the
   * machine is suspended. Without it the machine counts as never suspended.
   */
  boot?(): number
  /** Calls `run` once, after `delayMs` (0…2³¹−1) at the earliest. */
  timer(run: () => void, delayMs: number, options: TimerOptions): Timer
  /** Calls `run` in the next turn of the event loop, when I/O and timers have had theirs. */
  nextTurn(run: () => void): void
  /**
   * Of virtual time: lets it pass, by `ms` at most and while `isNeeded`, although nobody advances it. Real time passes
   * by itself.
   */
  pass?(ms: number, isNeeded: () => boolean): void
  /** Of virtual time: it does not pass before this has ended, such as a call that a store does elsewhere. */
  during?(work: Promise<unknown>): void
}

/** A number in [0, 1), as Math.random gives. */
export type Random = () => number

const os = nodeModule('node:os')

/** Calls `run` in the next turn of the event loop. In a browser that is a message: a `setTimeout` waits for some ms. */
export function nextTurn(run: () => void): void {
  if (globalThis.setImmediate !== undefined) return void setImmediate(run)
  const { port1, port2 } = new MessageChannel()
  port1.addEventListener('message', () => {
    port1.close()
    run()
  })
  port1.start()
  port2.postMessage(null)
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  ...(os !== undefined && { boot: () => os.uptime() * 1_000 }),
  timer(run, delayMs, { keepAlive }) {
    const handle = setTimeout(run, delayMs)
    if (!keepAlive) unrefTimer(handle)
    return { cancel: () => clearTimeout(handle) }
  },
  nextTurn,
}

export const systemRandom: Random = () => Math.random()

export const clockOption = withMethods<Clock>(
  ['now', 'monotonic', 'timer', 'nextTurn'],
  'a Clock',
  'Leave it out, or pass a VirtualClock of jobchart/testing.',
)
export const randomOption = fn<Random>()

/**
 * A small seedable generator (mulberry32, Tommy Ettinger, public domain): good enough for jitter and sampling, not for
 * secrets. The same seed gives the same numbers on every machine.
 */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
