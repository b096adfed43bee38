/** What a runtime costs that has nothing to do. */
import { join } from 'node:path'
import { withFolder } from '../harness/disk.ts'
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import { single, type Bench, type Section } from '../suite.ts'
import type { IdleParams } from './idle.probe.ts'

/** Not sized: shorter, it would be mostly chance. But a run that only shows that it works need not wait. */
const idleMs = ({ scale }: Bench): number => (scale < 1 ? 500 : 5_000)

export const idle: Section = {
  name: 'idle',
  title: (bench) => `CPU of a started runtime that has had jobs and has none now, over ${idleMs(bench) / 1_000} s`,
  run: (bench) =>
    withFolder(async (folder) => {
      let files = 0
      const { share } = await interleaved(bench, Math.min(bench.rounds, 3), {
        share: () =>
          inFreshProcess<Measure<IdleParams, number>>(new URL('idle.probe.ts', import.meta.url), {
            path: join(folder, `${++files}.db`),
            forMs: idleMs(bench),
          }),
      })
      return { rows: [single('of one core', '%', figure('idle', share))] }
    }),
}
