/**
 * Throughput with a backlog that stays as long as it is: each job that runs enqueues one more. Then how fast it drains.
 */
import { createRuntime, defineJob } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { collectGarbage } from '../harness/heap.ts'
import { Ledger, verifyEqual } from '../harness/ledger.ts'
import { warmUp } from '../harness/warm-up.ts'
import { fill } from './fill.ts'

export interface BacklogParams {
  readonly backlog: number
  /** Processed, and enqueued, while the backlog stays. */
  readonly jobs: number
}

export interface BacklogResult {
  readonly steadyPerSecond: number
  readonly drainPerSecond: number
}

/** @throws NotVerified unless each job has run once */
export async function measure({ backlog, jobs }: BacklogParams): Promise<BacklogResult> {
  await warmUp(async () => (await once({ backlog: Math.min(backlog, 10_000), jobs })).steadyPerSecond)
  return once({ backlog, jobs })
}

async function once({ backlog, jobs }: BacklogParams): Promise<BacklogResult> {
  const ledger = new Ledger(backlog + jobs)
  const kept: Promise<unknown>[] = []
  const steady = Promise.withResolvers<number>()
  const feed = (i: number): Promise<unknown> => runtime.enqueue(types[i % types.length] ?? types[0], { i })
  const run = async ({ i }: Input): Promise<void> => {
    ledger.mark(i)
    if (kept.length < jobs) kept.push(feed(backlog + kept.length))
    else if (ledger.count === jobs + 1) steady.resolve(performance.now())
  }
  const type = (name: string) => defineJob<Input, void>({ type: name, run })
  const types = [type('a'), type('b'), type('c'), type('d'), type('e')] as const
  const runtime = createRuntime({ jobs: types })
  await fill(runtime, types, { count: backlog })
  await collectGarbage()
  const startedAt = performance.now()
  await runtime.start()
  const steadyAt = await steady.promise
  await Promise.all(kept)
  await runtime.drain()
  const drainedAt = performance.now()
  ledger.verify()
  const { queued } = await runtime.counts()
  verifyEqual('jobs left', queued, 0)
  await runtime.stop()
  return {
    steadyPerSecond: (jobs / (steadyAt - startedAt)) * 1_000,
    drainPerSecond: (backlog / (drainedAt - steadyAt)) * 1_000,
  }
}
