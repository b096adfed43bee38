/** Times, states and values as a terminal shows them. */
import { counted } from '../core/counted.ts'
import { innermost } from '../core/state-paths.ts'
import { rateText } from '../dashboard/rate-text.ts'
import type { JobState } from '../index.ts'
import type { Style } from './terminal.ts'

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** A duration in its two largest units: `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  const at = units.findIndex(([, size]) => ms >= size)
  const [unit, size] = units[at] ?? units[3]
  const whole = Math.floor(ms / size)
  const [smaller, smallerSize] = units[at + 1] ?? [null, 1]
  const rest = smaller === null ? 0 : Math.floor((ms - whole * size) / smallerSize)
  return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${smaller}`
}

/** How long ago, or how far ahead, a time is. */
export const relative = (at: number | null, now: number): string =>
  at === null ? '' : at <= now ? `${duration(now - at)} ago` : `in ${duration(at - now)}`

const two = (number: number): string => String(number).padStart(2, '0')

/** A time of day in the zone of this process. */
export function timeOfDay(at: number): string {
  const date = new Date(at)
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
}

/** Date and time in the zone of this process. */
export function dateAndTime(at: number): string {
  const date = new Date(at)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${timeOfDay(at)}`
}

export const rate = (perSecond: number): string => rateText(perSecond, '/')

export const jobs = (count: number): string => counted(count, 'job')

export const unknownType = (type: string): string => `The store has no jobs of the type ${type}. Is its name right?`

/** Text of a job on one line, without control characters, which a terminal would interpret. */
export const oneLine = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\p{Cc}/gu, '\uFFFD')

/** Text of several lines, without control characters. */
export const manyLines = (text: string): string => text.toWellFormed().replaceAll(/[^\P{Cc}\n]/gu, '\uFFFD')

export const stateStyles: Readonly<Record<JobState, Style>> = {
  scheduled: 'cyan',
  queued: 'blue',
  running: 'blueBright',
  waiting: 'magenta',
  retrying: 'yellow',
  cancelling: 'gray',
  done: 'green',
  dead: 'red',
  cancelled: 'gray',
}

/** The state of a job and of its machine. */
export const stateText = ({
  state,
  machineStates,
}: {
  readonly state: JobState
  readonly machineStates: readonly string[]
}): string => [state, innermost(machineStates).join(' ')].filter((part) => part !== '').join(' · ')
