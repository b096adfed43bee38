/** The cost of a cancel among very many waiting jobs. */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import { single, type Section } from '../suite.ts'
import type { CancellingParams, CancellingResult } from './cancelling.probe.ts'

type Probe = Measure<CancellingParams, CancellingResult>

export const cancelling: Section = {
  name: 'cancel',
  title: (bench) => `with ${bench.sized(1_000_000).toLocaleString('en-US')} jobs waiting`,
  async run(bench) {
    const params = { waiting: bench.sized(1_000_000), matching: bench.sized(100_000), singles: bench.sized(1_000) }
    const { cancel } = await interleaved(bench, Math.min(bench.rounds, 3), {
      cancel: () => inFreshProcess<Probe>(new URL('cancelling.probe.ts', import.meta.url), params),
    })
    const of = (name: string, value: (result: CancellingResult) => number) => figure(name, cancel.map(value))
    const matching = `a filter that matches ${params.matching.toLocaleString('en-US')}`
    return {
      rows: [
        single(
          'one by id, p50',
          'ms',
          of('p50', ({ singleP50Ms }) => singleP50Ms),
        ),
        single(
          'one by id, p99',
          'ms',
          of('p99', ({ singleP99Ms }) => singleP99Ms),
        ),
        single(
          'one by id, max',
          'ms',
          of('max', ({ singleMaxMs }) => singleMaxMs),
        ),
        single(
          `${matching}, in all`,
          'ms',
          of('total', ({ filterMs }) => filterMs),
        ),
        single(
          `${matching}, per job`,
          'µs',
          of('per job', ({ filterMs }) => (filterMs * 1_000) / params.matching),
        ),
        single(
          `${matching}, longest stall`,
          'ms',
          of('stall', ({ stallMs }) => stallMs),
        ),
      ],
    }
  },
}
