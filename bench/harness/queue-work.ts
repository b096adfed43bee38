/** The work of a measurement of a queue: all jobs are enqueued, then processed. Both are done, so that all is verified; one counts. */
import type { Handler } from '../contender.ts'
import type { OpenQueue, Way } from '../open-queue.ts'
import { collectGarbage } from './heap.ts'
import { Ledger, verifyEqual } from './ledger.ts'

export interface QueueWork {
  /** What counts. */
  readonly timed: 'enqueue' | 'process'
  /** How the jobs come in. */
  readonly way: Way
  readonly slots: number
  readonly jobs: number
  readonly types: number
}

/** Running totals of something beside time, by name. */
export type Counters = Readonly<Record<string, number>>

export interface Timed<Count extends Counters> {
  readonly perSecond: number
  /** Of all threads of this process. */
  readonly cpuMicrosPerJob: number
  /** By how much the counters grew. */
  readonly perJob: Count
}

/** @throws NotVerified unless each job was stored and has run once */
export async function workThrough<Count extends Counters>(
  open: (handlers: readonly Handler[]) => Promise<OpenQueue>,
  { timed, way, jobs, types }: QueueWork,
  count: () => Promise<Count>,
): Promise<Timed<Count>> {
  const ledger = new Ledger(jobs)
  const handlers = Array.from(
    { length: types },
    (): Handler =>
      async ({ i }) =>
        ledger.mark(i),
  )
  const queue = await open(handlers)
  const enqueued = await time(jobs, count, () => queue.enqueue(jobs, way))
  verifyEqual('jobs that wait', await queue.left(), jobs)
  const processed = await time(jobs, count, () => queue.process())
  ledger.verify()
  verifyEqual('jobs left', await queue.left(), 0)
  await queue.close()
  return timed === 'enqueue' ? enqueued : processed
}

async function time<Count extends Counters>(
  jobs: number,
  count: () => Promise<Count>,
  work: () => Promise<void>,
): Promise<Timed<Count>> {
  await collectGarbage()
  const before = await count()
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  await work()
  const tookMs = performance.now() - startedAt
  const cpu = process.cpuUsage(cpuBefore)
  const grown = Object.entries(await count()).map(([name, total]) => [name, (total - (before[name] ?? 0)) / jobs])
  return {
    perSecond: (jobs / tookMs) * 1_000,
    cpuMicrosPerJob: (cpu.user + cpu.system) / jobs,
    perJob: Object.fromEntries(grown) as Count,
  }
}
