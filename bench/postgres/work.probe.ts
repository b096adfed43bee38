/** Jobs per second of one contender in a database, enqueued or processed. */
import { workThrough, type Counted, type QueueWork } from '../harness/queue-work.ts'
import { PostgresView, type PostgresCounters } from '../harness/postgres.ts'
import { warmUp } from '../harness/warm-up.ts'
import type { PostgresQueue } from './postgres-queue.ts'

export interface WorkParams extends QueueWork {
  /** A module of `contenders/`. */
  readonly contender: string
  readonly url: string
}

export interface WorkResult extends Counted<PostgresCounters> {
  /** Passes to warm up. */
  readonly passes: number
}

/** A pass to warm up does this part of the work. */
const warmUpPart = 5

/** @throws NotVerified unless each job was stored and has run once, in the warm-up too */
export async function measure(params: WorkParams): Promise<WorkResult> {
  const url = new URL(`../contenders/${params.contender}.ts`, import.meta.url)
  const { contender } = (await import(url.href)) as { contender: PostgresQueue }
  const server = await PostgresView.at(params.url)
  let number = 0
  const once = async (work: WorkParams): Promise<Counted<PostgresCounters>> => {
    const schema = `bench_${process.pid}_${++number}`
    const open: Parameters<typeof workThrough>[0] = (options) => contender.open({ url: params.url, schema, ...options })
    const counted = await workThrough(open, work, () => server.counters())
    await server.drop(schema)
    return counted
  }
  const less = { ...params, jobs: Math.ceil(params.jobs / warmUpPart) }
  const passes = await warmUp(async () => (await once(less)).cpuMicrosPerJob)
  const counted = await once(params)
  await server.close()
  return { ...counted, passes }
}
