/** What becomes of our throughput when more and more jobs wait in the file. */
import { join } from 'node:path'
import { copyDatabase, withFolder } from '../harness/disk.ts'
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import { compared, single, type Section } from '../suite.ts'
import type { FillParams } from './fill.probe.ts'
import type { BacklogParams } from './growth-backlog.probe.ts'

const here = (module: string): URL => new URL(module, import.meta.url)

export const growthBacklog: Section = {
  name: 'growth-backlog',
  title: (bench) =>
    `${bench.sized(100_000).toLocaleString('en-US')} jobs enqueued and processed in 100 slots beside a constant backlog`,
  run: (bench) =>
    withFolder(async (folder) => {
      const jobs = bench.sized(100_000)
      const beside = async (name: string, backlog: number): Promise<() => Promise<number>> => {
        const filled = join(folder, `${backlog}.db`)
        bench.progress(0, 1, `a file with ${name}`)
        await inFreshProcess<Measure<FillParams, null>>(here('fill.probe.ts'), {
          path: filled,
          finished: 0,
          waiting: backlog,
        })
        return async () => {
          const path = join(folder, `${backlog}-copy.db`)
          await copyDatabase(filled, path)
          return inFreshProcess<Measure<BacklogParams, number>>(here('growth-backlog.probe.ts'), {
            folder,
            path,
            backlog,
            jobs,
          })
        }
      }
      const [few, many] = [bench.sized(10_000), bench.sized(1_000_000)]
      const [fewName, manyName] = [few, many].map((count) => `${count.toLocaleString('en-US')} waiting`) as [
        string,
        string,
      ]
      const samples = await interleaved(bench, bench.rounds, {
        few: await beside(fewName, few),
        many: await beside(manyName, many),
      })
      const base = figure(fewName, samples.few)
      return {
        rows: [
          single(fewName, 'jobs/s', base),
          compared(manyName, 'jobs/s', base, figure(manyName, samples.many), { atLeast: 0.9 }),
        ],
      }
    }),
}
