/** Enqueueing and processing in a database, beside queues that many use. */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { withPostgres } from '../harness/postgres.ts'
import { interleaved } from '../harness/rounds.ts'
import { warmUpNote } from '../harness/warm-up.ts'
import { featureComparisons, featureVariants } from '../features.ts'
import { contenderRows, type Comparison } from '../rows.ts'
import { waitingComparisons, waitingTitle, waitingVariants } from '../waiting.ts'
import type { Bench, Outcome, Section } from '../suite.ts'
import type { WorkParams, WorkResult } from './work.probe.ts'

/** Without the place and the half that is measured. */
type Variant = Omit<WorkParams, 'url' | 'timed' | 'types'>

const graphile = 'graphile-worker'
const boss = 'pg-boss'
const us = 'jobchart-postgres'
const types = 5
const hundreds = { by: 'batch', size: 100 } as const
const atOnce = { by: 'at once', size: 100 } as const
const singles = { by: 'one', size: 1 } as const

async function measured(
  bench: Bench,
  timed: WorkParams['timed'],
  variants: Readonly<Record<string, Variant>>,
  comparisons: readonly Comparison[],
): Promise<Outcome> {
  const chosen = Object.entries(variants).filter(([, { contender }]) => bench.peers || contender === us)
  const probe = new URL('work.probe.ts', import.meta.url)
  const samples = await withPostgres((url) => {
    const measurement = ([name, variant]: (typeof chosen)[number]): [string, () => Promise<WorkResult>] => [
      name,
      () => inFreshProcess<Measure<WorkParams, WorkResult>>(probe, { ...variant, url, timed, types }),
    ]
    return interleaved(bench, bench.rounds, Object.fromEntries(chosen.map(measurement)))
  })
  return {
    rows: contenderRows(samples, comparisons, [
      ['commits per job', 'commits', ({ perJob }) => perJob.commits],
      ['bytes of WAL per job', 'B', ({ perJob }) => perJob.walBytes],
      ['CPU of the process per job', 'µs', ({ cpuMicrosPerJob }) => cpuMicrosPerJob],
    ]),
    notes: [warmUpNote(samples)],
  }
}

export const enqueue: Section = {
  name: 'enqueue',
  needsPeers: true,
  title: (bench) => `up to ${bench.sized(20_000).toLocaleString('en-US')} jobs over 5 types, nothing runs meanwhile`,
  run(bench) {
    const many = { jobs: bench.sized(20_000), slots: 100 }
    const few = { jobs: bench.sized(2_000), slots: 100 }
    return measured(
      bench,
      'enqueue',
      {
        'graphile-worker addJobs(100)': { contender: graphile, mode: hundreds, ...many },
        'pg-boss insert(100)': { contender: boss, mode: hundreds, ...many },
        'enqueueMany(100)': { contender: us, mode: hundreds, ...many },
        '100 graphile-worker addJob at once': { contender: graphile, mode: atOnce, ...few },
        '100 pg-boss send at once': { contender: boss, mode: atOnce, ...few },
        '100 enqueues at once': { contender: us, mode: atOnce, ...many },
        'graphile-worker addJob, one by one': { contender: graphile, mode: singles, ...few },
        'enqueue, one by one': { contender: us, mode: singles, ...few },
      },
      [
        ['enqueueMany(100)', 'pg-boss insert(100)', { atLeast: 1.5 }],
        ['enqueueMany(100)', 'graphile-worker addJobs(100)', { atLeast: 1.5 }],
        ['100 enqueues at once', '100 graphile-worker addJob at once', { atLeast: 2 }],
        ['100 enqueues at once', '100 pg-boss send at once', { atLeast: 2 }],
        ['enqueue, one by one', 'graphile-worker addJob, one by one', { atLeast: 1 }],
      ],
    )
  },
}

export const processing: Section = {
  name: 'process',
  needsPeers: true,
  title: (bench) => `${bench.sized(50_000).toLocaleString('en-US')} no-op jobs over 5 types that wait`,
  run(bench) {
    const work = { mode: hundreds, slots: 100, jobs: bench.sized(50_000) }
    return measured(
      bench,
      'process',
      {
        'graphile-worker, 100 slots': { contender: graphile, ...work },
        'pg-boss, by 100': { contender: boss, ...work },
        '100 slots': { contender: us, ...work },
      },
      [
        ['100 slots', 'graphile-worker, 100 slots', { atLeast: 1 }],
        ['100 slots', 'pg-boss, by 100', { atLeast: 3 }],
      ],
    )
  },
}

export const features: Section = {
  name: 'features',
  title: (bench) => `${bench.sized(20_000).toLocaleString('en-US')} no-op jobs that are not plain, beside plain ones`,
  run: (bench) => measured(bench, 'process', featureVariants(us, bench.sized(20_000)), featureComparisons),
}

const peers = { [graphile]: 'graphile-worker', [boss]: 'pg-boss' }

export const waiting: Section = {
  name: 'waiting',
  needsPeers: true,
  title: waitingTitle,
  run: (bench) => measured(bench, 'process', waitingVariants(us, peers, bench), waitingComparisons(peers)),
}
