/** The command line of the storm, checked at the door. */
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

export class UsageError extends Error {}

export const usage = `npm run storm -- --store ${Object.keys(stores).join('|')} [options]
  --jobs n       jobs to enqueue, default 2000, or 0 beside machines
  --machines n   machine jobs to enqueue, default 0
  --kills n      SIGKILLs over the run, default a hundredth of all
  --zombies n    SIGSTOPs of 0.5 to 5 leases, and event loops blocked for 3, default 0
  --restarts n   SIGKILLs of a Redis server of its own, and as many pauses of its clients, default 0
  --losses n     of these, how many lose the last second of what was acknowledged, default 0
  --full n       times in which the memory of that server is full while a worker starts, default 0
  --seed n       default: a new one; it is printed
  --workers n    worker processes, default 8
  --producers n  producer processes, default 2
  --lease ms     default 2000
  --dir folder   keeps store, histories and logs there; it must be empty or not exist`

const limits = {
  jobs: [0, 1_000_000],
  machines: [0, 1_000_000],
  kills: [0, 100_000],
  zombies: [0, 100_000],
  restarts: [0, 10_000],
  losses: [0, 10_000],
  full: [0, 10_000],
  seed: [0, 2 ** 32 - 1],
  workers: [1, 64],
  producers: [1, 16],
  lease: [1_000, 60_000],
} as const

/** @throws UsageError */
export function parseCommand(args: readonly string[]): StormOptions {
  const given = new Map<string, string>()
  for (let i = 0; i < args.length; i += 2) {
    const name = args[i]?.replace(/^--/, '') ?? ''
    const value = args[i + 1]
    if (!args[i]?.startsWith('--') || (!(name in limits) && name !== 'store' && name !== 'dir')) {
      throw new UsageError(`what is ${args[i]}?`)
    }
    if (value === undefined) throw new UsageError(`--${name} needs a value`)
    if (given.has(name)) throw new UsageError(`--${name} is given twice`)
    given.set(name, value)
  }
  const number = (name: keyof typeof limits, otherwise: number): number => {
    const text = given.get(name)
    if (text === undefined) return otherwise
    const [min, max] = limits[name]
    const value = text.trim() === '' ? NaN : Number(text)
    if (Number.isInteger(value) && value >= min && value <= max) return value
    throw new UsageError(`--${name} needs a whole number from ${min} to ${max}, not ${text}`)
  }
  const store = given.get('store')
  if (store === undefined) throw new UsageError('which store?')
  if (!Object.hasOwn({ ...stores, ...brokenStores }, store)) throw new UsageError(`no store is named ${store}`)
  const machines = number('machines', 0)
  const jobs = number('jobs', machines === 0 ? 2_000 : 0)
  if (jobs + machines === 0) throw new UsageError('no jobs and no machines: there is nothing to do')
  const restarts = number('restarts', 0)
  if (restarts > 0 && store !== 'redis') throw new UsageError('--restarts is of redis: other stores have no server')
  const losses = number('losses', 0)
  if (losses > restarts) throw new UsageError('--losses are of the restarts: there are fewer')
  if (losses > 0 && machines > 0) throw new UsageError('--losses: what machines have lost is not judged')
  const full = number('full', 0)
  if (full > 0 && store !== 'redis') throw new UsageError('--full is of redis: other stores have no server')
  return {
    store,
    jobs,
    machines,
    kills: number('kills', Math.ceil((jobs + machines) / 100)),
    zombies: number('zombies', 0),
    restarts,
    losses,
    full,
    seed: number('seed', Math.floor(Math.random() * 2 ** 32)),
    workers: number('workers', 8),
    producers: number('producers', 2),
    leaseMs: number('lease', 2_000),
    folder: given.get('dir') ?? null,
  }
}
