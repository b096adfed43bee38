/** Jobs per second of one contender in a file, enqueued or processed: both are done, so that all is verified, one counts. */
import { join } from 'node:path'
import type { Handler } from '../contender.ts'
import { commitsOf, removeDatabase } from '../harness/disk.ts'
import { collectGarbage } from '../harness/heap.ts'
import { Ledger, verifyEqual } from '../harness/ledger.ts'
import { warmUp } from '../harness/warm-up.ts'
import type { FileQueue, Way } from './file-queue.ts'

export interface WorkParams {
  /** A module of `contenders/`. */
  readonly contender: string
  readonly folder: string
  /** What counts. */
  readonly timed: 'enqueue' | 'process'
  /** How the jobs come in. */
  readonly way: Way
  readonly slots: number
  readonly jobs: number
  readonly types: number
}

export interface WorkResult {
  readonly perSecond: number
  /** Of all threads. */
  readonly cpuMicrosPerJob: number
  readonly commitsPerJob: number
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

type Timed = Omit<WorkResult, 'passes'>

async function once(contender: FileQueue, { folder, timed, way, jobs, types, slots }: WorkParams): Promise<Timed> {
  const ledger = new Ledger(jobs)
  const handlers = Array.from(
    { length: types },
    (): Handler =>
      async ({ i }) =>
        ledger.mark(i),
  )
  const path = join(folder, `${process.pid}.db`)
  const queue = await contender.open({ path, handlers, slots })
  const enqueued = await time(path, jobs, () => queue.enqueue(jobs, way))
  verifyEqual('jobs that wait', await queue.left(), jobs)
  const processed = await time(path, jobs, () => queue.process())
  ledger.verify()
  verifyEqual('jobs left', await queue.left(), 0)
  await queue.close()
  await removeDatabase(path)
  return timed === 'enqueue' ? enqueued : processed
}

async function time(path: string, jobs: number, work: () => Promise<void>): Promise<Timed> {
  await collectGarbage()
  const commitsBefore = await commitsOf(path)
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  await work()
  const tookMs = performance.now() - startedAt
  const cpu = process.cpuUsage(cpuBefore)
  const commits = (await commitsOf(path)) - commitsBefore
  return {
    perSecond: (jobs / tookMs) * 1_000,
    cpuMicrosPerJob: (cpu.user + cpu.system) / jobs,
    commitsPerJob: commits / jobs,
  }
}
