/** How long every screen of the dashboard waits for its answers from a store with many jobs. */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { median, percentile } from '../harness/stats.ts'
import type { WithStores } from '../harness/stores.ts'
import { single, type Figure, type Section } from '../suite.ts'
import type { ScreensFillParams } from './screens-fill.probe.ts'
import type { ScreensParams, ScreenTimes } from './screens.probe.ts'

const here = (module: string): URL => new URL(module, import.meta.url)
/** So many answers of each path. */
const times = 50

export const screens = (withStores: WithStores): Section => ({
  name: 'screens',
  title: (bench) =>
    `answers to the dashboard's page, ${bench.sized(1_000_000).toLocaleString('en-US')} jobs in the store: p95 of ${times}`,
  run: (bench) =>
    withStores(async (locationOf) => {
      const location = locationOf('screens')
      bench.progress(0, 2, 'jobs of every kind')
      await inFreshProcess<Measure<ScreensFillParams, null>>(here('screens-fill.probe.ts'), {
        location,
        jobs: bench.sized(1_000_000),
      })
      bench.progress(1, 2, 'the screens')
      const answers = await inFreshProcess<Measure<ScreensParams, readonly ScreenTimes[]>>(here('screens.probe.ts'), {
        location,
        times,
      })
      const cpuMs = Math.max(...answers.map((each) => percentile(each.cpuMs, 0.95)))
      return {
        rows: answers.map(({ path: asked, wallMs }) => single(asked, 'ms', p95(asked, wallMs), { atMost: 100 })),
        notes: [
          `the median of the medians is ${median(answers.map(({ wallMs }) => median(wallMs))).toFixed(1)} ms; no answer takes more than ${cpuMs.toFixed(0)} ms of CPU time (p95)`,
          'the answers are those of the handler, without the way through HTTP',
        ],
      }
    }),
})

const p95 = (name: string, samples: readonly number[]): Figure => ({ name, value: percentile(samples, 0.95), samples })
