/** A runtime that has had jobs, and has none now. */
import { setTimeout as pause } from 'node:timers/promises'
import { createRuntime, defineJob } from '../../src/index.ts'
import type { Store } from '../../src/store.ts'
import type { Input } from '../contender.ts'
import { fill } from '../memory/fill.ts'
import { collectGarbage } from './heap.ts'
import { Ledger } from './ledger.ts'

interface IdleOptions {
  readonly types: readonly string[]
  /** For what goes on a while after the last job. */
  readonly settleMs: number
  readonly forMs: number
  /** What is counted meanwhile. */
  readonly count?: () => number
}

export interface Idle {
  /** CPU time of all threads of the process, in % of one core. */
  readonly cpuPercent: number
  /** By how much `count` grew, per second. */
  readonly countedPerSecond: number
}

const jobsBefore = 1_000

/** @throws NotVerified unless the jobs before have run once each */
export async function idleAfterJobs(
  store: Store,
  { types, settleMs, forMs, count = () => 0 }: IdleOptions,
): Promise<Idle> {
  const ledger = new Ledger(jobsBefore)
  const jobs = types.map((type) => defineJob<Input, void>({ type, run: async ({ i }) => ledger.mark(i) }))
  const runtime = createRuntime({ jobs, store })
  await runtime.start()
  await fill(runtime, jobs, { count: jobsBefore })
  await runtime.drain()
  ledger.verify()
  await collectGarbage()
  await pause(settleMs)
  const before = count()
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  await pause(forMs)
  const { user, system } = process.cpuUsage(cpuBefore)
  const tookMs = performance.now() - startedAt
  const counted = count() - before
  await runtime.stop()
  return { cpuPercent: ((user + system) / 1_000 / tookMs) * 100, countedPerSecond: (counted / tookMs) * 1_000 }
}
