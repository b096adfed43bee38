/**
 * Delays of a machine: milliseconds, or a duration as text ('3d'). XState takes what is no number for no delay at all, and
 * the event would come at once; here every other value fails the attempt, and the error names the delay.
 */
import type { AnyStateMachine } from 'xstate'
import { describe, JobchartError } from '../errors.ts'
import { durationMs, type Duration } from '../job/duration.ts'
import { actionSites, isBuiltIn } from './machines.ts'

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

/** Makes the delays of a machine that nobody else has checked ones. */
export function checkDelaysOf(machine: AnyStateMachine): void {
  const { implementations } = machine as unknown as { implementations: { delays: Record<string, unknown> } }
  implementations.delays = checkedDelays(machine.id, implementations.delays)
  for (const { place, actions, replace } of actionSites(machine)) {
    if (actions.some(hasOwnDelay)) replace(actions.map((action) => withCheckedDelay(action, place)))
  }
}

/** Any name may be asked for: also one that is made up when the machine runs. */
const checkedDelays = (machine: string, delays: Record<string, unknown>): Record<string, unknown> =>
  new Proxy(delays, {
    get: (_, name) => {
      if (typeof name !== 'string') return undefined
      const own = Object.hasOwn(delays, name)
      const place = own ? `${machine}, delays.${name}` : `${machine}, delay ${name}`
      const delay = own ? delays[name] : name
      return (...args: unknown[]) => delayMs(typeof delay === 'function' ? delay(...args) : delay, place)
    },
  })

const hasOwnDelay = (action: unknown): boolean => isBuiltIn(action) && typeof action.delay === 'function'

function withCheckedDelay(action: unknown, place: string): unknown {
  if (!isBuiltIn(action) || typeof action.delay !== 'function') return action
  const { delay } = action as { delay: (...args: unknown[]) => unknown }
  return Object.assign((): void => {}, action, { delay: (...args: unknown[]) => delayMs(delay(...args), place) })
}
