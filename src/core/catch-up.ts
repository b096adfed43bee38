/** Which ticks a due schedule fires, and its next tick. */
import type { CatchUp } from './schedule-record.ts'
import type { TickTimes } from './tick-times.ts'

/**
 * A tick fired up to this much later, ms, is late; an older one is missed, and `catchUp` decides whether it is fired.
 */
const lateMsMax = 10_000
/** How many missed ticks of one outage are counted and caught up at most. */
export const missedMax = 1_000

interface TickPlan {
  /** Ticks to fire, oldest first. */
  readonly ticks: readonly number[]
  readonly missed: number
  /** The first tick in the future; null if there is none. */
  readonly nextAt: number | null
}

/** @param first the tick that is due */
export function planTicks(given: TickTimes, first: number, now: number, catchUp: CatchUp): TickPlan {
  const times = given.from(first)
  /** Ticks before this time were missed. */
  const end = now - lateMsMax
  let old: number[] = []
  let tick: number | null = first
  for (; tick !== null && tick < end && old.length < missedMax; tick = times.next(tick)) old.push(tick)
  const uncounted = tick !== null && tick < end
  if (uncounted) {
    old = lastTicks(times, first, end, typeof catchUp === 'object' ? catchUp.all : 1)
    tick = times.next(end - 1)
  }
  const late: number[] = []
  for (; tick !== null && tick <= now; tick = times.next(tick)) late.push(tick)
  const ticks = chosen(old, late, catchUp)
  const missed = uncounted ? missedMax : old.length - (ticks.length - late.length)
  return { ticks, missed, nextAt: tick }
}

function chosen(old: readonly number[], late: readonly number[], catchUp: CatchUp): number[] {
  if (catchUp === 'skip') return [...late]
  if (catchUp === 'last') return late.length > 0 ? [...late] : old.slice(-1)
  return [...(catchUp.all === 0 ? [] : old.slice(-catchUp.all)), ...late]
}

/** The last `count` ticks from `first` to before `end`, found by binary search: there may be millions. */
function lastTicks(times: TickTimes, first: number, end: number, count: number): number[] {
  const ticks: number[] = []
  for (let before = end; ticks.length < count; before = ticks[0] as number) {
    const tick = lastBefore(times, first, before)
    if (tick === null) break
    ticks.unshift(tick)
  }
  return ticks
}

function lastBefore(times: TickTimes, first: number, before: number): number | null {
  if (first >= before) return null
  let [low, high] = [first - 1, before]
  // `next(low)` lies before the end, `next(high)` does not.
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const next = times.next(middle)
    if (next !== null && next < before) low = middle
    else high = middle
  }
  return times.next(low)
}
