/** What a runtime costs that has nothing to do. */
import { setTimeout as pause } from 'node:timers/promises'
import { createRuntime, defineJob } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { collectGarbage } from '../harness/heap.ts'
import { Ledger } from '../harness/ledger.ts'
import { PostgresView } from '../harness/postgres.ts'
import { postgresStoreAt } from '../harness/stores.ts'
import { fill } from '../memory/fill.ts'

export interface IdleParams {
  readonly url: string
  readonly forMs: number
}

export interface IdleResult {
  /** CPU time of all threads of the process, in % of one core. */
  readonly cpuPercent: number
  /** Transactions that the server has carried out, per second: a query is one. */
  readonly perSecond: number
}

const jobsBefore = 1_000
/** For what goes on a while after the last job. */
const settleMs = 3_000

/** @throws NotVerified unless the jobs before have run once each */
export async function measure({ url, forMs }: IdleParams): Promise<IdleResult> {
  const ledger = new Ledger(jobsBefore)
  const jobs = ['a', 'b', 'c'].map((type) => defineJob<Input, void>({ type, run: async ({ i }) => ledger.mark(i) }))
  const runtime = createRuntime({ jobs, store: await postgresStoreAt(url, `idle_${process.pid}`) })
  await runtime.start()
  await fill(runtime, jobs, { count: jobsBefore })
  await runtime.drain()
  ledger.verify()
  await collectGarbage()
  const server = await PostgresView.at(url)
  await pause(settleMs)
  const before = await server.counters()
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  await pause(forMs)
  const { user, system } = process.cpuUsage(cpuBefore)
  const tookMs = performance.now() - startedAt
  const after = await server.counters()
  await server.close()
  await runtime.stop()
  return {
    cpuPercent: ((user + system) / 1_000 / tookMs) * 100,
    // But the one that has read the counters.
    perSecond: (after.commits - before.commits - 1) / (tookMs / 1_000),
  }
}
