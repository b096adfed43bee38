/** What a runtime costs that has nothing to do. */
import { idleAfterJobs } from '../harness/idle.ts'
import { sqliteStoreAt } from '../harness/stores.ts'
import { typeNames } from './fill.probe.ts'

export interface IdleParams {
  readonly path: string
  readonly forMs: number
}

/** CPU time of all threads, in % of one core. @throws NotVerified unless the jobs before have run once each */
export async function measure({ path, forMs }: IdleParams): Promise<number> {
  const idle = await idleAfterJobs(await sqliteStoreAt(path), { types: typeNames, settleMs: 1_000, forMs })
  return idle.cpuPercent
}
