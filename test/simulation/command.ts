/** The command line of the simulation. */
import { choice, flag, whole, type OptionsOf } from '../harness/options.ts'
import { stores } from './stores.ts'

const seedMax = 999_999_999

export const simulateTable = {
  seeds: whole('lives to live', [1, seedMax], 1_000),
  from: whole('the seed of the first', [0, seedMax], 1),
  store: choice('the store', Object.keys(stores), 'memory'),
  trace: flag('print what happens, line by line'),
  first: flag('end with the first life that breaks a promise'),
  mutants: flag('inject each fault of mutants.ts, and find the seed by which it is noticed'),
} as const

export type SimulateOptions = OptionsOf<typeof simulateTable>

/** The command that plays a life again. */
export const replay = (store: string, seed: number): string =>
  `npm run simulate -- --store ${store} --from ${seed} --seeds 1 --trace`
