/**
 * How long a job waits for its handler when nothing else is to be done, in the process that enqueues and in another.
 */
import { join } from 'node:path'
import { withFolder } from '../harness/disk.ts'
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { interleaved } from '../harness/rounds.ts'
import type { Spread } from '../harness/stats.ts'
import type { LatencyParams } from '../memory/latency.probe.ts'
import { spreadRows } from '../rows.ts'
import type { Section } from '../suite.ts'
import type { AcrossParams } from '../across/latency.probe.ts'

export const latency: Section = {
  name: 'latency',
  title: (bench) =>
    `enqueue to the start of the handler, idle, ${bench.sized(2_000).toLocaleString('en-US')} and ${bench.sized(200)} samples`,
  run: (bench) =>
    withFolder(async (folder) => {
      let files = 0
      const file = (): string => join(folder, `${++files}.db`)
      const samples = await interleaved(bench, Math.min(bench.rounds, 3), {
        same: () =>
          inFreshProcess<Measure<LatencyParams, Spread>>(new URL('../memory/latency.probe.ts', import.meta.url), {
            samples: bench.sized(2_000),
            backlog: 0,
            file: file(),
          }),
        another: () =>
          inFreshProcess<Measure<AcrossParams, Spread>>(new URL('../across/latency.probe.ts', import.meta.url), {
            samples: bench.sized(200),
            location: { path: file() },
          }),
      })
      return {
        rows: [
          ...spreadRows('same process', samples.same, { p50: { atMost: 2 } }),
          ...spreadRows('another process', samples.another, { p50: { atMost: 10 } }),
        ],
      }
    }),
}
