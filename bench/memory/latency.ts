/** How long a job waits for its handler when a slot is free, and when others keep the slots busy. */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { interleaved } from '../harness/rounds.ts'
import type { Spread } from '../harness/stats.ts'
import { spreadRows } from '../rows.ts'
import type { Bench, Section } from '../suite.ts'
import type { LatencyParams } from './latency.probe.ts'

type Probe = Measure<LatencyParams, Spread>

const waiting = (bench: Bench, backlog: number) => (): Promise<Spread> =>
  inFreshProcess<Probe>(new URL('latency.probe.ts', import.meta.url), { samples: bench.sized(5_000), backlog })

export const latency: Section = {
  name: 'latency',
  title: (bench) => `enqueue to the start of the handler, ${bench.sized(5_000).toLocaleString('en-US')} samples`,
  async run(bench) {
    const samples = await interleaved(bench, bench.rounds, {
      idle: waiting(bench, 0),
      loaded: waiting(bench, bench.sized(10_000)),
    })
    return {
      rows: [
        ...spreadRows('idle', samples.idle, { p50: { atMost: 0.1 }, p99: { atMost: 1 } }),
        ...spreadRows('under load', samples.loaded),
      ],
      notes: [
        'under load: the slots are taken by jobs of a queue of 1/100 the weight, each of which takes one turn of the event',
        'loop; so a slot becomes free at once, and what is left is what the runtime adds',
      ],
    }
  },
}
