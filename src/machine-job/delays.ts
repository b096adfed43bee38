/**
 * Delays of a machine: milliseconds, or a duration as text ('3d'). XState treats any other value as no delay and sends
 * the event at once; here such a value fails the attempt with an error that names the delay.
 */
import { describe, JobchartError } from '../core/errors.ts'
import { durationMs } from '../core/duration.ts'

export const delayHint = "A delay is a number of milliseconds, a hundred years at most, or text such as '30s' or '3d'."

/**
 * The milliseconds of a delay; a negative number gives 0.
 * @throws JobchartError INVALID_OPTION, naming the place of the delay
 */
export function delayMs(delay: unknown, place: string): number {
  if (typeof delay === 'number' && delay < 0) return 0
  try {
    return durationMs(delay, place)
  } catch {
    throw new JobchartError('INVALID_OPTION', `${place}: the delay is ${describe(delay)}`, { hint: delayHint })
  }
}

/** Is it a valid delay by itself, and not the name of one? */
export function isDelay(delay: unknown): boolean {
  try {
    delayMs(delay, '')
    return true
  } catch {
    return false
  }
}

/**
 * The named delays of a machine, each checked when it is used. An unknown name is read as a duration: charts may
 * compute names.
 */
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
