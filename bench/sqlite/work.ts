/** Enqueueing and processing in a file, beside plain SQL and beside a queue that many use. */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { withFolder } from '../harness/disk.ts'
import { interleaved } from '../harness/rounds.ts'
import { warmUpNote } from '../harness/warm-up.ts'
import { featureComparisons, featureVariants } from '../features.ts'
import { contenderRows, type Comparison } from '../rows.ts'
import { waitingComparisons, waitingTitle, waitingVariants } from '../waiting.ts'
import type { Bench, Outcome, Section } from '../suite.ts'
import type { WorkParams, WorkResult } from './work.probe.ts'

type Probe = Measure<WorkParams, WorkResult>
/** Without the place and the half that is measured. */
type Variant = Omit<WorkParams, 'folder' | 'timed' | 'types'>

const floor = 'sqlite-floor'
const plain = 'sqlite-plain'
const us = 'jobchart-sqlite'
const keeping = 'jobchart-sqlite-keeping'
const types = 5
const hundreds = { by: 'batch', size: 100 } as const
const singles = { by: 'one', size: 1 } as const

async function measured(
  bench: Bench,
  timed: WorkParams['timed'],
  variants: Readonly<Record<string, Variant>>,
  comparisons: readonly Comparison[],
): Promise<Outcome> {
  const chosen = Object.entries(variants).filter(([, { contender }]) => bench.peers || contender !== 'plainjob')
  const samples = await withFolder((folder) => {
    const measurement = ([name, variant]: (typeof chosen)[number]) => [
      name,
      () => inFreshProcess<Probe>(new URL('work.probe.ts', import.meta.url), { ...variant, folder, timed, types }),
    ]
    return interleaved(
      bench,
      bench.rounds,
      Object.fromEntries(chosen.map(measurement)) as Record<string, () => Promise<WorkResult>>,
    )
  })
  return {
    rows: contenderRows(samples, comparisons, [
      ['commits per job', 'commits', ({ perJob }) => perJob.commits],
      ['CPU per job', 'µs', ({ cpuMicrosPerJob }) => cpuMicrosPerJob],
    ]),
    notes: [warmUpNote(samples)],
  }
}

export const enqueue: Section = {
  name: 'enqueue',
  needsPeers: true,
  title: (bench) => `up to ${bench.sized(100_000).toLocaleString('en-US')} jobs over 5 types, nothing runs meanwhile`,
  run(bench) {
    const many = { jobs: bench.sized(100_000), slots: 100 }
    const few = { jobs: bench.sized(10_000), slots: 100 }
    const some = { jobs: bench.sized(20_000), slots: 100 }
    return measured(
      bench,
      'enqueue',
      {
        'floor, by 100': { contender: floor, mode: hundreds, ...many },
        'floor, by 1': { contender: floor, mode: singles, ...few },
        'plainjob.addMany(100)': { contender: 'plainjob', mode: hundreds, ...some },
        'plainjob.add': { contender: 'plainjob', mode: singles, ...some },
        'enqueueMany(100)': { contender: us, mode: hundreds, ...many },
        '100 enqueues at once': { contender: us, mode: { by: 'at once', size: 100 }, ...many },
        'enqueue, one by one': { contender: us, mode: singles, ...few },
      },
      [
        ['enqueueMany(100)', 'floor, by 100', { atLeast: 0.45 }],
        ['enqueueMany(100)', 'plainjob.addMany(100)', null],
        ['100 enqueues at once', 'floor, by 1', { atLeast: 10 }],
        ['100 enqueues at once', 'plainjob.add', null],
        ['enqueue, one by one', 'floor, by 1', null],
        ['enqueue, one by one', 'plainjob.add', null],
      ],
    )
  },
}

export const processing: Section = {
  name: 'process',
  needsPeers: true,
  title: (bench) =>
    `up to ${bench.sized(100_000).toLocaleString('en-US')} no-op jobs over 5 types that wait in the file`,
  run(bench) {
    const jobs = bench.sized(100_000)
    return measured(
      bench,
      'process',
      {
        'floor, by 100': { contender: floor, mode: hundreds, slots: 100, jobs },
        'floor, by 10': { contender: floor, mode: hundreds, slots: 10, jobs },
        'floor, by 1': { contender: floor, mode: hundreds, slots: 1, jobs: bench.sized(10_000) },
        'plain SQL, by 100': { contender: plain, mode: hundreds, slots: 100, jobs },
        'plain SQL, by 10': { contender: plain, mode: hundreds, slots: 10, jobs },
        plainjob: { contender: 'plainjob', mode: hundreds, slots: types, jobs: bench.sized(20_000) },
        '100 slots': { contender: us, mode: hundreds, slots: 100, jobs },
        '10 slots': { contender: us, mode: hundreds, slots: 10, jobs },
        '100 slots, all kept': { contender: keeping, mode: hundreds, slots: 100, jobs },
        '10 slots, all kept': { contender: keeping, mode: hundreds, slots: 10, jobs },
      },
      [
        ['100 slots', 'floor, by 100', null],
        ['10 slots', 'floor, by 10', null],
        ['100 slots, all kept', 'floor, by 100', null],
        ['10 slots, all kept', 'floor, by 10', null],
        ['100 slots', 'plain SQL, by 100', { atLeast: 0.5 }],
        ['10 slots', 'plain SQL, by 10', { atLeast: 0.8 }],
        ['100 slots, all kept', 'plain SQL, by 100', { atLeast: 0.5 }],
        ['10 slots, all kept', 'plain SQL, by 10', { atLeast: 0.8 }],
        ['100 slots', 'plainjob', { atLeast: 9 }],
        ['10 slots', 'plainjob', null],
      ],
    )
  },
}

export const features: Section = {
  name: 'features',
  title: (bench) => `${bench.sized(20_000).toLocaleString('en-US')} no-op jobs that are not plain, beside plain ones`,
  run: (bench) => measured(bench, 'process', featureVariants(us, bench.sized(20_000)), featureComparisons),
}

/** Without plainjob: its workers run one job at a time. */
export const waiting: Section = {
  name: 'waiting',
  title: waitingTitle,
  run: (bench) => measured(bench, 'process', waitingVariants(us, {}, bench), waitingComparisons({})),
}
