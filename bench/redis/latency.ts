/**
 * How long a job waits for its handler, and a run for its abort, in another process when nothing else is to be done.
 */
import type { AcrossParams } from '../across/latency.probe.ts'
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { withServer } from '../harness/redis.ts'
import { interleaved } from '../harness/rounds.ts'
import type { Spread } from '../harness/stats.ts'
import { spreadRows } from '../rows.ts'
import type { Section } from '../suite.ts'

const across = (probe: string, params: AcrossParams): Promise<Spread> =>
  inFreshProcess<Measure<AcrossParams, Spread>>(new URL(`../across/${probe}.probe.ts`, import.meta.url), params)

export const latency: Section = {
  name: 'latency',
  title: (bench) => `from a call here to the effect in another process, idle, ${bench.sized(200)} samples`,
  run: (bench) =>
    withServer(async (url) => {
      let prefixes = 0
      const params = (): AcrossParams => ({
        samples: bench.sized(200),
        location: { url, prefix: `bench-${++prefixes}` },
      })
      const samples = await interleaved(bench, Math.min(bench.rounds, 3), {
        start: () => across('latency', params()),
        cancel: () => across('cancel', params()),
      })
      return {
        rows: [
          ...spreadRows('enqueue to the start of the handler', samples.start, {
            p50: { atMost: 3 },
            p99: { atMost: 15 },
          }),
          ...spreadRows('cancel to the abort of the signal', samples.cancel, { p50: { atMost: 10 } }),
        ],
      }
    }),
}
