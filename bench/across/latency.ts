/**
 * How long a job waits for its handler, and a run for its abort, in another process when nothing else is to be done.
 */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { interleaved } from '../harness/rounds.ts'
import type { Spread } from '../harness/stats.ts'
import type { WithStores } from '../harness/stores.ts'
import { spreadRows } from '../rows.ts'
import type { Goal, Section } from '../suite.ts'
import type { AcrossParams } from './latency.probe.ts'

const across = (probe: string, params: AcrossParams): Promise<Spread> =>
  inFreshProcess<Measure<AcrossParams, Spread>>(new URL(`${probe}.probe.ts`, import.meta.url), params)

/** Goals of the time until the start of a handler. */
interface StartGoals {
  readonly p50: Goal
  readonly p99?: Goal
}

export const latency = (withStores: WithStores, goals: StartGoals): Section => ({
  name: 'latency',
  title: (bench) => `from a call here to the effect in another process, idle, ${bench.sized(200)} samples`,
  run: (bench) =>
    withStores(async (locationOf) => {
      let stores = 0
      const params = (): AcrossParams => ({ samples: bench.sized(200), location: locationOf(`bench_${++stores}`) })
      const samples = await interleaved(bench, Math.min(bench.rounds, 3), {
        start: () => across('latency', params()),
        cancel: () => across('cancel', params()),
      })
      return {
        rows: [
          ...spreadRows('enqueue to the start of the handler', samples.start, goals),
          ...spreadRows('cancel to the abort of the signal', samples.cancel, { p50: { atMost: 10 } }),
        ],
      }
    }),
})
