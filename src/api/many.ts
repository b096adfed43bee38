/** The limits of one call that enqueues many jobs. */
import { invalidOption } from '../core/errors.ts'
import { limits } from '../core/limits.ts'
import { roughSize } from '../core/payload.ts'
import type { NewJob } from '../store.ts'

/** @throws JobchartError INVALID_OPTION */
export function checkInputs(inputs: unknown): void {
  if (!Array.isArray(inputs)) throw invalidOption('inputs of enqueueMany', 'a list', inputs)
  if (inputs.length <= limits.enqueueManyMax) return
  const hint = 'Enqueue them in several calls: one call is one write.'
  throw invalidOption('inputs of enqueueMany', `at most ${limits.enqueueManyMax}`, inputs.length, hint)
}

/** @throws JobchartError INVALID_OPTION if the inputs of one call are too large together */
export function checkBytes(jobs: readonly NewJob[]): void {
  const size = jobs.reduce((sum, { input }) => sum + roughSize(input), 0)
  if (size <= limits.enqueueManyBytesMax) return
  const hint =
    'Enqueue them in several calls: one call is one write. Keep large values elsewhere, and enqueue where they are.'
  const most = `about ${limits.enqueueManyBytesMax} bytes of JSON together at most`
  throw invalidOption('inputs of enqueueMany', most, `${size} bytes`, hint)
}
