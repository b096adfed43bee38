/** What is on the heap, once what can go has gone. */
import { setImmediate } from 'node:timers/promises'

export async function collectGarbage(): Promise<void> {
  if (globalThis.gc === undefined) throw new Error('run Node with --expose-gc')
  for (let i = 0; i < 3; i++) {
    globalThis.gc()
    // Finalizers and weak references are dealt with between turns.
    await setImmediate()
  }
}

/** Bytes in use, buffers included, after a full collection. */
export async function heapBytes(): Promise<number> {
  await collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
