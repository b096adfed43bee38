/** What becomes of our throughput when more and more jobs wait. */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import type { WithStores } from '../harness/stores.ts'
import { compared, single, type Section } from '../suite.ts'
import type { BacklogParams } from './growth-backlog.probe.ts'

const probe = new URL('growth-backlog.probe.ts', import.meta.url)
const named = (count: number): string => `${count.toLocaleString('en-US')} waiting`

export const growthBacklog = (withStores: WithStores): Section => ({
  name: 'growth-backlog',
  title: (bench) =>
    `${bench.sized(100_000).toLocaleString('en-US')} jobs enqueued and processed in 100 slots beside a constant backlog`,
  run: (bench) =>
    withStores(async (locationOf) => {
      const beside = async (name: string, backlog: number): Promise<() => Promise<number>> => {
        const location = locationOf(name)
        const measured = (jobs: number): Promise<number> =>
          inFreshProcess<Measure<BacklogParams, number>>(probe, { location, backlog, jobs })
        bench.progress(0, 1, named(backlog))
        await measured(0)
        return () => measured(bench.sized(100_000))
      }
      const [few, many] = [bench.sized(10_000), bench.sized(1_000_000)]
      const samples = await interleaved(bench, bench.rounds, {
        few: await beside('few', few),
        many: await beside('many', many),
      })
      const base = figure(named(few), samples.few)
      return {
        rows: [
          single(named(few), 'jobs/s', base),
          compared(named(many), 'jobs/s', base, figure(named(many), samples.many), { atLeast: 0.9 }),
        ],
      }
    }),
})
