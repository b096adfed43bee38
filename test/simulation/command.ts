/** The command line of the simulation, checked at the door. */
import { stores } from './stores.ts'

export interface SimulateOptions {
  readonly seeds: number
  readonly from: number
  readonly store: string
  /** Print what happened in each life, line by line. */
  readonly trace: boolean
  /** End with the first life in which a promise is broken. */
  readonly first: boolean
  /** Inject each fault of `mutants.ts`, and find the life that notices it. */
  readonly mutants: boolean
  /** Begin each mutant with the seed that is known to notice it. */
  readonly short: boolean
}

export class UsageError extends Error {}

export const usage = `npm run simulate -- [options]
  --seeds n      lives to live, default 1000
  --from n       the seed of the first, default 1
  --store name   ${Object.keys(stores).join(' | ')}, default memory
  --trace        print what happens, line by line
  --first        end with the first life that breaks a promise
  --mutants      inject each fault of mutants.ts, and find the seed by which it is noticed
  --short        begin each mutant with the seed that is known to notice it`

/** @throws UsageError */
export function parseCommand(args: readonly string[]): SimulateOptions {
  const options = { seeds: 1_000, from: 1, store: 'memory', trace: false, first: false, mutants: false, short: false }
  const left = [...args]
  const value = (name: string): string => {
    const given = left.shift()
    if (given === undefined) throw new UsageError(`${name} needs a value`)
    return given
  }
  const number = (name: string, min: number): number => {
    const given = value(name)
    const parsed = /^\d{1,9}$/.test(given) ? Number(given) : NaN
    if (!(parsed >= min)) throw new UsageError(`${name} needs a whole number from ${min}, not ${given}`)
    return parsed
  }
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    if (name === '--seeds') options.seeds = number(name, 1)
    else if (name === '--from') options.from = number(name, 0)
    else if (name === '--store') options.store = value(name)
    else if (name === '--trace') options.trace = true
    else if (name === '--first') options.first = true
    else if (name === '--mutants') options.mutants = true
    else if (name === '--short') options.short = true
    else throw new UsageError(`what is ${name}?`)
  }
  if (!Object.hasOwn(stores, options.store)) throw new UsageError(`no store is named ${options.store}`)
  return options
}

/** The command that plays a life again. */
export const replay = (store: string, seed: number): string =>
  `npm run simulate -- --store ${store} --from ${seed} --seeds 1 --trace`
