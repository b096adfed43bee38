/** What a runtime costs that has nothing to do. */
import { setTimeout as pause } from 'node:timers/promises'
import { createRuntime, defineJob } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { Ledger } from '../harness/ledger.ts'
import { collectGarbage } from '../harness/heap.ts'
import { sqliteStoreAt } from '../harness/stores.ts'
import { fill } from '../memory/fill.ts'
import { typeNames } from './fill.probe.ts'

export interface IdleParams {
  readonly path: string
  readonly forMs: number
}

const jobsBefore = 1_000
/** For what goes on a while after the last job. */
const settleMs = 1_000

/** CPU time of all threads, in % of one core. @throws NotVerified unless the jobs before have run once each */
export async function measure({ path, forMs }: IdleParams): Promise<number> {
  const ledger = new Ledger(jobsBefore)
  const jobs = typeNames.map((type) => defineJob<Input, void>({ type, run: async ({ i }) => ledger.mark(i) }))
  const runtime = createRuntime({ jobs, store: await sqliteStoreAt(path) })
  await runtime.start()
  await fill(runtime, jobs, { count: jobsBefore })
  await runtime.drain()
  ledger.verify()
  await collectGarbage()
  await pause(settleMs)
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  await pause(forMs)
  const { user, system } = process.cpuUsage(cpuBefore)
  const tookMs = performance.now() - startedAt
  await runtime.stop()
  return ((user + system) / 1_000 / tookMs) * 100
}
