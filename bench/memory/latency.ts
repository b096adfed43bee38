/** How long a job waits for its handler when a slot is free, and when others keep the slots busy. */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import { single, type Bench, type Goal, type Row, type Section } from '../suite.ts'
import type { LatencyParams, LatencyResult } from './latency.probe.ts'

type Probe = Measure<LatencyParams, LatencyResult>

const waiting = (bench: Bench, backlog: number) => (): Promise<LatencyResult> =>
  inFreshProcess<Probe>(new URL('latency.probe.ts', import.meta.url), { samples: bench.sized(5_000), backlog })

function rows(name: string, results: readonly LatencyResult[], p50: Goal | null, p99: Goal | null): Row[] {
  const of = (value: (result: LatencyResult) => number) => figure(name, results.map(value))
  return [
    single(
      `${name}, p50`,
      'ms',
      of(({ p50Ms }) => p50Ms),
      p50,
    ),
    single(
      `${name}, p99`,
      'ms',
      of(({ p99Ms }) => p99Ms),
      p99,
    ),
    single(
      `${name}, max`,
      'ms',
      of(({ maxMs }) => maxMs),
    ),
  ]
}

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
        ...rows('idle', samples.idle, { atMost: 0.1 }, { atMost: 1 }),
        ...rows('under load', samples.loaded, null, null),
      ],
      notes: [
        'under load: the slots are taken by jobs of a queue of 1/100 the weight, each of which takes one turn of the event',
        'loop; so a slot becomes free at once, and what is left is what the runtime adds',
      ],
    }
  },
}
