/** Durations as people write them: a number of milliseconds, or '250ms', '30s', '5m', '2h', '1d'. */
import { invalidOption } from './errors.ts'

export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const written = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/
/** A hundred years: longer is a mistake, and sums of times stay exact integers. */
const durationMsMax = 100 * 365 * unitMs.d

/**
 * The milliseconds of a duration that comes from outside, for an option that takes a duration: text of the environment
 * has the type `string`, which does not say that it is one. Nothing gives nothing, so that the option keeps its
 * default.
 * @param text with a unit: '250ms', '30s', '5m', '2h', '1d'
 * @param name of the setting, for the message of the error
 * @throws JobchartError INVALID_OPTION for any other text, also for empty text and for a number without a unit
 * @example createRuntime({ jobs, lease: duration(process.env.LEASE, 'LEASE') ?? '30s' })
 */
export function duration(text: string, name?: string): number
export function duration(text: string | undefined, name?: string): number | undefined
export function duration(text: string | undefined, name = 'duration'): number | undefined {
  return text === undefined ? undefined : durationMs(text, name)
}

/**
 * A duration in whole milliseconds: the rule of options that take a `Duration`.
 * @throws JobchartError INVALID_OPTION, naming `option`, if it is none, negative, or over a hundred years.
 */
export function durationMs(given: unknown, option: string): number {
  const match = typeof given === 'string' ? written.exec(given) : null
  const ms = match ? Number(match[1]) * unitMs[match[2] as keyof typeof unitMs] : given
  if (typeof ms !== 'number' || !(ms >= 0 && ms <= durationMsMax)) {
    const hint = "Pass milliseconds, or text such as '250ms', '30s', '5m', '2h', '1d'."
    throw invalidOption(option, 'a duration from 0 to 100 years', given, hint)
  }
  return Math.round(ms)
}
