/**
 * Calls that change a job whose row somebody else holds, such as the open transaction of a handler that ends it. The
 * store refuses them at once; they are tried again for a while, and others go on meanwhile.
 */
import { systemClock } from '../core/clock.ts'
import { JobchartError } from '../core/errors.ts'

export class HeldError extends JobchartError {}

/** Somebody else holds it in real time, whatever clock a client has. */
export const heldMs = { every: 20, most: 1_000 }

/** For a second. @throws HeldError; what the call throws */
export function whileHeld<T>(call: () => Promise<T>): Promise<T> {
  const until = systemClock.monotonic() + heldMs.most
  return untilFree(call, () => systemClock.monotonic() <= until, 1)
}

/**
 * For as long as `goesOn`.
 * @param growth each pause is so many times as long as the one before
 * @throws HeldError if not; what the call throws
 */
export async function untilFree<T>(call: () => Promise<T>, goesOn: () => boolean, growth = 2): Promise<T> {
  for (let ms = heldMs.every; ; ms = Math.min(ms * growth, heldMs.most)) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof HeldError) || !goesOn()) throw error
    }
    await pauseHeld(ms)
  }
}

export const pauseHeld = (ms = heldMs.every): Promise<void> =>
  new Promise((resolve) => void systemClock.timer(resolve, ms, { keepAlive: true }))
