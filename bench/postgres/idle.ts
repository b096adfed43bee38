/** What a runtime costs that has nothing to do: of its process, and in queries to the server. */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { withPostgres } from '../harness/postgres.ts'
import type { Idle } from '../harness/idle.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import { single, type Bench, type Section } from '../suite.ts'
import type { IdleParams } from './idle.probe.ts'

/** Not sized: the rarest queries come every ten seconds. But a run that only shows that it works need not wait. */
const idleMs = ({ scale }: Bench): number => (scale < 1 ? 500 : 30_000)

export const idle: Section = {
  name: 'idle',
  title: (bench) => `a started runtime that has had jobs and has none now, over ${idleMs(bench) / 1_000} s`,
  run: (bench) =>
    withPostgres(async (url) => {
      const { idle: results } = await interleaved(bench, Math.min(bench.rounds, 3), {
        idle: () =>
          inFreshProcess<Measure<IdleParams, Idle>>(new URL('idle.probe.ts', import.meta.url), {
            url,
            forMs: idleMs(bench),
          }),
      })
      const of = (name: string, value: (result: Idle) => number) => figure(name, results.map(value))
      return {
        rows: [
          single(
            'of one core',
            '%',
            of('cpu', ({ cpuPercent }) => cpuPercent),
            { atMost: 1 },
          ),
          single(
            'queries',
            '/s',
            of('queries', ({ countedPerSecond }) => countedPerSecond),
            { atMost: 2 },
          ),
        ],
      }
    }),
}
