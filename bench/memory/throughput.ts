/** The work of the goals: 100,000 no-op jobs over 5 types, enqueued and processed, beside each peer. */
import type { JobchartOptions } from '../contenders/jobchart.ts'
import type { PQueueOptions } from '../contenders/p-queue.ts'
import { inFreshProcess, type Measure } from '../harness/fresh.ts'
import { interleaved } from '../harness/rounds.ts'
import { figure } from '../harness/stats.ts'
import { warmUpNote } from '../harness/warm-up.ts'
import { compared, single, type Bench, type Cpu, type Figure, type Goal, type Row, type Section } from '../suite.ts'
import type { ThroughputParams, ThroughputResult } from './throughput.probe.ts'

type Probe = Measure<ThroughputParams, ThroughputResult>
type Work = Partial<Omit<ThroughputParams, 'contender' | 'options'>>

/** Our throughput; unless said otherwise with 100,000 jobs of 5 types in 10 slots. */
export const ours = (bench: Bench, options: JobchartOptions, work: Work = {}): (() => Promise<ThroughputResult>) =>
  contender(bench, 'jobchart', options, work)

export function contender(
  bench: Bench,
  name: string,
  options: unknown = {},
  work: Work = {},
): () => Promise<ThroughputResult> {
  const params = { contender: name, options, jobs: bench.sized(100_000), types: 5, slots: 10, ...work }
  return () => inFreshProcess<Probe>(new URL('throughput.probe.ts', import.meta.url), params)
}

const withPriorities: PQueueOptions = { priorities: true }
const withoutPriorities: PQueueOptions = { priorities: false }

const peers = (bench: Bench): Record<string, () => Promise<ThroughputResult>> => ({
  'fastq.promise': contender(bench, 'fastq'),
  'p-queue': contender(bench, 'p-queue', withoutPriorities),
  'p-queue, 5 priorities': contender(bench, 'p-queue', withPriorities),
  'rxjs mergeMap(10)': contender(bench, 'rxjs'),
  'XState actor per job': contender(bench, 'actor-per-job'),
})

const goals: Record<string, Goal> = {
  'fastq.promise': { atLeast: 0.3 },
  'p-queue, 5 priorities': { atLeast: 4 },
  'XState actor per job': { atLeast: 5 },
}

export const throughput: Section = {
  name: 'throughput',
  needsPeers: true,
  title: (bench) => `${bench.sized(100_000).toLocaleString('en-US')} no-op jobs over 5 types, 10 slots, enqueue to end`,
  async run(bench) {
    const others = bench.peers ? peers(bench) : {}
    const measurements: Record<string, () => Promise<ThroughputResult>> = {
      ...others,
      plain: ours(bench, {}),
      'events$ observed': ours(bench, { observed: true }),
    }
    const samples = await interleaved(bench, bench.rounds, measurements)
    const speed = (name: string): Figure =>
      figure(
        name,
        (samples[name] ?? []).map(({ perSecond }) => perSecond),
      )
    const cpu = (name: string): Figure =>
      figure(
        name,
        (samples[name] ?? []).map((each) => each.cpuMicrosPerJob),
      )
    const plain = speed('plain')
    const observed = speed('events$ observed')
    const bases = Object.keys(others).map(speed)
    const cpuBeside = (base: Figure, mine: Figure): Cpu => ({ base: cpu(base.name).value, ours: cpu(mine.name).value })
    const beside = (mine: Figure): Row[] =>
      bases.map((base) => compared(mine.name, 'jobs/s', base, mine, goals[base.name] ?? null, cpuBeside(base, mine)))
    return {
      rows: [
        single(plain.name, 'jobs/s', plain),
        ...beside(plain),
        compared(observed.name, 'jobs/s', plain, observed, null, cpuBeside(plain, observed)),
        ...beside(observed),
        ...Object.keys(measurements).map((name) => single(`CPU per job, ${name}`, 'µs', cpu(name))),
      ],
      notes: [warmUpNote(samples)],
    }
  },
}
