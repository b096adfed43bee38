/** Jobs per second of one contender, warmed up. */
import type { Contender } from '../contender.ts'
import { Ledger } from '../harness/ledger.ts'
import { timed, type Timed } from '../harness/timed.ts'
import { warmUp } from '../harness/warm-up.ts'

export interface ThroughputParams {
  /** Module that exports `contender`, beside this folder. */
  readonly contender: string
  readonly options?: unknown
  readonly jobs: number
  readonly types: number
  readonly slots: number
}

export interface ThroughputResult extends Timed {
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

async function once(contender: Contender<unknown>, { jobs, types, slots, options }: ThroughputParams): Promise<Timed> {
  const ledger = new Ledger(jobs)
  const prepared = await contender.prepare({ jobs, handlers: ledger.handlers(types), slots }, options ?? {})
  const took = await timed(jobs, () => prepared.run())
  ledger.verify()
  await prepared.end?.()
  return took
}
