/** One machine with many child jobs. */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import type { StoreLocation, WithStores } from '../harness/stores.ts'
import type { Timed } from '../harness/timed.ts'
import { single, type Goal, type Section } from '../suite.ts'
import type { ChildrenParams } from './children.probe.ts'

const slots = 100

/** @param withStores null: in memory. @param goal for the time of a child job, ms */
export const children = (withStores: WithStores | null, goal: Goal | null): Section => ({
  name: 'children',
  title: (bench) => `a machine with ${bench.sized(10_000).toLocaleString('en-US')} child jobs, in ${slots} slots`,
  run: (bench) => {
    let runs = 0
    const measured = async (location: () => StoreLocation | null) => {
      const params = (): ChildrenParams => ({ children: bench.sized(10_000), slots, location: location() })
      const { results } = await interleaved(bench, Math.min(bench.rounds, 3), {
        results: () =>
          inFreshProcess<Measure<ChildrenParams, Timed>>(new URL('children.probe.ts', import.meta.url), params()),
      })
      const msEach = results.map(({ perSecond }) => 1_000 / perSecond)
      const cpu = results.map(({ cpuMicrosPerJob }) => cpuMicrosPerJob)
      return {
        rows: [
          single('a child job', 'ms', figure('a child job', msEach), goal),
          single('CPU per child job', 'µs', figure('cpu', cpu)),
        ],
      }
    }
    if (withStores === null) return measured(() => null)
    return withStores((locationOf) => measured(() => locationOf(`children${++runs}`)))
  },
})
