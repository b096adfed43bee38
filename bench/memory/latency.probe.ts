/** From the call of enqueue to the first line of the handler, one job at a time. */
import { setImmediate } from 'node:timers/promises'
import { createRuntime, defineJob } from '../../src/index.ts'
import type { Input } from '../contender.ts'
import { Ledger } from '../harness/ledger.ts'
import { spread, type Spread } from '../harness/stats.ts'
import { storeIn } from '../harness/stores.ts'
import { fill } from './fill.ts'

export interface LatencyParams {
  readonly samples: number
  /** Jobs of a queue of lower weight that wait all the while; 0 = an idle runtime. */
  readonly backlog: number
  /** The file that jobs are stored in; default: in memory. */
  readonly file?: string
}

const warmUp = 500

/** @throws NotVerified unless each measured job has run once */
export async function measure({ samples, backlog, file }: LatencyParams): Promise<Spread> {
  const ledger = new Ledger(warmUp + samples)
  let started = Promise.withResolvers<number>()
  const probed = defineJob<Input, void>({
    type: 'probed',
    weight: 100,
    run: async ({ i }) => {
      started.resolve(performance.now())
      ledger.mark(i)
    },
  })
  let over = false
  const load = defineJob<Input, void>({
    type: 'load',
    run: async (input) => {
      // Jobs that await nothing would leave no turn of the event loop to others; most jobs wait for something.
      await setImmediate()
      if (!over) void runtime.enqueue(load, input)
    },
  })
  const runtime = createRuntime({ jobs: [probed, load], ...(await storeIn(file)) })
  await fill(runtime, [load], { count: backlog })
  await runtime.start()
  const latencies: number[] = []
  for (let i = 0; i < warmUp + samples; i++) {
    started = Promise.withResolvers<number>()
    const enqueuedAt = performance.now()
    const handle = runtime.enqueue(probed, { i })
    const tookMs = (await started.promise) - enqueuedAt
    if (i >= warmUp) latencies.push(tookMs)
    await (await handle).result()
    await setImmediate()
  }
  over = true
  ledger.verify()
  await runtime.stop()
  return spread(latencies)
}
