/** Throughput while the backlog stays as long as it is: each job that runs enqueues one more. */
import { join } from 'node:path'
import { createClient, createRuntime, defineJob, type JobDefinition } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { removeDatabase } from '../harness/disk.ts'
import { collectGarbage } from '../harness/heap.ts'
import { Ledger, verifyEqual } from '../harness/ledger.ts'
import { sqliteStoreAt } from '../harness/stores.ts'
import { warmUp } from '../harness/warm-up.ts'
import { measure as fillFile, typeNames } from './fill.probe.ts'

export interface BacklogParams {
  readonly folder: string
  /** A file in which `backlog` jobs wait; it is used up. */
  readonly path: string
  readonly backlog: number
  /** Processed, and enqueued, while the backlog stays. */
  readonly jobs: number
}

const warmUpBacklog = 2_000
const warmUpPart = 5

/** Jobs per second. @throws NotVerified unless each that ran has run once, and the others still wait */
export async function measure(params: BacklogParams): Promise<number> {
  const { folder, jobs } = params
  const path = join(folder, `${process.pid}.db`)
  const backlog = Math.min(params.backlog, warmUpBacklog)
  await warmUp(async () => {
    await fillFile({ path, finished: 0, waiting: backlog })
    return once({ path, backlog, jobs: Math.ceil(jobs / warmUpPart) })
  })
  return once(params)
}

async function once({ path, backlog, jobs }: Omit<BacklogParams, 'folder'>): Promise<number> {
  const ledger = new Ledger(backlog + jobs)
  const kept: Promise<unknown>[] = []
  const over = Promise.withResolvers<number>()
  const run = async ({ i }: Input): Promise<void> => {
    ledger.mark(i)
    if (kept.length < jobs)
      kept.push(runtime.enqueue(types[i % types.length] as JobDefinition<Input, void>, { i: backlog + kept.length }))
    else runtime.concurrency = 0
    if (ledger.count === jobs) over.resolve(performance.now())
  }
  const types = typeNames.map((type) => defineJob<Input, void>({ type, run }))
  const runtime = createRuntime({ jobs: types, store: await sqliteStoreAt(path), concurrency: 0 })
  await runtime.start()
  await collectGarbage()
  const startedAt = performance.now()
  runtime.concurrency = 100
  const overAt = await over.promise
  await Promise.all(kept)
  await runtime.stop()
  await verifyRest(path, types, ledger, backlog + jobs)
  await removeDatabase(path)
  return (jobs / (overAt - startedAt)) * 1_000
}

/** Each job has either run once, and is done, or waits. */
async function verifyRest(
  path: string,
  jobs: readonly JobDefinition<Input, void>[],
  ledger: Ledger,
  all: number,
): Promise<void> {
  const client = createClient({ jobs, store: await sqliteStoreAt(path) })
  const { queued } = await client.counts()
  await client.close()
  verifyEqual('jobs that ran and jobs that wait', ledger.count + queued, all)
  ledger.verify(queued)
}
