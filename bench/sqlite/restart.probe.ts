/** A process that opens a file in which many jobs have finished, and does what is left. */
import { createRuntime, defineJob } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { Ledger } from '../harness/ledger.ts'
import { sqliteStoreAt } from '../harness/stores.ts'
import { wallMs } from '../harness/wall.ts'
import { keepAll, typeNames } from './fill.probe.ts'

export interface RestartParams {
  readonly path: string
  readonly unfinished: number
}

/** When the first handler started, by the shared clock. @throws NotVerified unless each unfinished job has run once */
export async function measure({ path, unfinished }: RestartParams): Promise<number> {
  const ledger = new Ledger(unfinished)
  let firstAt: number | null = null
  const run = async ({ i }: Input): Promise<void> => {
    firstAt ??= wallMs()
    ledger.mark(i)
  }
  const jobs = typeNames.map((type) => defineJob<Input, void>({ type, run }))
  const runtime = createRuntime({ jobs, store: await sqliteStoreAt(path), retention: keepAll })
  await runtime.start()
  await runtime.drain()
  ledger.verify()
  await runtime.stop()
  return firstAt ?? Number.NaN
}
