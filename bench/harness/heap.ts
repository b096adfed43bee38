/** The size of the heap after a full collection. */
import { setImmediate } from 'node:timers/promises'

export async function collectGarbage(): Promise<void> {
  if (globalThis.gc === undefined) throw new Error('run Node with --expose-gc')
  for (let i = 0; i < 3; i++) {
    globalThis.gc()
    // Finalizers run and weak references are cleared between turns of the event loop.
    await setImmediate()
  }
}

/** Bytes in use, buffers included, after a full collection. */
export async function heapBytes(): Promise<number> {
  await collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
