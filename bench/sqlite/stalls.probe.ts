/** How long the main thread's event loop stands still while the store is busy. */
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { contender } from '../contenders/jobchart-sqlite.ts'
import type { Handler } from '../contender.ts'
import { removeDatabase } from '../harness/disk.ts'
import { collectGarbage } from '../harness/heap.ts'
import { Ledger } from '../harness/ledger.ts'
import type { Spread } from '../harness/stats.ts'
import { warmUp } from '../harness/warm-up.ts'

export interface StallsParams {
  readonly folder: string
  readonly jobs: number
  readonly slots: number
  /** Is the file worked on in a thread of its own? */
  readonly thread: boolean
}

export interface StallsResult {
  /** With nothing to do: what the measurement itself shows. */
  readonly idle: Spread
  readonly enqueueing: Spread
  readonly processing: Spread
}

const idleMs = 500
const warmUpPart = 5
const types = 5

/** @throws NotVerified unless each job has run once */
export async function measure({ folder, ...params }: StallsParams): Promise<StallsResult> {
  const path = join(folder, `${process.pid}.db`)
  await warmUp(async () => {
    const startedAt = performance.now()
    await once(path, { ...params, jobs: Math.ceil(params.jobs / warmUpPart) })
    return performance.now() - startedAt
  })
  return once(path, params)
}

async function once(path: string, { jobs, slots, thread }: Omit<StallsParams, 'folder'>): Promise<StallsResult> {
  const ledger = new Ledger(jobs)
  const run: Handler = async ({ i }) => ledger.mark(i)
  const handlers = Array.from({ length: types }, () => run)
  const queue = await contender.open({ path, handlers, slots, thread })
  const result = {
    idle: await delays(() => pause(idleMs)),
    enqueueing: await delays(() => queue.enqueue(jobs, { by: 'at once', size: 100 })),
    processing: await delays(() => queue.process()),
  }
  ledger.verify()
  await queue.close()
  await removeDatabase(path)
  return result
}

/** The time between turns of a 1 ms timer. */
async function delays(work: () => Promise<unknown>): Promise<Spread> {
  await collectGarbage()
  const histogram = monitorEventLoopDelay({ resolution: 1 })
  histogram.enable()
  await work()
  // The last stall is over when the timer has had its turn.
  await pause(2)
  histogram.disable()
  const ms = (nanoseconds: number): number => nanoseconds / 1e6
  return { p50Ms: ms(histogram.percentile(50)), p99Ms: ms(histogram.percentile(99)), maxMs: ms(histogram.max) }
}
