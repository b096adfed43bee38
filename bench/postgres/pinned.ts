/**
 * What becomes of our throughput beside a transaction that stays open: no row that was removed or written anew since
 * can be cleaned away.
 */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { withPostgres } from '../harness/postgres.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import { compared, single, type Section } from '../suite.ts'
import type { PinnedParams, PinnedResult } from './pinned.probe.ts'

/** Of a run the throughput of so many parts is told, one after the other. */
const parts = 20

export const pinned: Section = {
  name: 'pinned',
  title: (bench) =>
    `${bench.sized(2_000_000).toLocaleString('en-US')} jobs enqueued and processed in 100 slots, beside a transaction that is open all the time`,
  onRequest: true,
  run: (bench) =>
    withPostgres(async (url) => {
      const { pinned: results } = await interleaved(bench, 1, {
        pinned: () =>
          inFreshProcess<Measure<PinnedParams, PinnedResult>>(new URL('pinned.probe.ts', import.meta.url), {
            url,
            parts,
            jobsPerPart: bench.sized(2_000_000 / parts),
          }),
      })
      const [perSecond = []] = results
      const first = figure('the first part', perSecond.slice(0, 1))
      return {
        rows: [
          single('the first part', 'jobs/s', first),
          compared('the last part', 'jobs/s', first, figure('the last part', perSecond.slice(-1)), { atLeast: 0.7 }),
        ],
        notes: [`part by part: ${perSecond.map((each) => Math.round(each).toLocaleString('en-US')).join(', ')}`],
      }
    }),
}
