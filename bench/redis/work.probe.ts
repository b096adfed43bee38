/** Jobs per second of one contender on a server, enqueued or processed. */
import { workThrough, type Counted, type QueueWork } from '../harness/queue-work.ts'
import { ServerView, type ServerCounters } from '../harness/redis.ts'
import { warmUp } from '../harness/warm-up.ts'
import type { RedisQueue } from './redis-queue.ts'

export interface WorkParams extends QueueWork {
  /** A module of `contenders/`. */
  readonly contender: string
  readonly url: string
}

export interface WorkResult extends Counted<ServerCounters> {
  /** Passes to warm up. */
  readonly passes: number
}

/** A pass to warm up does this part of the work. */
const warmUpPart = 5

/** @throws NotVerified unless each job was stored and has run once, in the warm-up too */
export async function measure(params: WorkParams): Promise<WorkResult> {
  const url = new URL(`../contenders/${params.contender}.ts`, import.meta.url)
  const { contender } = (await import(url.href)) as { contender: RedisQueue }
  const server = await ServerView.at(params.url)
  let number = 0
  const once = async (work: WorkParams): Promise<Counted<ServerCounters>> => {
    const prefix = `bench-${++number}`
    const open: Parameters<typeof workThrough>[0] = (options) => contender.open({ url: params.url, prefix, ...options })
    const counted = await workThrough(open, work, () => server.counters())
    await server.clear()
    return counted
  }
  const less = { ...params, jobs: Math.ceil(params.jobs / warmUpPart) }
  const passes = await warmUp(async () => (await once(less)).cpuMicrosPerJob)
  const counted = await once(params)
  server.close()
  return { ...counted, passes }
}
