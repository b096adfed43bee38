/** What a job takes on the heap while it waits, while it runs, and when it has ended and is kept. */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import { single, type Section } from '../suite.ts'
import type { FootprintParams } from './footprint.probe.ts'

type Probe = Measure<FootprintParams, number>

const probe = (params: FootprintParams) => (): Promise<number> =>
  inFreshProcess<Probe>(new URL('footprint.probe.ts', import.meta.url), params)

export const footprint: Section = {
  name: 'memory',
  title: (bench) =>
    `heap per job, with ${bench.sized(1_000_000).toLocaleString('en-US')} waiting, 10,000 running or kept`,
  async run(bench) {
    const waiting = bench.sized(1_000_000)
    const few = bench.sized(10_000)
    // The heap of a fresh process is the same every time, give or take a byte per job.
    const samples = await interleaved(bench, Math.min(bench.rounds, 3), {
      input: probe({ state: 'input', jobs: waiting }),
      waiting: probe({ state: 'waiting', jobs: waiting }),
      running: probe({ state: 'running', jobs: few }),
      finished: probe({ state: 'finished', jobs: few }),
    })
    const input = figure('input', samples.input)
    const beyond = (name: string, all: readonly number[]) =>
      figure(
        name,
        all.map((bytes) => bytes - input.value),
      )
    return {
      rows: [
        single('its input alone, { i }', 'B', input),
        single('waiting, beyond its input', 'B', beyond('waiting', samples.waiting), { atMost: 500 }),
        single('running, beyond its input', 'B', beyond('running', samples.running)),
        single('finished and kept, beyond its input', 'B', beyond('finished', samples.finished)),
      ],
    }
  },
}
