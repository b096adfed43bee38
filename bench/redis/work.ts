/** Enqueueing and processing on a server, beside queues that many use and beside a floor. */
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { withServer } from '../harness/redis.ts'
import { interleaved } from '../harness/rounds.ts'
import { warmUpNote } from '../harness/warm-up.ts'
import { featureComparisons, featureVariants } from '../features.ts'
import { contenderRows, type Comparison } from '../rows.ts'
import { waitingComparisons, waitingTitle, waitingVariants } from '../waiting.ts'
import type { Bench, Outcome, Section } from '../suite.ts'
import type { WorkParams, WorkResult } from './work.probe.ts'

/** Without the place and the half that is measured. */
type Variant = Omit<WorkParams, 'url' | 'timed' | 'types'>

const peers: Readonly<Record<string, string>> = { bullmq: 'BullMQ', 'bee-queue': 'bee-queue' }
const floor = 'redis-floor'
const us = 'jobchart-redis'
const keeping = 'jobchart-redis-keeping'
const types = 5
const hundreds = { by: 'batch', size: 100 } as const
const atOnce = { by: 'at once', size: 100 } as const
const singles = { by: 'one', size: 1 } as const

async function measured(
  bench: Bench,
  timed: WorkParams['timed'],
  variants: Readonly<Record<string, Variant>>,
  comparisons: readonly Comparison[],
  settings: readonly string[] = [],
): Promise<Outcome> {
  const chosen = Object.entries(variants).filter(([, { contender }]) => bench.peers || !(contender in peers))
  const probe = new URL('work.probe.ts', import.meta.url)
  const samples = await withServer((url) => {
    const measurement = ([name, variant]: (typeof chosen)[number]): [string, () => Promise<WorkResult>] => [
      name,
      () => inFreshProcess<Measure<WorkParams, WorkResult>>(probe, { ...variant, url, timed, types }),
    ]
    return interleaved(bench, bench.rounds, Object.fromEntries(chosen.map(measurement)))
  }, settings)
  return {
    rows: contenderRows(
      samples,
      comparisons,
      [
        ['commands per job', 'commands', ({ perJob }) => perJob.commands],
        ['bytes per job', 'B', ({ perJob }) => perJob.bytes],
        ['CPU of the server per job', 'µs', ({ perJob }) => perJob.cpuMicros],
        ['CPU of the process per job', 'µs', ({ cpuMicrosPerJob }) => cpuMicrosPerJob],
      ],
      ({ perJob }) => perJob.cpuMicros,
    ),
    notes: [warmUpNote(samples)],
  }
}

export const enqueue: Section = {
  name: 'enqueue',
  needsPeers: true,
  title: (bench) => `up to ${bench.sized(100_000).toLocaleString('en-US')} jobs over 5 types, nothing runs meanwhile`,
  run(bench) {
    const many = { jobs: bench.sized(100_000), slots: 100 }
    const some = { jobs: bench.sized(20_000), slots: 100 }
    return measured(
      bench,
      'enqueue',
      {
        'floor, by 100': { contender: floor, mode: hundreds, ...many },
        'BullMQ addBulk(100)': { contender: 'bullmq', mode: hundreds, ...some },
        'bee-queue saveAll(100)': { contender: 'bee-queue', mode: hundreds, ...some },
        'enqueueMany(100)': { contender: us, mode: hundreds, ...many },
        '100 BullMQ adds at once': { contender: 'bullmq', mode: atOnce, ...some },
        '100 bee-queue saves at once': { contender: 'bee-queue', mode: atOnce, ...some },
        '100 enqueues at once': { contender: us, mode: atOnce, ...many },
        'BullMQ add, one by one': { contender: 'bullmq', mode: singles, ...some },
        'enqueue, one by one': { contender: us, mode: singles, ...some },
      },
      [
        ['enqueueMany(100)', 'BullMQ addBulk(100)', { atLeast: 5 }],
        ['enqueueMany(100)', 'bee-queue saveAll(100)', { atLeast: 1.5 }],
        ['enqueueMany(100)', 'floor, by 100', null],
        ['100 enqueues at once', '100 BullMQ adds at once', { atLeast: 3.5 }],
        ['100 enqueues at once', '100 bee-queue saves at once', { atLeast: 1.4 }],
        ['enqueue, one by one', 'BullMQ add, one by one', { atLeast: 1 }],
      ],
    )
  },
}

export const processing: Section = {
  name: 'process',
  needsPeers: true,
  title: (bench) => `up to ${bench.sized(100_000).toLocaleString('en-US')} no-op jobs over 5 types that wait`,
  run(bench) {
    const jobs = bench.sized(100_000)
    const [half, some] = [bench.sized(50_000), bench.sized(20_000)]
    return measured(
      bench,
      'process',
      {
        'floor, by 100': { contender: floor, mode: hundreds, slots: 100, jobs },
        'BullMQ, 100 slots': { contender: 'bullmq', mode: hundreds, slots: 100, jobs: some },
        'bee-queue, 100 slots': { contender: 'bee-queue', mode: hundreds, slots: 100, jobs: some },
        '100 slots': { contender: us, mode: hundreds, slots: 100, jobs },
        '100 slots, all kept': { contender: keeping, mode: hundreds, slots: 100, jobs },
        'BullMQ, 10 slots': { contender: 'bullmq', mode: hundreds, slots: 10, jobs: half },
        'bee-queue, 10 slots': { contender: 'bee-queue', mode: hundreds, slots: 10, jobs: half },
        '10 slots': { contender: us, mode: hundreds, slots: 10, jobs: half },
      },
      [
        ['100 slots', 'BullMQ, 100 slots', { atLeast: 5 }],
        ['100 slots', 'bee-queue, 100 slots', { atLeast: 4.5 }],
        ['100 slots', 'floor, by 100', null],
        ['100 slots, all kept', 'BullMQ, 100 slots', { atLeast: 5 }],
        ['100 slots, all kept', 'bee-queue, 100 slots', { atLeast: 4.5 }],
        ['10 slots', 'BullMQ, 10 slots', { atLeast: 1.8 }],
        ['10 slots', 'bee-queue, 10 slots', null],
      ],
    )
  },
}

export const features: Section = {
  name: 'features',
  title: (bench) => `${bench.sized(20_000).toLocaleString('en-US')} no-op jobs that are not plain, beside plain ones`,
  run: (bench) => measured(bench, 'process', featureVariants(us, bench.sized(20_000)), featureComparisons),
}

export const waiting: Section = {
  name: 'waiting',
  needsPeers: true,
  title: waitingTitle,
  run: (bench) => measured(bench, 'process', waitingVariants(us, peers, bench), waitingComparisons(peers)),
}

export const appending: Section = {
  name: 'append',
  needsPeers: true,
  title: (bench) =>
    `up to ${bench.sized(100_000).toLocaleString('en-US')} no-op jobs, on a server that appends to a file (everysec)`,
  run: (bench) =>
    measured(
      bench,
      'process',
      {
        'BullMQ, 100 slots': { contender: 'bullmq', mode: hundreds, slots: 100, jobs: bench.sized(20_000) },
        '100 slots': { contender: us, mode: hundreds, slots: 100, jobs: bench.sized(100_000) },
      },
      [['100 slots', 'BullMQ, 100 slots', { atLeast: 4.5 }]],
      ['--appendonly', 'yes', '--appendfsync', 'everysec'],
    ),
}
