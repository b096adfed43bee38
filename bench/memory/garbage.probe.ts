/**
 * Whether work leaves anything behind: the heap and the process's size after more and more jobs, with default
 * retention.
 */
import { createRuntime, defineJob } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { heapBytes } from '../harness/heap.ts'
import { Ledger } from '../harness/ledger.ts'
import { fill } from './fill.ts'

export interface GarbageParams {
  /** After how many jobs to look, ascending. */
  readonly looks: readonly number[]
}

export interface GarbageSample {
  readonly jobs: number
  readonly heapBytes: number
  readonly rssBytes: number
}

/** Jobs that wait at once. */
const wave = 10_000

/** @throws NotVerified unless each job has run once */
export async function measure({ looks }: GarbageParams): Promise<GarbageSample[]> {
  let ledger = new Ledger(0)
  const work = defineJob<Input, void>({ type: 'work', run: async ({ i }) => ledger.mark(i) })
  const runtime = createRuntime({ jobs: [work] })
  await runtime.start()
  const samples: GarbageSample[] = []
  let done = 0
  for (const jobs of looks) {
    for (; done < jobs; done += ledger.count) {
      ledger = new Ledger(Math.min(wave, jobs - done))
      await fill(runtime, [work], { count: ledger.jobs })
      await runtime.drain()
      ledger.verify()
    }
    const bytes = await heapBytes()
    samples.push({ jobs, heapBytes: bytes, rssBytes: process.memoryUsage.rss() })
  }
  await runtime.stop()
  return samples
}
