/**
 * The work of a measurement of a queue: all jobs are enqueued, then processed. Both are done, so that all is verified;
 * one is measured.
 */
import type { EnqueueMode, Feature, OpenQueue, QueueOptions } from '../open-queue.ts'
import { Ledger, verifyEqual } from './ledger.ts'
import { timed, type Timed } from './timed.ts'
import { waiting, type Waits } from './waiting.ts'

export interface QueueWork {
  /** Which half is measured. */
  readonly timed: 'enqueue' | 'process'
  readonly mode: EnqueueMode
  readonly slots: number
  readonly jobs: number
  readonly types: number
  readonly feature?: Feature
  /** Without it handlers end at once. */
  readonly waits?: Waits
}

/** Running totals of something beside time, by name. */
export type Counters = Readonly<Record<string, number>>

export interface Counted<Count extends Counters> extends Timed {
  /** By how much the counters grew. */
  readonly perJob: Count
}

/** @throws NotVerified unless each job was stored and has run once */
export async function workThrough<Count extends Counters>(
  open: (options: QueueOptions) => Promise<OpenQueue>,
  { timed: phase, mode, slots, jobs, types, feature, waits }: QueueWork,
  count: () => Promise<Count>,
): Promise<Counted<Count>> {
  const ledger = new Ledger(jobs)
  const marking = ledger.handlers(types)
  const handlers = waits === undefined ? marking : waiting(marking, waits)
  const queue = await open({ handlers, slots, handlersWait: waits !== undefined, ...(feature && { feature }) })
  const enqueued = await counted(jobs, count, () => queue.enqueue(jobs, mode))
  verifyEqual('jobs that wait', await queue.left(), jobs)
  const processed = await counted(jobs, count, () => queue.process())
  ledger.verify()
  verifyEqual('jobs left', await queue.left(), 0)
  await queue.close()
  return phase === 'enqueue' ? enqueued : processed
}

async function counted<Count extends Counters>(
  jobs: number,
  count: () => Promise<Count>,
  work: () => Promise<void>,
): Promise<Counted<Count>> {
  const before = await count()
  const took = await timed(jobs, work)
  const grown = Object.entries(await count()).map(([name, total]) => [name, (total - (before[name] ?? 0)) / jobs])
  return { ...took, perJob: Object.fromEntries(grown) as Count }
}
