/** How soon work goes on when a process starts on a file with many ended jobs. */
import { join } from 'node:path'
import { copyDatabase, removeDatabase, withFolder } from '../harness/disk.ts'
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import { wallMs } from '../harness/wall.ts'
import { single, type Section } from '../suite.ts'
import type { FillParams } from './fill.probe.ts'
import type { RestartParams } from './restart.probe.ts'

const here = (module: string): URL => new URL(module, import.meta.url)

export const restart: Section = {
  name: 'restart',
  title: (bench) =>
    `from the start of a process to its first handler, ${bench.sized(1_000_000).toLocaleString('en-US')} finished jobs and ${bench.sized(1_000).toLocaleString('en-US')} others in the file`,
  run: (bench) =>
    withFolder(async (folder) => {
      const filled = join(folder, 'filled.db')
      const unfinished = bench.sized(1_000)
      bench.progress(0, 1, 'a file with finished jobs')
      await inFreshProcess<Measure<FillParams, null>>(here('fill.probe.ts'), {
        path: filled,
        finished: bench.sized(1_000_000),
        waiting: unfinished,
      })
      const path = join(folder, 'copy.db')
      const { restarts } = await interleaved(bench, bench.rounds, {
        restarts: async () => {
          await copyDatabase(filled, path)
          const startedAt = wallMs()
          const firstAt = await inFreshProcess<Measure<RestartParams, number>>(here('restart.probe.ts'), {
            path,
            unfinished,
          })
          await removeDatabase(path)
          return firstAt - startedAt
        },
      })
      return {
        rows: [single('to the first handler', 'ms', figure('restart', restarts), { atMost: 2_000 })],
        notes: ['the file is in the page cache: it was copied just before'],
      }
    }),
}
