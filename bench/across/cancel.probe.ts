/** From the call of cancel here to the abort of the signal of a run in another process, one job at a time. */
import { createClient, defineJob } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { Ledger, verifyEqual } from '../harness/ledger.ts'
import { spread, type Spread } from '../harness/stats.ts'
import { storeAt } from '../harness/stores.ts'
import { wallMs } from '../harness/wall.ts'
import type { AcrossParams } from './latency.probe.ts'
import { idleForAWhile, OtherProcess } from './other-process.ts'

const warmUpSamples = 10

/** @throws NotVerified unless each job was aborted once, in the other process */
export async function measure({ location, samples }: AcrossParams): Promise<Spread> {
  const other = await OtherProcess.on(location)
  const lasting = defineJob<Input, void>({ type: 'lasting', run: async () => {} })
  const client = createClient({ jobs: [lasting], store: await storeAt(location) })
  const ledger = new Ledger(warmUpSamples + samples)
  const latencies: number[] = []
  for (let i = 0; i < ledger.jobs; i++) {
    const started = other.nextMessage()
    const handle = await client.enqueue(lasting, { i })
    await started
    await idleForAWhile()
    const aborted = other.nextMessage()
    const cancelledAt = wallMs()
    const [report, abort] = await Promise.all([client.cancel([handle.id]), aborted])
    verifyEqual('jobs that are being cancelled', report.cancelling.length, 1)
    if (abort === 'ready' || abort.what !== 'aborted') continue
    ledger.mark(abort.i)
    if (i >= warmUpSamples) latencies.push(abort.at - cancelledAt)
  }
  ledger.verify()
  await client.close()
  await other.end()
  return spread(latencies)
}
