/** Statecharts as jobs: how fast, and how many can wait. */
import { join } from 'node:path'
import { withFolder } from '../harness/disk.ts'
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import { warmUpNote } from '../harness/warm-up.ts'
import { spreadRows } from '../rows.ts'
import { compared, single, type Row, type Section } from '../suite.ts'
import type { ParkedParams, ParkedResult } from './parked.probe.ts'
import type { MachinesParams, MachinesResult } from './throughput.probe.ts'

const here = (module: string): URL => new URL(module, import.meta.url)
const machines = (params: MachinesParams) => (): Promise<MachinesResult> =>
  inFreshProcess<Measure<MachinesParams, MachinesResult>>(here('throughput.probe.ts'), params)

/** Five-state machines as jobs beside live XState actors, which are not stored. @param inFiles or in memory */
export const machineThroughput = (inFiles: boolean): Section => ({
  name: 'machines',
  title: (bench) =>
    `${bench.sized(20_000).toLocaleString('en-US')} machines of five states, an actor that resolves at once in four of them`,
  run: (bench) =>
    withFolder(async (folder) => {
      const count = bench.sized(20_000)
      const place = inFiles ? { folder } : {}
      const samples = await interleaved(bench, Math.min(bench.rounds, 3), {
        actors: machines({ as: 'actors', slots: 100, jobs: count }),
        '100 slots': machines({ as: 'jobs', slots: 100, jobs: count, ...place }),
        '10 slots': machines({ as: 'jobs', slots: 10, jobs: count, ...place }),
      })
      const speed = (name: keyof typeof samples) =>
        figure(
          name,
          samples[name].map(({ perSecond }) => perSecond),
        )
      const cpu = (name: keyof typeof samples) =>
        figure(
          name,
          samples[name].map(({ cpuMicrosPerJob }) => cpuMicrosPerJob),
        ).value
      const goal = { atLeast: inFiles ? 0.3 : 0.5 }
      const beside = (name: '100 slots' | '10 slots'): Row =>
        compared(name, 'jobs/s', speed('actors'), speed(name), goal, { base: cpu('actors'), ours: cpu(name) })
      return {
        rows: [beside('100 slots'), beside('10 slots')],
        notes: ['the base is live XState actors, 100 at once: they are not stored', warmUpNote(samples)],
      }
    }),
})

/** Machines that wait for a time. @param inFiles or in memory */
export const parked = (inFiles: boolean): Section => ({
  name: 'parked',
  title: (bench) =>
    `${bench.sized(100_000).toLocaleString('en-US')} machines that wait for a timer, ${bench.sized(2_000).toLocaleString('en-US')} of them due within 10 s`,
  run: (bench) =>
    withFolder(async (folder) => {
      let files = 0
      const { results } = await interleaved(bench, Math.min(bench.rounds, 3), {
        results: () =>
          inFreshProcess<Measure<ParkedParams, ParkedResult>>(here('parked.probe.ts'), {
            parked: bench.sized(100_000),
            waking: bench.sized(2_000),
            overMs: 10_000,
            ...(inFiles && { file: join(folder, `${++files}.db`) }),
          }),
      })
      return {
        rows: [
          ...spreadRows(
            'after the deadline',
            results.map(({ late }) => late),
            { p99: { atMost: 50 } },
          ),
          single(
            'heap per parked machine',
            'B',
            figure(
              'heap',
              results.map(({ heapBytesPerJob }) => heapBytesPerJob),
            ),
          ),
          single(
            'parked',
            'jobs/s',
            figure(
              'parked',
              results.map(({ parkedPerSecond }) => parkedPerSecond),
            ),
          ),
        ],
      }
    }),
})
