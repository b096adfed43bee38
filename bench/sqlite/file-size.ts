/** What a job takes in the file while it waits, and when it has ended and is kept. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { removeDatabase, withFolder } from '../harness/disk.ts'
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import { single, type Section } from '../suite.ts'
import type { FillParams } from './fill.probe.ts'

export const fileSize: Section = {
  name: 'file-size',
  title: (bench) => `bytes of the closed file per job, ${bench.sized(100_000).toLocaleString('en-US')} of them`,
  run: (bench) =>
    withFolder(async (folder) => {
      const jobs = bench.sized(100_000)
      const size = (filling: Omit<FillParams, 'path'>) => async (): Promise<number> => {
        const path = join(folder, 'jobs.db')
        await inFreshProcess<Measure<FillParams, null>>(new URL('fill.probe.ts', import.meta.url), { path, ...filling })
        const { size } = await stat(path)
        await removeDatabase(path)
        return size
      }
      // The same work makes the same file: once is enough.
      const sizes = await interleaved(bench, 1, {
        empty: size({ finished: 0, waiting: 0 }),
        waiting: size({ finished: 0, waiting: jobs }),
        finished: size({ finished: jobs, waiting: 0 }),
      })
      const [empty = Number.NaN] = sizes.empty
      const perJob = (name: string, all: readonly number[]) =>
        single(
          name,
          'B',
          figure(
            name,
            all.map((bytes) => (bytes - empty) / jobs),
          ),
        )
      return {
        rows: [
          single('empty file', 'B', figure('empty', sizes.empty)),
          perJob('waiting job', sizes.waiting),
          perJob('finished job', sizes.finished),
        ],
        notes: ['with its part of the indexes and of the transition log, which is capped'],
      }
    }),
}
