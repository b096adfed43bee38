/** From the call of enqueue here to the first line of the handler in another process, one job at a time. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createClient, defineJob } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { Ledger, verifyEqual } from '../harness/ledger.ts'
import { spread, type Spread } from '../harness/stats.ts'
import { sqliteStoreAt } from '../harness/store-file.ts'
import { wallMs } from '../harness/wall.ts'
import type { Told } from './latency-across.worker.ts'

export interface AcrossParams {
  readonly path: string
  readonly samples: number
}

const warmUpSamples = 20
/** Both are idle that long before each job, and nobody's polling falls into step with us. */
const pauseMs = { least: 20, most: 120 }

/** @throws NotVerified unless each job has run once, in the other process */
export async function measure({ path, samples }: AcrossParams): Promise<Spread> {
  const worker = fork(fileURLToPath(new URL('latency-across.worker.ts', import.meta.url)), [path], {
    stdio: ['ignore', 2, 2, 'ipc'],
  })
  const told = async (): Promise<Told> => (await once(worker, 'message'))[0] as Told
  verifyEqual('the other process', await told(), 'ready')
  const probed = defineJob<Input, void>({ type: 'probed', run: async () => {} })
  const client = createClient({ jobs: [probed], store: await sqliteStoreAt(path) })
  const ledger = new Ledger(warmUpSamples + samples)
  const latencies: number[] = []
  for (let i = 0; i < ledger.jobs; i++) {
    await pause(pauseMs.least + Math.random() * (pauseMs.most - pauseMs.least))
    const started = told()
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
  worker.disconnect()
  await once(worker, 'exit')
  return spread(latencies)
}
