/** What becomes of our throughput with more types, more subscribers, fewer or more slots. */
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import { compared, single, type Bench, type Goal, type Row, type Section } from '../suite.ts'
import { ours } from './throughput.ts'
import type { ThroughputResult } from './throughput.probe.ts'

/** Jobs per second of each variant, beside the one that is the base. */
async function beside(
  bench: Bench,
  base: string,
  variants: Readonly<Record<string, () => Promise<ThroughputResult>>>,
  goals: Readonly<Record<string, Goal>> = {},
): Promise<Row[]> {
  const samples = await interleaved(bench, bench.rounds, variants)
  const figures = Object.keys(variants).map((name) =>
    figure(
      name,
      (samples[name] ?? []).map(({ perSecond }) => perSecond),
    ),
  )
  const baseFigure = figures.find(({ name }) => name === base) ?? figure(base, [])
  return figures.map((each) =>
    each === baseFigure
      ? single(each.name, 'jobs/s', each)
      : compared(each.name, 'jobs/s', baseFigure, each, goals[each.name] ?? null),
  )
}

export const growthTypes: Section = {
  name: 'growth-types',
  title: () => 'the same jobs over more types',
  run: async (bench) => ({
    rows: await beside(
      bench,
      '5 types',
      {
        '5 types': ours(bench, {}, { types: 5 }),
        '100 types': ours(bench, {}, { types: 100 }),
        '1,000 types': ours(bench, {}, { types: 1_000 }),
      },
      { '1,000 types': { atLeast: 0.8 } },
    ),
  }),
}

export const growthSubscribers: Section = {
  name: 'growth-subscribers',
  title: () => 'the same jobs while others subscribe to the events of other jobs',
  run: async (bench) => ({
    rows: [
      ...(await beside(
        bench,
        'nobody',
        { nobody: ours(bench, {}), '1,000 strangers': ours(bench, { strangers: 1_000 }) },
        { '1,000 strangers': { atLeast: 0.95 } },
      )),
      ...(await beside(
        bench,
        'events$',
        {
          events$: ours(bench, { observed: true }),
          'events$ and 1,000 strangers': ours(bench, { observed: true, strangers: 1_000 }),
        },
        { 'events$ and 1,000 strangers': { atLeast: 0.95 } },
      )),
    ],
  }),
}

export const growthSlots: Section = {
  name: 'growth-slots',
  title: () => 'the same jobs in fewer and more slots',
  run: async (bench) => ({
    rows: await beside(bench, '10 slots', {
      '1 slot': ours(bench, {}, { slots: 1 }),
      '10 slots': ours(bench, {}, { slots: 10 }),
      '1,000 slots': ours(bench, {}, { slots: 1_000 }),
    }),
  }),
}
