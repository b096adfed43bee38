/** The command line, checked. */
import type { Settings } from './suite.ts'

export interface Command {
  /** null = all that there are, the main sections of each. */
  readonly store: string | null
  readonly settings: Settings
  /** Sections by name, or by the part of it before a dash; null = all. */
  readonly only: readonly string[] | null
  /** A file, '-' for stdout, or null. */
  readonly json: string | null
  /** Are its sections to be kept as the last figures, which the documentation shows? */
  readonly record: boolean
}

export class UsageError extends Error {}

export const usage = `npm run bench -- [store] [options]
  store           memory, sqlite, redis or postgres; without it the main sections of all of them
  --quick         sizes × 0.05 and 1 round: only to see that it works
  --only a,b      only these sections
  --json [file]   figures as JSON, to stdout or a file
  --record        keep these sections as the last figures: npm run docs shows them
  --rounds n      interleaved rounds, default 5
  --scale x       sizes × x
  --no-peers      only our own figures: needs no install`

/** @throws UsageError */
export function parseCommand(args: readonly string[]): Command {
  const rest = [...args]
  const isQuick = take(rest, '--quick')
  const peers = !take(rest, '--no-peers')
  const record = take(rest, '--record')
  const only = takeValue(rest, '--only')?.split(',') ?? null
  const json = takeJson(rest)
  const rounds = number(rest, '--rounds') ?? (isQuick ? 1 : 5)
  const scale = number(rest, '--scale') ?? (isQuick ? 0.05 : 1)
  if (!Number.isInteger(rounds)) throw new UsageError(`--rounds needs a whole number, not ${rounds}`)
  const surplus = rest.find((each, i) => i > 0 || each.startsWith('-'))
  if (surplus !== undefined) throw new UsageError(`unknown argument ${surplus}`)
  const [store = null] = rest
  if (store === null && (only ?? json) !== null) throw new UsageError('--only and --json need a store')
  if (record && !peers) throw new UsageError('--record needs the peers: figures are shown beside theirs')
  return { store, settings: { scale, rounds, peers }, only, json, record }
}

/** Takes a flag out of the arguments. Was it there? */
function take(args: string[], flag: string): boolean {
  const at = args.indexOf(flag)
  if (at >= 0) args.splice(at, 1)
  return at >= 0
}

/** Takes an option and its value out of the arguments. */
function takeValue(args: string[], option: string): string | null {
  const at = args.indexOf(option)
  if (at < 0) return null
  const [, value] = args.splice(at, 2)
  if (value === undefined || value.startsWith('-')) throw new UsageError(`${option} needs a value`)
  return value
}

/** A file may follow, or nothing. */
function takeJson(args: string[]): string | null {
  const next = args[args.indexOf('--json') + 1]
  if (next !== undefined && !next.startsWith('-')) return takeValue(args, '--json')
  return take(args, '--json') ? '-' : null
}

function number(args: string[], option: string): number | null {
  const text = takeValue(args, option)
  if (text === null) return null
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0) throw new UsageError(`${option} needs a number above 0, not ${text}`)
  return value
}
