/** Many machines that wait for their time: what they cost while they wait, and how late they wake. */
import { createRuntime, defineJob } from '../../src/index.ts'
import { collectGarbage } from '../harness/heap.ts'
import { verifyEqual } from '../harness/ledger.ts'
import { spread, type Spread } from '../harness/stats.ts'
import { storeIn } from '../harness/stores.ts'
import { sleeper } from './charts.ts'

export interface ParkedParams {
  readonly parked: number
  /** So many of them wake, evenly over `overMs`, when all are parked. */
  readonly waking: number
  readonly overMs: number
  readonly file?: string
}

export interface ParkedResult {
  /** ms between the deadline and the first action after it. */
  readonly late: Spread
  readonly heapBytesPerJob: number
  readonly parkedPerSecond: number
}

const farMs = 3_600_000

/** @throws NotVerified unless all are parked, and those wake whose time has come */
export async function measure({ parked, waking, overMs, file }: ParkedParams): Promise<ParkedResult> {
  const lateMs: number[] = []
  const over = Promise.withResolvers<void>()
  const job = defineJob({
    type: 'sleeper',
    machine: sleeper((at) => {
      lateMs.push(Date.now() - at)
      if (lateMs.length === waking) over.resolve()
    }),
  })
  const runtime = createRuntime({ jobs: [job], ...(await storeIn(file)), concurrency: 100 })
  await runtime.start()
  await collectGarbage()
  const heapBefore = process.memoryUsage().heapUsed
  const startedAt = performance.now()
  await enqueue(parked - waking, () => Date.now() + farMs)
  await allParked(parked - waking)
  const parkedPerSecond = ((parked - waking) / (performance.now() - startedAt)) * 1_000
  await collectGarbage()
  const heapBytesPerJob = (process.memoryUsage().heapUsed - heapBefore) / (parked - waking)
  // They are parked, too, before the first of them is due.
  const first = Date.now() + 5_000
  await enqueue(waking, (i) => first + (i / waking) * overMs)
  await over.promise
  verifyEqual('machines that still wait', (await runtime.counts()).waiting, parked - waking)
  await runtime.stop()
  return { late: spread(lateMs), heapBytesPerJob, parkedPerSecond }

  async function enqueue(count: number, at: (i: number) => number): Promise<void> {
    for (let begin = 0; begin < count; begin += 1_000) {
      const length = Math.min(1_000, count - begin)
      await runtime.enqueueMany(
        job,
        Array.from({ length }, (_, i) => ({ at: Math.round(at(begin + i)) })),
      )
    }
  }

  async function allParked(count: number): Promise<void> {
    while ((await runtime.counts()).waiting < count) await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
