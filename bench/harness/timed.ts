/** What work on jobs takes: wall time, and CPU time. */
import { collectGarbage } from './heap.ts'

export interface Timed {
  readonly perSecond: number
  /** Of all threads of this process, the garbage collector's too: it does not grow when others use the machine. */
  readonly cpuMicrosPerJob: number
}

/** Collects the garbage, and times the work on so many jobs. */
export async function timed(jobs: number, work: () => Promise<unknown>): Promise<Timed> {
  await collectGarbage()
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  await work()
  const tookMs = performance.now() - startedAt
  const { user, system } = process.cpuUsage(cpuBefore)
  return { perSecond: (jobs / tookMs) * 1_000, cpuMicrosPerJob: (user + system) / jobs }
}
