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
const minute = 60

/** Jobs per second of the first parts, which take a minute, or a third of the time if that is less. */
function ofFirstMinute(perSecond: readonly number[], jobsPerPart: number): number {
  const seconds = perSecond.map((each) => jobsPerPart / each)
  const all = seconds.reduce((sum, each) => sum + each, 0)
  let [jobs, took] = [0, 0]
  for (const each of seconds) {
    if (took >= Math.min(minute, all / 3)) break
    jobs += jobsPerPart
    took += each
  }
  return jobs / took
}

export const pinned: Section = {
  name: 'pinned',
  title: (bench) =>
    `${bench.sized(2_000_000).toLocaleString('en-US')} jobs enqueued and processed in 100 slots, beside a transaction that is open all the time`,
  onRequest: true,
  run: (bench) =>
    withPostgres(async (url) => {
      const jobsPerPart = bench.sized(2_000_000 / parts)
      const { pinned: results } = await interleaved(bench, 1, {
        pinned: () =>
          inFreshProcess<Measure<PinnedParams, PinnedResult>>(new URL('pinned.probe.ts', import.meta.url), {
            url,
            parts,
            jobsPerPart,
          }),
      })
      const [perSecond = []] = results
      const first = figure('the first minute', [ofFirstMinute(perSecond, jobsPerPart)])
      const last = figure('the last minute', [ofFirstMinute(perSecond.toReversed(), jobsPerPart)])
      return {
        rows: [
          single('the first minute', 'jobs/s', first),
          compared('the last minute', 'jobs/s', first, last, { atLeast: 0.7 }),
        ],
        notes: [`part by part: ${perSecond.map((each) => Math.round(each).toLocaleString('en-US')).join(', ')}`],
      }
    }),
}
