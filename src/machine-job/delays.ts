/**
 * Delays of a machine: milliseconds, or a duration as text ('3d'). XState takes what is no number for no delay at all, and
 * the event would come at once; here every other value fails the attempt, and the error names the delay.
 */
import { describe, JobchartError } from '../core/errors.ts'
import { durationMs, type Duration } from '../core/duration.ts'

export const delayHint = "A delay is a number of milliseconds, a hundred years at most, or text such as '30s' or '3d'."

/**
 * The milliseconds of a delay; what is below zero is a time that has passed.
 * @throws JobchartError INVALID_OPTION, naming the place of the delay
 */
export function delayMs(delay: unknown, place: string): number {
  if (typeof delay === 'number' && delay < 0) return 0
  try {
    return durationMs(delay as Duration, place)
  } catch {
    throw new JobchartError('INVALID_OPTION', `${place}: the delay is ${describe(delay)}`, { hint: delayHint })
  }
}

/** Does it say how long by itself, and is not the name of a delay? */
export function isDelay(delay: unknown): boolean {
  try {
    delayMs(delay, '')
    return true
  } catch {
    return false
  }
}

/** The delays of a machine by name, checked. Any name may be asked for: also one that is made up while the machine runs. */
export const checkedDelays = (machine: string, delays: Record<string, unknown>): Record<string, unknown> =>
  new Proxy(delays, {
    get: (_, name) => {
      if (typeof name !== 'string') return undefined
      const own = Object.hasOwn(delays, name)
      const place = own ? `${machine}, delays.${name}` : `${machine}, delay ${name}`
      const delay = own ? delays[name] : name
      return (...args: unknown[]) => delayMs(typeof delay === 'function' ? delay(...args) : delay, place)
    },
  })
