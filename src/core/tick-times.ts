/**
 * When a schedule ticks. A cron text names times on the wall of a time zone; here each becomes an instant.
 *
 * Where the clock is set forward, a time that is left out ticks when as much time has passed as usual: 02:30 at 03:30.
 * Where it is set back, a fixed time ticks the first time only, and an interval (a `*` among seconds, minutes or hours)
 * goes on. An `@every` knows no wall clock.
 */
import { object, required } from './checks.ts'
import { CronText } from './cron.ts'
import { durationMs, type Duration } from './duration.ts'
import { invalidOption } from './errors.ts'
import type { OffsetChange, TimeZone, TimeZones } from './time-zone.ts'

/** Five or six fields of cron, `@hourly` and the like, `@every 90s`, or `{ every: '90s' }`. */
export type ScheduleSpec = string | { readonly every: Duration }

export interface TickTimes {
  /** The spec in one form. */
  readonly spec: string
  readonly timezone: string
  /** The first tick after an instant, ms since the epoch; null if there is none. */
  next(after: number): number | null
  /** The same, counted from one of its ticks: an interval has no other place on the calendar. */
  from(tick: number): TickTimes
}

/** Below a second nothing is a schedule. */
const everyMsMin = 1_000

/** @throws JobchartError INVALID_OPTION for a spec or a time zone that makes no sense, or that never matches */
export function tickTimes(spec: ScheduleSpec, timezone: string, zones: TimeZones): TickTimes {
  const zone = zones.named(timezone)
  const everyMs = everyOf(spec)
  if (everyMs !== null) return interval(`@every ${written(everyMs)}`, timezone, everyMs, null)
  if (typeof spec !== 'string') throw invalidOption('spec', 'a cron text or { every }', spec)
  const cron = new CronText(spec)
  const next = zone.isUtc
    ? (after: number): number | null => cron.next(after)
    : (after: number): number | null => nextInZone(cron, zone, after)
  const times: TickTimes = { spec: cron.text, timezone, next, from: () => times }
  return times
}

const interval = (spec: string, timezone: string, everyMs: number, tick: number | null): TickTimes => ({
  spec,
  timezone,
  next: (after) => (tick === null ? after : tick + Math.floor((after - tick) / everyMs) * everyMs) + everyMs,
  from: (known) => interval(spec, timezone, everyMs, known),
})

const everyOption = object({ every: required(durationMs) }, "Pass a cron text, or { every: '90s' }.")

/** The length of an interval, ms; null of a cron text. */
function everyOf(spec: ScheduleSpec): number | null {
  let every: Duration | number
  if (typeof spec === 'object' && spec !== null) {
    every = everyOption(spec, 'spec').every
  } else {
    const text = typeof spec === 'string' ? /^\s*@every\s+(.*?)\s*$/i.exec(spec)?.[1] : undefined
    if (text === undefined) return null
    // '1h30m' is what people coming from other cron libraries write.
    const parts = text.match(/\d+(?:\.\d+)?(?:ms|s|m|h|d)/g) ?? []
    const whole = parts.join('') === text && parts.length > 0
    if (!whole) throw invalidOption('spec', "a duration after '@every', such as '@every 90s'", text)
    every = parts.reduce((sum, part) => sum + durationMs(part, 'spec'), 0)
  }
  if (every < everyMsMin) {
    throw invalidOption('spec', 'an interval of at least 1 s', every, 'For shorter intervals use a timer of your own.')
  }
  return every
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const

function written(ms: number): string {
  const [unit, unitMs] = units.find(([, size]) => ms % size === 0) ?? ['ms', 1]
  return `${ms / unitMs}${unit}`
}

/** A stretch of time on the wall: ticks after `from`, before `to`, and what turns one into an instant. */
interface Stretch {
  readonly from: number
  readonly to: number
  readonly toInstant: (wall: number) => number | null
}

function nextInZone(cron: CronText, zone: TimeZone, after: number): number | null {
  const change = zone.changeNear(after)
  const stretches =
    change === null ? [rest(cron, zone, after + zone.offsetAt(after))] : around(cron, zone, after, change)
  const found = stretches.flatMap(({ from, to, toInstant }) => {
    const wall = cron.next(from)
    const instant = wall === null || wall >= to ? null : toInstant(wall)
    return instant === null ? [] : [instant]
  })
  return found.length === 0 ? null : Math.min(...found)
}

/** What is left of the wall clock when no change of the offset is near. */
const rest = (cron: CronText, zone: TimeZone, from: number): Stretch => ({
  from,
  to: Infinity,
  toInstant: (wall) => distant(cron, zone, wall),
})

/** The stretches after an instant near which the offset changes. */
function around(cron: CronText, zone: TimeZone, after: number, change: OffsetChange): Stretch[] {
  const { at, before, after: later } = change
  const stretches: Stretch[] = []
  const add = (from: number, to: number, offset: number): void => {
    if (from < to - 1) stretches.push({ from, to, toInstant: (wall) => wall - offset })
  }
  // The walls of both sides: they leave a gap between them, or overlap.
  const [leftTo, rightFrom] = [at + before, at + later]
  if (after < at) add(after + before, leftTo, before)
  if (leftTo < rightFrom) add(Math.max(leftTo - 1, after + before), rightFrom, before)
  else if (cron.isInterval) add(Math.max(rightFrom - 1, after + later), leftTo, later)
  stretches.push(rest(cron, zone, Math.max(Math.max(leftTo, rightFrom) - 1, after + later)))
  return stretches
}

/** The instant of a time on the wall that comes later than any change near by. */
function distant(cron: CronText, zone: TimeZone, wall: number): number | null {
  const change = zone.changeNear(wall)
  if (change === null) return wall - zone.offsetAt(wall)
  const { at, before, after } = change
  // Before the change, in what it leaves out, or the first time of what it repeats.
  if (wall < at + before) return wall - before
  if (wall >= at + after) return wall - after
  const next = cron.next(at + after - 1)
  return next === null ? wall - before : Math.min(wall - before, next - after)
}
