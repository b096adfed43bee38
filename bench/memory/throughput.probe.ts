/** Jobs per second of one contender, warmed up. */
import type { Contender, Handler } from '../contender.ts'
import { collectGarbage } from '../harness/heap.ts'
import { Ledger } from '../harness/ledger.ts'
import { warmUp } from '../harness/warm-up.ts'

export interface ThroughputParams {
  /** Module that exports `contender`, beside this folder. */
  readonly contender: string
  readonly options?: unknown
  readonly jobs: number
  readonly types: number
  readonly slots: number
}

export interface ThroughputResult {
  readonly perSecond: number
  /** Of all threads, the garbage collector's too: it does not grow when others use the machine. */
  readonly cpuMicrosPerJob: number
  /** Passes to warm up. */
  readonly passes: number
}

/** @throws NotVerified unless each job has run once, in the warm-up too */
export async function measure(params: ThroughputParams): Promise<ThroughputResult> {
  const url = new URL(`../contenders/${params.contender}.ts`, import.meta.url)
  const { contender } = (await import(url.href)) as { contender: Contender<unknown> }
  const passes = await warmUp(async () => (await once(contender, params)).cpuMicrosPerJob)
  return { ...(await once(contender, params)), passes }
}

async function once(
  contender: Contender<unknown>,
  { jobs, types, slots, options }: ThroughputParams,
): Promise<Omit<ThroughputResult, 'passes'>> {
  const ledger = new Ledger(jobs)
  const handlers = Array.from(
    { length: types },
    (): Handler =>
      async ({ i }) =>
        ledger.mark(i),
  )
  const prepared = await contender.prepare({ jobs, handlers, slots }, options ?? {})
  await collectGarbage()
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  await prepared.run()
  const tookMs = performance.now() - startedAt
  const cpu = process.cpuUsage(cpuBefore)
  ledger.verify()
  await prepared.end?.()
  return { perSecond: (jobs / tookMs) * 1_000, cpuMicrosPerJob: (cpu.user + cpu.system) / jobs }
}
