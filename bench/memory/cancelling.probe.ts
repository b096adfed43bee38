/** What a cancel costs where many jobs wait. */
import { createRuntime, defineJob } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { collectGarbage } from '../harness/heap.ts'
import { verifyEqual } from '../harness/ledger.ts'
import { percentile } from '../harness/stats.ts'
import { longestStall } from '../harness/stall.ts'
import { fill } from './fill.ts'

export interface CancellingParams {
  readonly waiting: number
  /** How many of them the filter matches. */
  readonly matching: number
  /** Cancels by id. */
  readonly singles: number
}

export interface CancellingResult {
  readonly singleP50Ms: number
  readonly singleP99Ms: number
  readonly singleMaxMs: number
  readonly filterMs: number
  /** The longest time for which nothing else could happen in the process. */
  readonly stallMs: number
}

/** @throws NotVerified unless exactly the chosen jobs were cancelled */
export async function measure(params: CancellingParams): Promise<CancellingResult> {
  await once({ waiting: 1_000, matching: 100, singles: 100 })
  return once(params)
}

async function once({ waiting, matching, singles }: CancellingParams): Promise<CancellingResult> {
  const work = defineJob<Input, void>({ type: 'work', run: async () => {} })
  // No slots: what is measured is the cancel, not the jobs that run beside it.
  const runtime = createRuntime({ jobs: [work], concurrency: 0 })
  await runtime.start()
  const rest = waiting - matching
  const every = Math.max(1, Math.floor(rest / singles))
  const ids: string[] = []
  let seen = 0
  await fill(runtime, [work], { count: rest }, ({ id }) => {
    if (seen++ % every === 0 && ids.length < singles) ids.push(id)
  })
  await fill(runtime, [work], { first: rest, count: matching, options: { tags: ['chosen'] } })
  await collectGarbage()
  const tookMs: number[] = []
  for (const id of ids) {
    const startedAt = performance.now()
    const { cancelled } = await runtime.cancel(id)
    tookMs.push(performance.now() - startedAt)
    verifyEqual('cancelled by id', cancelled.length, 1)
  }
  const startedAt = performance.now()
  const { result, stallMs } = await longestStall(() => runtime.cancel({ tag: 'chosen' }))
  const filterMs = performance.now() - startedAt
  verifyEqual('cancelled by filter', new Set(result.cancelled).size, matching)
  verifyEqual('jobs that still wait', (await runtime.counts()).queued, rest - ids.length)
  await runtime.stop()
  return {
    singleP50Ms: percentile(tookMs, 0.5),
    singleP99Ms: percentile(tookMs, 0.99),
    singleMaxMs: Math.max(...tookMs),
    filterMs,
    stallMs,
  }
}
