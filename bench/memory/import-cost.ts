/** What importing us costs a process that needs XState and RxJS anyway: our built files, as a user gets them. */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { buildIfStale, builtEntry } from '../harness/build.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure, median } from '../harness/stats.ts'
import { single, type Section } from '../suite.ts'
import type { ImportParams } from './import-cost.probe.ts'

type Probe = Measure<ImportParams, number>

const importing = (modules: readonly string[]) => (): Promise<number> =>
  // No flags: a user's process has none.
  inFreshProcess<Probe>(new URL('import-cost.probe.ts', import.meta.url), { modules }, [])

export const importCost: Section = {
  name: 'import',
  title: () => 'import of the built main entry, beside xstate and rxjs alone',
  async run(bench) {
    buildIfStale()
    const peers = ['xstate', 'rxjs']
    const samples = await interleaved(bench, bench.rounds * 3, {
      'xstate and rxjs': importing(peers),
      jobchart: importing([builtEntry.href]),
    })
    const base = samples['xstate and rxjs']
    const difference = median(samples.jobchart) - median(base)
    return {
      rows: [
        single('xstate and rxjs alone', 'ms', figure('alone', base)),
        single('jobchart with both', 'ms', figure('jobchart', samples.jobchart)),
        single('difference', 'ms', figure('difference', [difference]), { atMost: 60 }),
      ],
    }
  },
}
