/** Throughput while the backlog stays as long as it is: each job that runs enqueues one more. */
import { createRuntime, defineJob, type JobDefinition } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { collectGarbage } from '../harness/heap.ts'
import { Ledger, verifyEqual } from '../harness/ledger.ts'
import { storeAt, type StoreLocation } from '../harness/stores.ts'
import { warmUp } from '../harness/warm-up.ts'
import { fill } from '../memory/fill.ts'

export interface BacklogParams {
  readonly location: StoreLocation
  /** Jobs that wait there. */
  readonly backlog: number
  /** Processed, and enqueued, while the backlog stays; 0: the backlog is made. */
  readonly jobs: number
}

const typeNames = ['a', 'b', 'c', 'd', 'e'] as const
const warmUpPart = 5

/** Jobs per second. @throws NotVerified unless each that ran has run once, and as many wait as before */
export async function measure(params: BacklogParams): Promise<number> {
  if (params.jobs === 0) return make(params)
  await warmUp(() => once({ ...params, jobs: Math.ceil(params.jobs / warmUpPart) }))
  return once(params)
}

async function make({ location, backlog }: BacklogParams): Promise<number> {
  const types = typeNames.map((type) => defineJob<Input, void>({ type, run: async () => {} }))
  const runtime = createRuntime({ jobs: types, store: await storeAt(location), concurrency: 0 })
  await runtime.start()
  await fill(runtime, types, { count: backlog })
  await runtime.stop()
  return backlog
}

async function once({ location, backlog, jobs }: BacklogParams): Promise<number> {
  // Jobs are told by the order in which they start: who has enqueued them is long gone.
  const ledger = new Ledger(jobs)
  const ids = new Set<string>()
  const kept: Promise<unknown>[] = []
  const over = Promise.withResolvers<number>()
  const run = async (_: Input, { id }: { readonly id: string }): Promise<void> => {
    if (ids.has(id)) throw new Error(`job ${id} has run twice`)
    ids.add(id)
    ledger.mark(ids.size - 1)
    if (kept.length < jobs)
      kept.push(runtime.enqueue(types[ids.size % types.length] as JobDefinition<Input, void>, { i: ids.size }))
    // Exactly so many jobs run: towards the end each takes its slot with it.
    if (ledger.count >= jobs - runtime.concurrency) runtime.concurrency = Math.max(0, jobs - ledger.count)
    if (ledger.count === jobs) over.resolve(performance.now())
  }
  const types = typeNames.map((type) => defineJob<Input, void>({ type, run }))
  const runtime = createRuntime({ jobs: types, store: await storeAt(location), concurrency: 0 })
  await runtime.start()
  await collectGarbage()
  const startedAt = performance.now()
  runtime.concurrency = 100
  const overAt = await over.promise
  await Promise.all(kept)
  await runtime.stop()
  ledger.verify()
  const client = createRuntime({ jobs: types, store: await storeAt(location), concurrency: 0 })
  await client.start()
  const { queued } = await client.counts()
  await client.stop()
  verifyEqual('jobs that wait', queued, backlog)
  return (jobs / (overAt - startedAt)) * 1_000
}
