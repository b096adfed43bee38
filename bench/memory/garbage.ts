/** Nothing may grow with the number of jobs that have ended: heap and RSS stay flat. */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { figure } from '../harness/stats.ts'
import { compared, single, type Bench, type Figure, type Row, type Section } from '../suite.ts'
import type { GarbageParams, GarbageSample } from './garbage.probe.ts'

type Probe = Measure<GarbageParams, GarbageSample[]>

const looks = [100_000, 200_000, 1_000_000, 2_000_000] as const
/**
 * The sample that the later ones are compared with. At the first one, the collector's young generation has not grown to
 * its size yet.
 */
const settled = 1
/** The garbage collector decides the rest. */
const flat = { atMost: 1.1 }

const megabytes = (bytes: number): number => bytes / 2 ** 20
const sizedLooks = (bench: Bench): number[] => looks.map((jobs) => bench.sized(jobs))

export const garbage: Section = {
  name: 'garbage',
  title: (bench) => `after up to ${Math.max(...sizedLooks(bench)).toLocaleString('en-US')} jobs, 10,000 of them kept`,
  async run(bench) {
    bench.progress(0, 1, 'heap and RSS')
    const samples = await inFreshProcess<Probe>(new URL('garbage.probe.ts', import.meta.url), {
      looks: sizedLooks(bench),
    })
    const rows = (name: string, value: (sample: GarbageSample) => number): Row[] => {
      const figures = samples.map((sample): Figure =>
        figure(`after ${sample.jobs.toLocaleString('en-US')}`, [megabytes(value(sample))]),
      )
      const base = figures[settled]
      return figures.map((each, i) =>
        base === undefined || i <= settled
          ? single(`${name}, ${each.name}`, 'MB', each)
          : compared(`${name}, ${each.name}`, 'MB', base, each, flat),
      )
    }
    return { rows: [...rows('heap', ({ heapBytes }) => heapBytes), ...rows('RSS', ({ rssBytes }) => rssBytes)] }
  },
}
