/** Makes a file in which jobs have finished and others wait. */
import { createRuntime, defineJob } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { Ledger, verifyEqual } from '../harness/ledger.ts'
import { sqliteStoreAt } from '../harness/stores.ts'
import { fill } from '../memory/fill.ts'

export interface FillParams {
  readonly path: string
  /** All of them are kept. */
  readonly finished: number
  readonly waiting: number
}

/** The types of the jobs in the file, whose runs are up to whoever opens it. */
export const typeNames = ['a', 'b', 'c', 'd', 'e'] as const

/** Keeps every job that has finished. */
export const keepAll = { done: { age: '30d', count: 1_000_000_000 } } as const

/** Jobs that wait at once, on their way to be finished. */
const wave = 10_000

/** @throws NotVerified unless the file holds what was asked for */
export async function measure({ path, finished, waiting }: FillParams): Promise<null> {
  let ledger = new Ledger(0)
  const jobs = typeNames.map((type) => defineJob<Input, void>({ type, run: async ({ i }) => ledger.mark(i) }))
  const store = await sqliteStoreAt(path)
  const runtime = createRuntime({ jobs, store, concurrency: 100, retention: keepAll })
  await runtime.start()
  for (let done = 0; done < finished; done += ledger.jobs) {
    ledger = new Ledger(Math.min(wave, finished - done))
    await fill(runtime, jobs, { count: ledger.jobs })
    await runtime.drain()
    ledger.verify()
  }
  runtime.concurrency = 0
  await fill(runtime, jobs, { count: waiting })
  const counts = await runtime.counts()
  verifyEqual('finished jobs', counts.done, finished)
  verifyEqual('waiting jobs', counts.queued, waiting)
  await runtime.stop()
  return null
}
