/** What open dashboards cost the workers. */
import { join } from 'node:path'
import { withFolder } from '../harness/disk.ts'
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import type { Timed } from '../harness/timed.ts'
import { compared, type Section } from '../suite.ts'
import type { DashboardsParams } from './work.probe.ts'

const readers = 200

/**
 * @param inFile in a file, with the dashboard in another process; otherwise in memory, with the dashboard in the
 * worker's process
 */
export const dashboards = (inFile: boolean): Section => ({
  name: 'dashboards',
  title: (bench) =>
    `${jobsOf(inFile, bench).toLocaleString('en-US')} jobs beside ${readers} open dashboards, served by ${inFile ? 'another' : 'the same'} process`,
  run: (bench) =>
    withFolder(async (folder) => {
      let files = 0
      const beside = (count: number) => (): Promise<Timed> =>
        inFreshProcess<Measure<DashboardsParams, Timed>>(new URL('work.probe.ts', import.meta.url), {
          readers: count,
          jobs: jobsOf(inFile, bench),
          ...(inFile && { path: join(folder, `${++files}.db`) }),
        })
      const samples = await interleaved(bench, bench.rounds, { none: beside(0), open: beside(readers) })
      const of = (name: string, results: readonly Timed[], key: keyof Timed) =>
        figure(
          name,
          results.map((result) => result[key]),
        )
      const [none, open] = ['no dashboard', `${readers} dashboards`]
      return {
        rows: [
          compared(
            `beside ${readers} dashboards`,
            'jobs/s',
            of(none, samples.none, 'perSecond'),
            of(open, samples.open, 'perSecond'),
            { atLeast: inFile ? 0.95 : 0.97 },
          ),
          compared(
            "CPU per job of the worker's process",
            'µs',
            of(none, samples.none, 'cpuMicrosPerJob'),
            of(open, samples.open, 'cpuMicrosPerJob'),
            { atMost: 1.05 },
          ),
        ],
        notes: ['the readers are a process of their own on this machine: where its cores are few, trust the CPU time'],
      }
    }),
})

const jobsOf = (inFile: boolean, bench: { sized(count: number): number }): number =>
  bench.sized(inFile ? 100_000 : 1_000_000)
