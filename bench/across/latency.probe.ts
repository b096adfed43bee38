/** From the call of enqueue here to the first line of the handler in another process, one job at a time. */
import { createClient, defineJob } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { Ledger } from '../harness/ledger.ts'
import { spread, type Spread } from '../harness/stats.ts'
import { storeAt, type StoreLocation } from '../harness/stores.ts'
import { wallMs } from '../harness/wall.ts'
import { idleForAWhile, OtherProcess } from './other-process.ts'

export interface AcrossParams {
  readonly location: StoreLocation
  readonly samples: number
}

/**
 * Jobs before the first that is measured, without a pause: a process that has just begun compiles what it runs, which
 * takes half a millisecond of each.
 */
const warmUpSamples = 1_000

/** @throws NotVerified unless each job has run once, in the other process */
export async function measure({ location, samples }: AcrossParams): Promise<Spread> {
  const other = await OtherProcess.on(location)
  const probed = defineJob<Input, void>({ type: 'probed', run: async () => {} })
  const client = createClient({ jobs: [probed], store: await storeAt(location) })
  const ledger = new Ledger(warmUpSamples + samples)
  const latencies: number[] = []
  for (let i = 0; i < ledger.jobs; i++) {
    if (i >= warmUpSamples) await idleForAWhile()
    const started = other.nextMessage()
    const enqueuedAt = wallMs()
    const enqueued = client.enqueue(probed, { i })
    const start = await started
    await enqueued
    if (start === 'ready') continue
    ledger.mark(start.i)
    if (i >= warmUpSamples) latencies.push(start.at - enqueuedAt)
  }
  ledger.verify()
  await client.close()
  await other.end()
  return spread(latencies)
}
