/** What a seed decides: the jobs one by one, and what befalls the processes when. */
import type { EnqueueOptions } from 'jobchart'
import { seededRandom } from 'jobchart/testing'
import type { StormOptions } from './command.ts'
import { poisonousAttempts, poisonousEvery } from './machines/plan.ts'
import { pausable, poisonAttempts, poisonType, type Input } from './jobs.ts'

/** What a producer does for one number. */
export interface Task {
  readonly type: string
  readonly input: Input
  readonly options: EnqueueOptions & { readonly id: string }
  /** What it does besides, to an earlier job or to the pausable queue. */
  readonly act:
    { readonly kind: 'cancel' | 'retry'; readonly ids: readonly string[] } | { readonly kind: 'pause' } | null
}

export const jobId = (n: number): string => `j${n}`
/** Every so many-th job is poison. */
const poisonEvery = 100
const keyCount = 20
export const uniqueKeys: readonly string[] = Array.from({ length: keyCount }, (_, n) => `key-${n}`)
/** The types that take unique keys. */
export const uniqueTypes = ['quick', 'long'] as const

/** The nth task; the same every time it is asked for, because a producer that was killed does its last ones again. */
export function taskOf(n: number, { seed, leaseMs }: StormOptions): Task {
  const random = seededRandom((seed ^ Math.imul(n + 1, 0x9e3779b1)) >>> 0)
  const below = (count: number): number => Math.floor(random() * count)
  const chance = (probability: number): boolean => random() < probability
  const { type, ms } = workOf(n, leaseMs, random)
  const isUnique = chance(0.15) && (uniqueTypes as readonly string[]).includes(type)
  const onConflict = (['keep', 'replace', 'supersede'] as const)[below(3)] ?? 'keep'
  const options = {
    id: jobId(n),
    priority: below(3),
    ...(chance(0.15) && { delay: below(1_500) }),
    ...(isUnique && { unique: { key: uniqueKeys[below(keyCount)] as string, onConflict } }),
  }
  return { type, input: { ms, tenant: `tenant-${below(4)}` }, options, act: actOf(n, below, chance) }
}

function workOf(n: number, leaseMs: number, random: () => number): { readonly type: string; readonly ms: number } {
  if (n % poisonEvery === poisonEvery / 2) {
    return { type: poisonType(poisonAttempts[Math.floor(n / poisonEvery) % poisonAttempts.length] ?? 1), ms: 0 }
  }
  const [kind, length] = [random(), random()]
  if (kind < 0.01) return { type: 'long', ms: Math.floor(leaseMs * (1 + length)) }
  if (kind < 0.2) return { type: 'long', ms: 100 + Math.floor(length * 500) }
  const ms = Math.floor(length * 20)
  if (kind < 0.3) return { type: pausable, ms }
  if (kind < 0.4) return { type: 'capped', ms }
  if (kind < 0.5) return { type: 'keyed', ms }
  return { type: kind < 0.52 ? 'rated' : 'quick', ms }
}

function actOf(n: number, below: (count: number) => number, chance: (probability: number) => boolean): Task['act'] {
  // Recent ones are still about; old ones have ended.
  const recent = (count: number): string[] => Array.from({ length: count }, () => jobId(Math.max(0, n - below(60))))
  if (chance(0.05)) return { kind: 'cancel', ids: recent(1 + below(3)) }
  if (chance(0.02)) return { kind: 'retry', ids: recent(3) }
  return chance(0.005) ? { kind: 'pause' } : null
}

export interface Fault {
  /** `restart`, `lose` and `hold` befall the server; `fill` the server and a worker. */
  readonly kind: 'kill' | 'stop' | 'block' | 'terminate' | 'restart' | 'lose' | 'hold' | 'fill'
  /** ms after the beginning. */
  readonly at: number
  /** Chooses its victim: 0…1 over those that are there. */
  readonly victim: number
  /** Of a stop, block or hold. */
  readonly ms: number
}

/** Everything there is to be enqueued. */
export const tasksOf = ({ jobs, machines }: StormOptions): number => jobs + machines

/** What is enqueued as the nth of all: jobs and machines take turns. */
export function turnOf(
  n: number,
  options: StormOptions,
): { readonly kind: 'job' | 'machine'; readonly number: number } {
  const before = (count: number): number => Math.floor((count * options.machines) / tasksOf(options))
  const machines = before(n)
  return before(n + 1) > machines ? { kind: 'machine', number: machines } : { kind: 'job', number: n - machines }
}

/** CPU time for a process to start, halved for two cores: there must be time left to work. */
const restartMs = 250
/** What a machine takes of the time of all: a dozen messages and checkpoints, and its children. */
const machineMs = 40

/** How long producers take: long enough for faults to come one by one, and for the machine to do the work besides. */
export function productionMs({ jobs, machines, kills, zombies, restarts, full }: StormOptions): number {
  const poisonDeaths =
    (jobs / poisonEvery) * (sum(poisonAttempts) / poisonAttempts.length) +
    (machines / poisonousEvery) * poisonousAttempts
  const workMs = jobs * 2.5 + machines * machineMs
  return Math.max(
    2_000,
    (kills + poisonDeaths) * restartMs,
    kills * 500,
    zombies * 2_000,
    restarts * 3_000,
    full * 3_000,
    workMs,
  )
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

/** What befalls the processes, in the order of time. */
export function faultsOf(options: StormOptions): Fault[] {
  const { seed, kills, zombies, restarts, losses, full, leaseMs } = options
  const random = seededRandom(seed)
  const untilMs = productionMs(options)
  const fault = (kind: Fault['kind'], ms = 0): Fault => ({ kind, ms, at: random() * untilMs, victim: random() })
  const blocks = Math.floor(zombies / 5)
  return [
    ...Array.from({ length: kills }, () => fault('kill')),
    ...Array.from({ length: zombies - blocks }, () => fault('stop', leaseMs * (0.5 + 4.5 * random()))),
    ...Array.from({ length: blocks }, () => fault('block', leaseMs * 3)),
    ...Array.from({ length: Math.ceil(kills / 10) }, () => fault('terminate')),
    ...Array.from({ length: restarts }, (_, i) => fault(i < losses ? 'lose' : 'restart')),
    ...Array.from({ length: restarts }, () => fault('hold', leaseMs * random())),
    ...Array.from({ length: full }, () => fault('fill')),
  ].toSorted((a, b) => a.at - b.at)
}
