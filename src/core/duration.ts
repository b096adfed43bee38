/** Durations as people write them: a number of milliseconds, or '250ms', '30s', '5m', '2h', '1d'. */
import { invalidOption } from './errors.ts'

export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const written = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/
/** A hundred years: longer is a mistake, and sums of times stay exact integers. */
const durationMsMax = 100 * 365 * unitMs.d

/**
 * A duration in whole milliseconds.
 * @throws JobchartError INVALID_OPTION, naming `option`, if it is none, negative, or over a hundred years.
 */
export function durationMs(duration: Duration, option: string): number {
  const match = typeof duration === 'string' ? written.exec(duration) : null
  const ms = match ? Number(match[1]) * unitMs[match[2] as keyof typeof unitMs] : duration
  if (typeof ms !== 'number' || !(ms >= 0 && ms <= durationMsMax)) {
    const hint = "Pass milliseconds, or text such as '250ms', '30s', '5m', '2h', '1d'."
    throw invalidOption(option, 'a duration from 0 to 100 years', duration, hint)
  }
  return Math.round(ms)
}
