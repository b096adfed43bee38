/** Many machines that are due at once, on a file and on a server. */
import { join } from 'node:path'
import { withFolder } from '../harness/disk.ts'
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { withServer } from '../harness/redis.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import type { StoreLocation } from '../harness/stores.ts'
import { spreadRows } from '../rows.ts'
import { single, type Bench, type Outcome, type Section } from '../suite.ts'
import type { HerdParams, HerdResult } from './herd.probe.ts'

/** Goal: 10,000 a second, so that none is later than the herd is long. */
const goal = { atLeast: 10_000 }

async function measured(bench: Bench, location: () => StoreLocation): Promise<Outcome> {
  const { results } = await interleaved(bench, Math.min(bench.rounds, 3), {
    results: () =>
      inFreshProcess<Measure<HerdParams, HerdResult>>(new URL('herd.probe.ts', import.meta.url), {
        machines: bench.sized(100_000),
        overMs: 10_000,
        slots: 100,
        location: location(),
      }),
  })
  const values = (of: (result: HerdResult) => number, name: string) => figure(name, results.map(of))
  return {
    rows: [
      single(
        'woken',
        'jobs/s',
        values(({ wokenPerSecond }) => wokenPerSecond, 'woken'),
        goal,
      ),
      ...spreadRows(
        'after the deadline',
        results.map(({ late }) => late),
      ),
      single(
        'CPU per machine',
        'µs',
        values(({ cpuMicrosPerJob }) => cpuMicrosPerJob, 'cpu'),
      ),
    ],
  }
}

/** @param inFile or on a server. It takes minutes, in which the machines are parked. */
export const herd = (inFile: boolean): Section => ({
  name: 'herd',
  title: (bench) => `${bench.sized(100_000).toLocaleString('en-US')} parked machines, all due within 10 s`,
  onRequest: true,
  run: (bench) => {
    let runs = 0
    if (inFile) return withFolder((folder) => measured(bench, () => ({ path: join(folder, `${++runs}.db`) })))
    return withServer((url) => measured(bench, () => ({ url, prefix: `herd-${++runs}` })))
  },
})
