/** Nothing may grow with the jobs that have been: heap and RSS stay flat. */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { figure } from '../harness/stats.ts'
import { compared, type Bench, type Row, type Section } from '../suite.ts'
import type { GarbageParams, GarbageSample } from './garbage.probe.ts'

type Probe = Measure<GarbageParams, GarbageSample[]>

const steps = 20
/** Flat, but for what the collector does as it likes. */
const flat = { atMost: 1.1 }

const megabytes = (bytes: number): number => bytes / 2 ** 20

const step = (bench: Bench): number => bench.sized(100_000)

export const garbage: Section = {
  name: 'garbage',
  title: (bench) => `after ${(step(bench) * steps).toLocaleString('en-US')} jobs, 10,000 of them kept`,
  async run(bench) {
    bench.progress(0, 1, 'heap and RSS')
    const samples = await inFreshProcess<Probe>(new URL('garbage.probe.ts', import.meta.url), {
      step: step(bench),
      steps,
    })
    const [first] = samples
    const last = samples.at(-1)
    const after = (sample: GarbageSample | undefined, value: (sample: GarbageSample) => number) =>
      figure(`after ${sample?.jobs.toLocaleString('en-US')}`, sample === undefined ? [] : [megabytes(value(sample))])
    const row = (name: string, value: (sample: GarbageSample) => number): Row =>
      compared(name, 'MB', after(first, value), after(last, value), flat)
    const series = (value: (sample: GarbageSample) => number): string =>
      samples.map((sample) => megabytes(value(sample)).toFixed(1)).join(' ')
    return {
      rows: [row('heap', ({ heapBytes }) => heapBytes), row('RSS', ({ rssBytes }) => rssBytes)],
      notes: [
        `every ${step(bench).toLocaleString('en-US')} jobs, MB on the heap: ${series(({ heapBytes }) => heapBytes)}`,
        `every ${step(bench).toLocaleString('en-US')} jobs, MB of RSS: ${series(({ rssBytes }) => rssBytes)}`,
      ],
    }
  },
}
