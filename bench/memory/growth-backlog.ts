/** What becomes of our throughput when more and more jobs wait. */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import { compared, single, type Bench, type Goal, type Row, type Section } from '../suite.ts'
import type { BacklogParams, BacklogResult } from './growth-backlog.probe.ts'

type Probe = Measure<BacklogParams, BacklogResult>

const backlogs = [10_000, 100_000, 1_000_000] as const
const goal: Goal = { atLeast: 0.9 }

const withBacklog = (bench: Bench, backlog: number) => (): Promise<BacklogResult> =>
  inFreshProcess<Probe>(new URL('growth-backlog.probe.ts', import.meta.url), {
    backlog: bench.sized(backlog),
    jobs: bench.sized(100_000),
  })

export const growthBacklog: Section = {
  name: 'growth-backlog',
  title: (bench) =>
    `${bench.sized(100_000).toLocaleString('en-US')} jobs enqueued and processed beside a constant backlog, then its drain`,
  async run(bench) {
    const names = backlogs.map((backlog) => `${bench.sized(backlog).toLocaleString('en-US')} waiting`)
    const measurements = Object.fromEntries(names.map((name, i) => [name, withBacklog(bench, backlogs[i] ?? 0)]))
    const samples = await interleaved(bench, bench.rounds, measurements)
    const rows = (what: string, value: (result: BacklogResult) => number, last: Goal | null): Row[] => {
      const figures = names.map((name) => figure(name, (samples[name] ?? []).map(value)))
      const [base, ...others] = figures
      if (base === undefined) return []
      const longest = others.at(-1)
      return [
        single(`${what}, ${base.name}`, 'jobs/s', base),
        ...others.map((each) =>
          compared(`${what}, ${each.name}`, 'jobs/s', base, each, each === longest ? last : null),
        ),
      ]
    }
    return {
      rows: [
        ...rows('steady', ({ steadyPerSecond }) => steadyPerSecond, goal),
        ...rows('drain', ({ drainPerSecond }) => drainPerSecond, null),
      ],
    }
  },
}
