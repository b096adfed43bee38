/** Four processes that run the jobs of one queue, beside four of a queue that many use. */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { withServer } from '../harness/redis.ts'
import { interleaved } from '../harness/rounds.ts'
import { contenderRows } from '../rows.ts'
import type { Section } from '../suite.ts'
import type { FleetParams, FleetResult } from './fleet.probe.ts'

const workers = 4
/** Fewer run before a figure has begun. */
const jobsMin = 10_000

export const fleet: Section = {
  name: 'fleet',
  needsPeers: true,
  title: (bench) =>
    `${Math.max(jobsMin, bench.sized(100_000)).toLocaleString('en-US')} no-op jobs over 5 types that wait, ${workers} processes with 100 slots each`,
  run: (bench) =>
    withServer(async (url) => {
      const by = (contender: string, jobs: number) => (): Promise<FleetResult> =>
        inFreshProcess<Measure<FleetParams, FleetResult>>(new URL('fleet.probe.ts', import.meta.url), {
          contender,
          url,
          types: 5,
          slots: 100,
          workers,
          jobs,
        })
      const measurements: Record<string, () => Promise<FleetResult>> = {
        ...(bench.peers && { 'BullMQ, 4 processes': by('bullmq', Math.max(jobsMin, bench.sized(40_000))) }),
        '4 processes': by('jobchart-redis', Math.max(jobsMin, bench.sized(100_000))),
      }
      const samples = await interleaved(bench, bench.rounds, measurements)
      return {
        rows: contenderRows<FleetResult>(
          samples,
          [['4 processes', 'BullMQ, 4 processes', { atLeast: 3 }]],
          [
            ['CPU of the server per job', 'µs', ({ serverCpuMicros }) => serverCpuMicros],
            ['CPU of the processes per job', 'µs', ({ cpuMicrosPerJob }) => cpuMicrosPerJob],
          ],
          ({ serverCpuMicros }) => serverCpuMicros,
        ),
      }
    }),
}
