import { expect, test } from 'vitest'
import { createRuntime, defineJob } from 'jobchart'
import { isLong } from '../../harness/long-form.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }

/** Live heap in bytes: what is left when everything that can go has gone. */
async function liveHeap(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error('run node with --expose-gc')
  for (let i = 0; i < 3; i++) {
    globalThis.gc()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return process.memoryUsage().heapUsed
}

const rounds = isLong ? 8 : 3

test(`with retention on, the heap after ${rounds * 50_000} jobs is where it was after 50,000`, async () => {
  let ran = 0
  const work = defineJob({
    type: 'work',
    retry: { maxAttempts: 1 },
    run: async ({ i }: { i: number }) => {
      ran++
      if (i % 1_000 === 0) throw new Error('now and then')
      return { i }
    },
  })
  const runtime = createRuntime({ jobs: [work], retention: { done: { count: 1_000 } }, logger })
  await runtime.start()
  const round = async (): Promise<void> => {
    for (let at = 0; at < 50_000; at += 5_000) {
      await Promise.all(Array.from({ length: 5_000 }, (_, i) => runtime.enqueue(work, { i: at + i })))
      await runtime.drain()
    }
    // They would be kept for a minute.
    await runtime.discard({ state: 'dead' })
  }
  await round()
  const before = await liveHeap()
  for (let i = 1; i < rounds; i++) await round()
  const grown = (await liveHeap()) - before
  expect(ran).toBe(rounds * 50_000)
  // A leak of eight bytes per job would be 0.8 MB, in the long form 2.8 MB.
  expect(grown).toBeLessThan(isLong ? 1_500_000 : 750_000)
  const counts = await runtime.counts()
  // What ended less than a minute ago stays, up to a bound.
  expect(counts.done).toBeLessThanOrEqual(6_500)
  await runtime.stop()
})
