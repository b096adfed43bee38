/** Whether work leaves anything behind: the heap and the process's size after more and more jobs, with default retention. */
import { createRuntime, defineJob } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { heapBytes } from '../harness/heap.ts'
import { Ledger } from '../harness/ledger.ts'
import { fill } from './fill.ts'

export interface GarbageParams {
  /** Jobs between two looks. */
  readonly step: number
  readonly steps: number
}

export interface GarbageSample {
  readonly jobs: number
  readonly heapBytes: number
  readonly rssBytes: number
}

/** Jobs that wait at once. */
const wave = 10_000

/** @throws NotVerified unless each job has run once */
export async function measure({ step, steps }: GarbageParams): Promise<GarbageSample[]> {
  let ledger = new Ledger(0)
  const work = defineJob<Input, void>({ type: 'work', run: async ({ i }) => ledger.mark(i) })
  const runtime = createRuntime({ jobs: [work] })
  await runtime.start()
  const samples: GarbageSample[] = []
  for (let jobs = step; jobs <= step * steps; jobs += step) {
    ledger = new Ledger(step)
    for (let first = 0; first < step; first += wave) {
      await fill(runtime, [work], { first, count: Math.min(wave, step - first) })
      await runtime.drain()
    }
    ledger.verify()
    const bytes = await heapBytes()
    samples.push({ jobs, heapBytes: bytes, rssBytes: process.memoryUsage.rss() })
  }
  await runtime.stop()
  return samples
}
