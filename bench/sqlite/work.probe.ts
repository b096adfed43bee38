/** Jobs per second of one contender in a file, enqueued or processed. */
import { join } from 'node:path'
import { commitsOf, removeDatabase } from '../harness/disk.ts'
import { workThrough, type Counted, type QueueWork } from '../harness/queue-work.ts'
import { warmUp } from '../harness/warm-up.ts'
import type { FileQueue } from './file-queue.ts'

export interface WorkParams extends QueueWork {
  /** A module of `contenders/`. */
  readonly contender: string
  readonly folder: string
}

export interface WorkResult extends Counted<{ commits: number }> {
  /** Passes to warm up. */
  readonly passes: number
}

/** A pass to warm up does this part of the work. */
const warmUpPart = 5

/** @throws NotVerified unless each job was stored and has run once, in the warm-up too */
export async function measure(params: WorkParams): Promise<WorkResult> {
  const url = new URL(`../contenders/${params.contender}.ts`, import.meta.url)
  const { contender } = (await import(url.href)) as { contender: FileQueue }
  const less = { ...params, jobs: Math.ceil(params.jobs / warmUpPart) }
  const passes = await warmUp(async () => (await once(contender, less)).cpuMicrosPerJob)
  return { ...(await once(contender, params)), passes }
}

async function once(contender: FileQueue, params: WorkParams): Promise<Omit<WorkResult, 'passes'>> {
  const path = join(params.folder, `${process.pid}.db`)
  const counted = await workThrough(
    (options) => contender.open({ path, ...options }),
    params,
    async () => ({ commits: await commitsOf(path) }),
  )
  await removeDatabase(path)
  return counted
}
