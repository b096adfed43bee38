/**
 * What becomes of our throughput beside a transaction that stays open: no row that was removed or written anew since
 * can be cleaned away.
 */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { withPostgres } from '../harness/postgres.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import { compared, single, type Goal, type Row, type Section } from '../suite.ts'
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
      const measured = (pinned: boolean) => () =>
        inFreshProcess<Measure<PinnedParams, PinnedResult>>(new URL('pinned.probe.ts', import.meta.url), {
          url,
          parts,
          jobsPerPart,
          pinned,
        })
      // What slows down without a transaction, too, is not for it: from a minute on old jobs are removed.
      const results = await interleaved(bench, 1, { beside: measured(true), without: measured(false) })
      const rowsOf = (perSecond: PinnedResult, where: string, goal: Goal | null = null): Row[] => {
        const first = figure(`the first minute ${where}`, [ofFirstMinute(perSecond, jobsPerPart)])
        const last = figure(`the last minute ${where}`, [ofFirstMinute(perSecond.toReversed(), jobsPerPart)])
        return [
          single(`the first minute ${where}`, 'jobs/s', first),
          compared(`the last minute ${where}`, 'jobs/s', first, last, goal),
        ]
      }
      const noted = (perSecond: PinnedResult, where: string): string =>
        `part by part, ${where}: ${perSecond.map((each) => Math.round(each).toLocaleString('en-US')).join(', ')}`
      const [beside, without] = [results.beside[0] ?? [], results.without[0] ?? []]
      return {
        rows: [...rowsOf(beside, 'beside it', { atLeast: 0.7 }), ...rowsOf(without, 'without it')],
        notes: [noted(beside, 'beside it'), noted(without, 'without it')],
      }
    }),
}
