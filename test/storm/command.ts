/** The command line of the storm, checked at the door. */
import {
  choice,
  optionalWhole,
  readOptions,
  seed,
  text,
  UsageError,
  whole,
  type OptionsOf,
} from '../harness/options.ts'
import { brokenStores, stores } from './stores.ts'

export interface StormOptions {
  readonly store: string
  readonly jobs: number
  /** Machine jobs, besides. */
  readonly machines: number
  /** SIGKILLs by the orchestrator. Those of poison jobs come on top. */
  readonly kills: number
  /** Processes stopped with SIGSTOP and continued, and event loops blocked. */
  readonly zombies: number
  /**
   * Of a Redis server of the storm's own, which writes each command to its disk: SIGKILLs, and as often a CLIENT PAUSE.
   */
  readonly restarts: number
  /** How many of these SIGKILLs lose the last second of what the server has acknowledged. */
  readonly losses: number
  /**
   * Times in which the memory of that server is full, and a worker is killed: the one that follows it must start
   * meanwhile.
   */
  readonly full: number
  /** Decides what is enqueued and what befalls whom when; the interleaving of processes it cannot decide. */
  readonly seed: number
  readonly workers: number
  readonly producers: number
  readonly leaseMs: number
  /** Where the store and the histories go; null = a temporary folder, kept only if something was wrong. */
  readonly folder: string | null
}

export const stormTable = {
  store: choice('the store', [...Object.keys(stores), ...Object.keys(brokenStores)]),
  jobs: optionalWhole('jobs to enqueue, default 2000, or 0 beside machines', [0, 1_000_000]),
  machines: whole('machine jobs to enqueue', [0, 1_000_000], 0),
  kills: optionalWhole('SIGKILLs over the run, default a hundredth of all', [0, 100_000]),
  zombies: whole('SIGSTOPs of 0.5 to 5 leases, and event loops blocked for 3', [0, 100_000], 0),
  restarts: whole(
    'SIGKILLs of a server of its own, and as many pauses (Redis) or ends of all its connections (PostgreSQL)',
    [0, 10_000],
    0,
  ),
  losses: whole('of these, how many lose the last second of what was acknowledged', [0, 10_000], 0),
  full: whole('times in which the memory of that server is full while a worker starts', [0, 10_000], 0),
  seed: seed(),
  workers: whole('worker processes', [1, 64], 8),
  producers: whole('producer processes', [1, 16], 2),
  lease: whole('ms', [1_000, 60_000], 2_000),
  dir: text('folder', 'keeps store, histories and logs there; it must be empty or not exist'),
} as const

/** @throws UsageError for options that do not go together */
export function stormOptions(given: OptionsOf<typeof stormTable>): StormOptions {
  const { lease: leaseMs, dir: folder, ...options } = given
  const { store, machines, restarts, losses, full } = options
  const jobs = options.jobs ?? (machines === 0 ? 2_000 : 0)
  if (jobs + machines === 0) throw new UsageError('no jobs and no machines: there is nothing to do')
  if (restarts > 0 && !['redis', 'postgres'].includes(store))
    throw new UsageError('--restarts is of redis and postgres: other stores have no server')
  if (losses > restarts) throw new UsageError('--losses are of the restarts: there are fewer')
  if (losses > 0 && store !== 'redis') throw new UsageError('--losses is of redis: other servers lose nothing')
  if (losses > 0 && machines > 0) throw new UsageError('--losses: what machines have lost is not judged')
  if (full > 0 && store !== 'redis') throw new UsageError('--full is of redis: other stores have no server')
  return { ...options, jobs, kills: options.kills ?? Math.ceil((jobs + machines) / 100), leaseMs, folder }
}

/** @throws UsageError */
export const parseCommand = (args: readonly string[]): StormOptions => stormOptions(readOptions(stormTable, args))
